// Blocks with packed weights, in the precision of a kernel of this CPU.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PACKED_EXECUTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PACKED_EXECUTOR_H_

#include <memory>

#include "common/base/compute_pool.h"
#include "common/kernels/kernels.h"
#include "common/models/network/executor.h"

namespace sightline {

// See NewExecutor.  Takes the blocks' weights: `encoder` is left without any.
std::unique_ptr<const TransformerExecutor> NewPackedExecutor(BertEncoder encoder,
                                                             const kernels::ProductKernel& kernel,
                                                             ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PACKED_EXECUTOR_H_
