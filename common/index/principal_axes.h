// Along which axes vectors are spread the most.
#ifndef SIGHTLINE_COMMON_INDEX_PRINCIPAL_AXES_H_
#define SIGHTLINE_COMMON_INDEX_PRINCIPAL_AXES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/ivf_training.h"

namespace sightline {

// `count` <= dimension axes, one after another, of length one and at right angles, which span
// nearly the space that holds the most of the sample's squared lengths: by subspace iteration from
// axes drawn with `seed` (Golub and Van Loan, Matrix Computations, 4th ed., 8.2.4).  Equal
// arguments give equal bits, whatever the threads of `pool`.  The call's own status if it ends.
absl::StatusOr<std::vector<float>> PrincipalAxes(const Sample& sample, int64_t count, uint64_t seed,
                                                 ComputePool* pool, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_PRINCIPAL_AXES_H_
