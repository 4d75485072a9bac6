// The reranker, asked in slices, so that what is late costs a slice and not the whole.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RERANK_SLICES_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RERANK_SLICES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/clients.h"
#include "common/api/precision.h"
#include "common/base/call_context.h"
#include "common/retrieval/rerank_pace.h"

namespace sightline {

enum class SliceEnd {
  kScored,
  kFailed,   // an error, or an answer that is none
  kLate,     // sent, but not answered in time
  kNotSent,  // no time was left for it, or the reranker had refused already
};

struct SliceResult {
  SliceEnd end = SliceEnd::kNotSent;
  absl::Status status;      // unless kScored
  RerankResponse response;  // if kScored: one finite score for each candidate
};

// Sends the slices `make(0)` to `make(count - 1)` in order, `parallelism` under way at
// once, and returns how each of them ended; at `deadline` at the latest.
//
// A slice is not begun when less time is left than the quickest slice of this call has
// taken: it would only take the reranker's time from others.  (The first ones are always
// begun, so a slow spell of the reranker cannot outlive itself in an estimate.)  Once the
// reranker refuses as a whole - it is down, full, or does not have the model - nothing
// more is sent to it; any other error costs only its slice.  What is sent, and what becomes of it,
// is told to `share`, which ends with the call: nothing is under way then.
//
// All that is scored is computed in one precision: the one that is wished, or else that of the
// first answer.  A slice of another one has failed (PRECISION_CHANGED).
std::vector<SliceResult> RerankSlices(RerankerClient& reranker, int count, int parallelism,
                                      const std::function<RerankRequest(int slice)>& make,
                                      PrecisionWish wish, const CallContext& call,
                                      absl::Time deadline, RerankShare share);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RERANK_SLICES_H_
