// An index on a device that is the host, and what it has to find.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_RIG_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_RIG_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/device/host_device.h"
#include "common/device/product.h"
#include "common/index/device_flat_scan.h"
#include "common/index/device_form.h"
#include "common/index/device_scan.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {

using device::HostDevice;
using HostScan = DeviceFlatScan<HostDevice, device::PlainProducts>;

inline std::unique_ptr<VectorIndex> LoadOn(HostDevice device, const VectorView& rows) {
  static ComputePool pool(2);
  auto scan = HostScan::Load(std::move(device), rows, CallContext::Unbounded());
  REQUIRE(scan.ok());
  auto index = OpenDeviceFlatIndex(rows, *std::move(scan), &pool);
  REQUIRE(index.ok());
  return *std::move(index);
}

inline std::unique_ptr<VectorIndex> Load(const VectorView& rows) {
  return LoadOn(HostDevice(), rows);
}

// That it finds what the CPU finds, to the bit, among rows in memory.
inline void CheckSame(const VectorIndex& index, const VectorView& rows,
                      const EmbeddingMatrix& queries, int top_k, const RowSet* among = nullptr) {
  SearchOptions options;
  options.top_k = top_k;
  options.among = among;
  REQUIRE(SameLists(Find(index, queries, options), Referee(rows, queries, top_k, among)));
}

inline EmbeddingMatrix Ones(int64_t rows, int dimension) {
  EmbeddingMatrix ones(rows, dimension);
  for (int64_t i = 0; i < rows; ++i) std::fill_n(ones.mutable_row(i).data(), dimension, 1.0f);
  return ones;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_RIG_H_
