// Whether blocks of other shapes than BERT's, and passes that are less even, are what the CPU makes
// of them.
#ifndef SIGHTLINE_DEPLOY_GPU_SHAPE_CHECK_H_
#define SIGHTLINE_DEPLOY_GPU_SHAPE_CHECK_H_

#include <cstdint>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/device_stack.h"
#include "nlohmann/json.hpp"

namespace sightline::kernels {

// "all", "first" or "mean", as whoever computes the same reads it.
const char* NameOf(StackReadout readout);

// Two layers of a shape over sequences of these lengths, with and without a bias of keys, and all
// that can be read of them, launched and as it was recorded.  No `devices`: the CPU in each of its
// precisions.  Prints a line for each precision, and adds to `shapes` what each pass was off by;
// whether all were close, and the same each time.  Ends the program with 3 where the device cannot
// be used.
bool CheckShape(const StackShape& shape, const std::vector<int64_t>& lengths,
                const StackDevices* devices, int device, ComputePool* pool, nlohmann::json* shapes);

// The same of heads of 32, 64, 80 and 128 over sequences of 1 to 140 rows.
bool CheckShapes(const StackDevices* devices, int device, ComputePool* pool,
                 nlohmann::json* shapes);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_DEPLOY_GPU_SHAPE_CHECK_H_
