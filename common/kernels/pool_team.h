// A team of the pool's threads for one pass: whoever has nothing else to do joins, at any time, and
// nobody is waited for who has not.
//
//   RunWithTeam(pool, [&](Team* team) { stack.Run(sequences, true, team, out); });
//
// A pass has some hundred steps, most of them shorter than it takes to wake a thread; so those who
// have joined wait for the next step awake.
#ifndef SIGHTLINE_COMMON_KERNELS_POOL_TEAM_H_
#define SIGHTLINE_COMMON_KERNELS_POOL_TEAM_H_

#include "absl/functional/function_ref.h"
#include "common/base/compute_pool.h"
#include "common/kernels/team.h"

namespace sightline::kernels {

// Calls `pass` once, in this thread, and returns when it has ended; what it throws, too.  A null
// pool is the calling thread alone.
void RunWithTeam(ComputePool* pool, absl::FunctionRef<void(Team* team)> pass);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_POOL_TEAM_H_
