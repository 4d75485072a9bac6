// What a pass is, as it is copied to a device: one piece of memory, laid out by the pass's bucket.
//
// A bucket is all passes that the same launches serve: of at most so many rows and sequences.
// There are few, so that each can be recorded once and asked for again as a whole, and they are
// close enough that little is computed for nobody.
#ifndef SIGHTLINE_COMMON_KERNELS_PASS_LAYOUT_H_
#define SIGHTLINE_COMMON_KERNELS_PASS_LAYOUT_H_

#include <cstdint>
#include <tuple>

#include "common/kernels/block_stack.h"
#include "common/kernels/device_attention.h"
#include "common/kernels/device_stack.h"

namespace sightline::kernels {

// Places of a stack for what a pass reads and leaves.
inline constexpr int kPassPlaces = 2;

struct PassBucket {
  int32_t rows = 0;
  int32_t sequences = 0;
  bool has_bias = false;
  StackReadout readout = StackReadout::kAllRows;

  bool operator<(const PassBucket& other) const {
    return std::tie(rows, sequences, has_bias, readout) <
           std::tie(other.rows, other.sequences, other.has_bias, other.readout);
  }

  // The most tiles of queries: a sequence's last one may be short.
  int32_t tiles() const { return rows / kQueriesOfTile + sequences; }
};

// The rows that the bucket of a pass of `rows` has.
int64_t BucketRows(int64_t rows);

// Of these sequences, of which there is at least one.
PassBucket BucketOf(const Sequences& sequences, StackReadout readout);

// Where everything begins in the memory of a pass of rows of `columns` numbers, in bytes.
struct PassLayout {
  PassLayout(const PassBucket& bucket, int64_t columns);

  int64_t counts = 0;   // PassCounts
  int64_t ranges = 0;   // SequenceRange, of each sequence
  int64_t tiles = 0;    // QueryTile
  int64_t bias = 0;     // float, of each row
  int64_t sources = 0;  // RowSource, of each row; their offsets count from `numbers`
  int64_t numbers = 0;  // parts, each at a multiple of kPartAlignment
  int64_t most = 0;     // bytes that it may take

  static constexpr int64_t kPartAlignment = 16;
};

// Of the largest pass.
int64_t MostPassBytes(const PassLimits& limits, int64_t columns);

// Writes the pass to `memory`, of as many bytes as its layout's most; parts that are named several
// times are copied once.  Returns how many bytes were written.
int64_t WritePass(const Sequences& sequences, const PassLayout& layout, int64_t columns,
                  char* memory);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_PASS_LAYOUT_H_
