// Two rankers over the same queries: what becomes of their answers when one takes the other's
// place.
#ifndef SIGHTLINE_COMMON_EVALUATION_PAIRED_H_
#define SIGHTLINE_COMMON_EVALUATION_PAIRED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/evaluation/bootstrap.h"
#include "common/evaluation/method.h"
#include "common/evaluation/metrics.h"
#include "common/evaluation/protocol.h"
#include "common/evaluation/ranker.h"
#include "common/evaluation/relevance.h"
#include "common/log/progress.h"

namespace sightline {

struct PairedResult {
  Method method;
  RetrievalMetrics reference;
  RetrievalMetrics other;
  Interval recall_at_1;  // other minus reference, over the same queries
  // Share of the reference's ten best hits that are among the other's ten best, over all queries.
  double top10_overlap = 0;
};

// One result for each method of `spec`, in order.  Each batch of queries goes through `reference`,
// then through `other`, and advances `progress`, which may be null.  Errors are those of both
// rankers; CANCELLED or DEADLINE_EXCEEDED when `call` ends.
absl::StatusOr<std::vector<PairedResult>> MeasurePaired(const MeasureSpec& spec,
                                                        const Relevance& relevance,
                                                        Ranker* reference, Ranker* other,
                                                        ComputePool* pool, Progress* progress,
                                                        const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_PAIRED_H_
