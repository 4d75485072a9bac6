// What the kernels that scan codes of four bits are given and give.  Plain data, and no function:
// they are compiled with flags of their own.
#ifndef SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_KERNELS_H_
#define SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_KERNELS_H_

#include <cstdint>

namespace sightline::kernels {

// A code is a row of groups of four bits, and a query has a table of 16 numbers for each group.
// Codes lie in blocks of 32 rows, and in a block in chunks of 64 bytes: four groups of all rows.
//
//   bytes  0 to 15   groups 0 (low half of a byte) and 1 (high half) of rows 0 to 15
//         16 to 31   groups 2 and 3 of rows 0 to 15
//         32 to 47   groups 0 and 1 of rows 16 to 31
//         48 to 63   groups 2 and 3 of rows 16 to 31
//
// A chunk's tables are 64 bytes as well: those of groups 0, 2, 1 and 3.  A register of either
// width so finds the tables of what it has loaded side by side (Andre, Kermarrec and Le Scouarnec,
// "Quicker ADC", 2019, for the idea of tables in registers).
inline constexpr int64_t kNibbleBlockRows = 32;
inline constexpr int64_t kNibbleChunkBytes = 64;
inline constexpr int64_t kNibbleChunkGroups = 4;
// A table's numbers are of seven bits, so that two of them add up in a byte.
inline constexpr int kMostNibbleEntry = 127;

// Behind the codes of a block there may be two floats a row, its slope and its offset: 32 slopes,
// then 32 offsets.
inline constexpr int64_t kNibbleScalarBytes = 2 * 4 * kNibbleBlockRows;

struct NibbleScan {
  const uint8_t* blocks = nullptr;  // the first one
  int64_t block_count = 0;
  int64_t chunk_count = 0;  // of a block
  bool scalars = false;     // whether slopes and offsets are there
  const uint8_t* tables = nullptr;
  // An estimate is base + offset + slope * (step * sum + bias), where sum is that of the numbers
  // which the tables have for the row's groups; slope 1 and offset 0 where there are none.
  float step = 0;
  float bias = 0;
  float base = 0;
  float limit = 0;
};

// Stateless.  Sums are of integers and estimates are rounded alike, so all kernels give the same
// bits.
struct NibbleScanKernel {
  const char* instructions;  // as /proc/cpuinfo names them
  // Of each block a mask: which rows are wanted (bit i: row i), and afterwards which of them have
  // an estimate that is not below the limit.  Their estimates are written to `estimates`, 32 a
  // block; what stands there for other rows says nothing.  Blocks of which no row is wanted cost
  // nothing.
  void (*scan)(const NibbleScan& scan, uint32_t* masks, float* estimates);
};

// Each in a file of its own; choose one with NibbleScanKernelFor (nibble_scan.h), never by name.
extern const NibbleScanKernel kAvx2NibbleScan;
extern const NibbleScanKernel kAvx512NibbleScan;

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_KERNELS_H_
