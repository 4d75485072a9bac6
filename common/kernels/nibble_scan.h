// Codes of four bits a group, and what a query makes of them: the inner loop of a search that
// reads a row's code instead of the row (nibble_scan_kernels.h has the layout).
//
//   const NibbleTables tables(values, group_count);
//   NibbleScan scan = tables.Scan();
//   scan.blocks = ...
//   NibbleScanKernelFor(ThisCpu()).scan(scan, masks, estimates);
#ifndef SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_H_
#define SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_H_

#include <cstdint>
#include <vector>

#include "common/kernels/cpu.h"
#include "common/kernels/nibble_scan_kernels.h"

namespace sightline::kernels {

// The fastest that a CPU with `features` has.
const NibbleScanKernel& NibbleScanKernelFor(const CpuFeatures& features);

constexpr int64_t NibbleChunks(int64_t group_count) {
  return (group_count + kNibbleChunkGroups - 1) / kNibbleChunkGroups;
}

// Of a block of codes of so many groups, and of its scalars if there are any.
constexpr int64_t NibbleBlockBytes(int64_t group_count, bool scalars) {
  return NibbleChunks(group_count) * kNibbleChunkBytes + (scalars ? kNibbleScalarBytes : 0);
}

// Blocks that `rows` take.
constexpr int64_t NibbleBlocks(int64_t rows) {
  return (rows + kNibbleBlockRows - 1) / kNibbleBlockRows;
}

// Writes the groups of row `row` < kNibbleBlockRows of `block`, whose bytes were zero; no byte of
// the codes belongs to two rows, so rows may be written side by side.
void StoreNibbles(const uint8_t* groups, int64_t group_count, int64_t row, uint8_t* block);

// The same of its scalars, behind codes of `group_count` groups.
void StoreNibbleScalars(float slope, float offset, int64_t group_count, int64_t row,
                        uint8_t* block);

// A query's tables.  Immutable.
class NibbleTables {
 public:
  // Of `group_count` >= 1 groups of 16 finite numbers each, which are kept in steps of a 127th of
  // the widest group's range: step * sum + bias is off by at most half a step a group.
  NibbleTables(const float* values, int64_t group_count);

  // With them, as long as they live; blocks, base and limit are still to be named.
  NibbleScan Scan() const;

 private:
  std::vector<uint8_t> tables_;
  float step_ = 0;
  float bias_ = 0;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_H_
