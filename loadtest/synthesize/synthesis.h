// Making a whole generation of items that nobody encoded, and publishing it.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/log/progress.h"
#include "loadtest/synthesize/synthesis_plan.h"

namespace sightline {

struct SynthesisSummary {
  std::string generation;
  int64_t items = 0;
  int64_t byte_count = 0;
  bool already_there = false;  // nothing had to be written
  bool published = false;      // by this run
  absl::Duration write_time;
};

// Makes the generation shard by shard, its manifest last, and renames CURRENT if that was
// asked.  Memory: a block of vectors for the pool, and four bytes an item; then what building the
// index takes.  Equal options give equal files, whatever the threads, but for the manifest and the
// report where an index is measured or chosen.  A generation that is there already with the same
// content is left alone.
//
// ResourceExhausted when the disk is too small, before anything is written if that can be
// seen then; AlreadyExists if the generation is there with other content.  What an error or
// the end of `call` leaves unfinished is removed.
absl::StatusOr<SynthesisSummary> Synthesize(const SynthesisPlan& plan, const CallContext& call,
                                            ComputePool* pool, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_
