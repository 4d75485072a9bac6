// Whether a GPU finds in the lists of an inverted file what is there, how fast, and how many lists
// it has to look into.
#ifndef SIGHTLINE_DEPLOY_GPU_IVF_CHECK_H_
#define SIGHTLINE_DEPLOY_GPU_IVF_CHECK_H_

#include "common/base/compute_pool.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"
#include "nlohmann/json.hpp"

namespace sightline {

// Builds an inverted file over `rows`, of float16 and in memory, in a folder that goes afterwards,
// and opens it on the device; on the CPU if `devices` is null.  Each list has to have the rows,
// order and bits that each row of the same lists, scored by the CPU, says; with a filter those of
// all rows that are let through, where that is exact, else scores that are the rows'.  Looks for
// the fewest lists that find 0.95 of the ten nearest, of queries anywhere and of queries near rows.
// Prints what differs and how long batches take, and adds that to `searches`; whether nothing
// differed.  Ends the program, with 3 where the device cannot be used, else with 1, where something
// fails.
bool CheckIvf(const VectorView& rows, const ScanDevices* devices, int device, int top_k,
              ComputePool* pool, nlohmann::json* searches);

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_IVF_CHECK_H_
