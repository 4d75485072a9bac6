// The same work on many things, by some threads of its own: reading files, for instance.  What
// computes takes those of compute_pool.h.
#ifndef SIGHTLINE_COMMON_BASE_WORK_ON_THREADS_H_
#define SIGHTLINE_COMMON_BASE_WORK_ON_THREADS_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace sightline {

// Calls `work` with each number from 0 to below `count` once, in order but several at a time, and
// returns when all are done.  After an error, which is returned, no more are begun.  There is one
// thread at least.
absl::Status WorkOnThreads(int threads, size_t count,
                           const std::function<absl::Status(size_t)>& work);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_WORK_ON_THREADS_H_
