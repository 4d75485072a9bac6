// A stack of post-LN transformer blocks (common/models/network/transformer.h has the formulas),
// run with packed weights in one precision: products in it, everything between them in float32.
//
// Sequences lie packed, one after another.  A few sequences at a time go through a whole layer, so
// that what is between its steps stays in the core's cache; of the last layer only what is read is
// computed.  A row's result does not depend on its batch in int8, and elsewhere only by the order
// of no sum: kernels add in the order of the inputs, whatever the tile.
#ifndef SIGHTLINE_COMMON_KERNELS_BLOCK_STACK_H_
#define SIGHTLINE_COMMON_KERNELS_BLOCK_STACK_H_

#include <cstdint>
#include <vector>

#include "common/kernels/kernels.h"
#include "common/kernels/packed_matrix.h"
#include "common/kernels/row_parts.h"
#include "common/kernels/team.h"

namespace sightline::kernels {

struct NormWeights {
  const float* gain = nullptr;
  const float* shift = nullptr;
};

// One block as a checkpoint has it.  Not owned.
struct BlockWeights {
  LinearWeights query, key, value;
  LinearWeights attention_output;
  NormWeights attention_norm;
  LinearWeights intermediate;
  LinearWeights output;
  NormWeights output_norm;
};

struct StackShape {
  int64_t hidden_size = 0;
  int64_t head_count = 0;
  int64_t intermediate_size = 0;
  float layer_norm_epsilon = 0;
};

// Sequences of one pass: their rows, T in all, of hidden_size numbers each, lie in parts one after
// another, and need not end where a part does.
struct Sequences {
  const RowPart* parts = nullptr;
  int64_t part_count = 0;
  const float* key_bias = nullptr;  // T, or null
  const int64_t* lengths = nullptr;
  int64_t count = 0;
};

// Thread-safe once it has all of its blocks, of which it needs one at least.
class BlockStack {
 public:
  BlockStack(const ProductKernel& kernel, const StackShape& shape);

  // Packs the next block, whose weights nobody needs afterwards.  Throws std::bad_alloc.
  void Add(const BlockWeights& weights);

  // The last layer's rows: all, T x hidden_size, or the first of each sequence.  `out` does not
  // overlap what is read.  Parts are read once, into the pass's own memory (scratch.h), which is
  // all that a pass allocates; a layer allocates nothing.  Throws std::bad_alloc.
  void Run(const Sequences& sequences, bool first_rows_only, Team* team, float* out) const;

  const ProductKernel& kernel() const { return kernel_; }
  // Of the packed weights.
  int64_t bytes() const;

 private:
  struct Block {
    PackedMatrix query_key_value;
    PackedMatrix attention_output;
    PackedMatrix intermediate;
    PackedMatrix output;
    std::vector<float> attention_gain, attention_shift, output_gain, output_shift;
  };
  class Pass;

  const ProductKernel& kernel_;
  const StackShape shape_;
  std::vector<Block> blocks_;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_BLOCK_STACK_H_
