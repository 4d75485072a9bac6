#include "common/kernels/block_stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sightline::kernels {
namespace {

// Rows that go through a layer together: what is between its steps stays in a cache of 1 MiB, and
// weights pass the core once for so many.
constexpr int64_t kRowsTogether = 96;
// Pieces for each member of a team, so that one who comes late leaves the rest to the others.
constexpr int64_t kPiecesPerMember = 3;

int64_t DivideUp(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

std::vector<float> Copied(const float* numbers, int64_t count) {
  return std::vector<float>(numbers, numbers + count);
}

// Numbers between two steps.
class FloatBuffer {
 public:
  float* Grow(int64_t count) {
    if (static_cast<int64_t>(numbers_.size()) < count) numbers_.resize(count);
    return numbers_.data();
  }

 private:
  std::vector<float> numbers_;
};

// Rows as a kernel reads them.
class CodeBuffer {
 public:
  void Grow(int64_t rows, int64_t row_bytes) {
    row_bytes_ = row_bytes;
    if (bytes_.size() < rows * row_bytes) bytes_ = AlignedBuffer(rows * row_bytes);
    if (static_cast<int64_t>(codes_.size()) < rows) codes_.resize(rows);
  }
  void Encode(const ProductKernel& kernel, const float* x, int64_t n, int64_t row) {
    kernel.encode(x, n, row_bytes_, bytes_.data() + row * row_bytes_, &codes_[row]);
  }
  void CopyRow(const CodeBuffer& from, int64_t from_row, int64_t row) {
    std::memcpy(bytes_.data() + row * row_bytes_, from.bytes_.data() + from_row * row_bytes_,
                row_bytes_);
    codes_[row] = from.codes_[from_row];
  }
  EncodedRows Rows(int64_t first, int64_t count) const {
    return {bytes_.data() + first * row_bytes_, row_bytes_, codes_.data() + first, count};
  }

 private:
  int64_t row_bytes_ = 0;
  AlignedBuffer bytes_;
  std::vector<RowCode> codes_;
};

// What a pass needs, which the thread's next one takes again.
struct Scratch {
  FloatBuffer rows, products, queries, context, attended, middle, attention;
  CodeBuffer coded_rows, coded_hidden, coded_middle;
};

// Neighbours that go through a layer together.
struct SequenceGroup {
  int64_t first = 0;
  int64_t count = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

std::vector<SequenceGroup> GroupsOf(const Sequences& sequences) {
  std::vector<SequenceGroup> groups;
  int64_t row = 0;
  for (int64_t i = 0; i < sequences.count; ++i) {
    const int64_t length = sequences.lengths[i];
    if (groups.empty() || groups.back().rows + length > kRowsTogether) {
      groups.push_back({i, 0, row, 0});
    }
    ++groups.back().count;
    groups.back().rows += length;
    row += length;
  }
  return groups;
}

}  // namespace

class BlockStack::Pass {
 public:
  Pass(const BlockStack& stack, const Sequences& sequences, Team* team)
      : stack_(stack),
        kernel_(stack.kernel_),
        hidden_(stack.shape_.hidden_size),
        sequences_(sequences),
        groups_(GroupsOf(sequences)),
        team_(*team),
        scratch_(ThreadScratch()) {
    total_rows_ = groups_.back().first_row + groups_.back().rows;
    for (const SequenceGroup& group : groups_) {
      most_rows_ = std::max({most_rows_, group.rows, std::min(sequences.count, kRowsTogether)});
    }
    const int64_t longest =
        *std::max_element(sequences.lengths, sequences.lengths + sequences.count);
    head_scratch_ = AttentionScratch(longest, HeadSize());
    scratch_.attention.Grow(head_scratch_ * team_.size());
    const int64_t hidden_bytes = RowBytes(kernel_, hidden_);
    scratch_.coded_rows.Grow(total_rows_, hidden_bytes);
    scratch_.coded_hidden.Grow(most_rows_, hidden_bytes);
    scratch_.coded_middle.Grow(most_rows_, RowBytes(kernel_, stack.shape_.intermediate_size));
  }

  void Run(bool first_rows_only, float* out) {
    float* const rows = first_rows_only ? scratch_.rows.Grow(total_rows_ * hidden_) : out;
    std::memcpy(rows, sequences_.rows, total_rows_ * hidden_ * sizeof(float));
    ForRows(total_rows_, [&](int64_t row) {
      scratch_.coded_rows.Encode(kernel_, rows + row * hidden_, hidden_, row);
    });
    const size_t whole = stack_.blocks_.size() - (first_rows_only ? 1 : 0);
    for (size_t i = 0; i < whole; ++i) {
      for (const SequenceGroup& group : groups_) RunBlock(stack_.blocks_[i], group, rows);
    }
    if (first_rows_only) ReadFirstRows(stack_.blocks_.back(), rows, out);
  }

 private:
  static Scratch& ThreadScratch() {
    thread_local Scratch scratch;
    return scratch;
  }

  int64_t HeadSize() const { return hidden_ / stack_.shape_.head_count; }

  template <typename Body>
  void ForRows(int64_t count, const Body& body) {
    const int64_t pieces =
        team_.size() == 1 ? 1 : std::min<int64_t>(count, team_.size() * kPiecesPerMember);
    team_.ForEach(pieces, [&](int64_t piece, int) {
      for (int64_t row = count * piece / pieces; row < count * (piece + 1) / pieces; ++row)
        body(row);
    });
  }

  // Panels `first` to `first` + `count` of `matrix`; columns of `out` begin with the first.
  void Multiply(const EncodedRows& rows, const PackedMatrix& matrix, int64_t first, int64_t count,
                bool gelu, float* out, int64_t out_stride) {
    const int64_t wanted = team_.size() == 1 ? 1 : team_.size() * kPiecesPerMember;
    const int64_t across = std::min(count, wanted);
    const int64_t down =
        std::min(DivideUp(wanted, across), DivideUp(rows.count, kernel_.tile_rows));
    team_.ForEach(across * down, [&](int64_t piece, int) {
      const int64_t panel = count * (piece / down) / across;
      const int64_t panel_end = count * (piece / down + 1) / across;
      const int64_t row = rows.count * (piece % down) / down;
      const int64_t row_end = rows.count * (piece % down + 1) / down;
      Product product;
      product.rows = {rows.bytes + row * rows.row_bytes, rows.row_bytes, rows.codes + row,
                      row_end - row};
      product.panels = matrix.PanelsFrom(first + panel, panel_end - panel);
      product.gelu = gelu;
      product.out = out + row * out_stride + panel * kPanelColumns;
      product.out_stride = out_stride;
      kernel_.multiply(product);
    });
  }

  // queries: of each sequence of the group as many as it has rows, or one.
  void AttendGroup(const SequenceGroup& group, const float* queries, int64_t query_stride,
                   bool one_query, const float* keys, const float* values, int64_t key_stride,
                   float* context) {
    const int64_t heads = stack_.shape_.head_count;
    std::vector<int64_t> begins(group.count);
    int64_t begin = 0;
    for (int64_t i = 0; i < group.count; ++i) {
      begins[i] = begin;
      begin += sequences_.lengths[group.first + i];
    }
    float* const scratch = scratch_.attention.Grow(0);
    team_.ForEach(group.count * heads, [&](int64_t piece, int member) {
      const int64_t i = piece / heads, column = piece % heads * HeadSize();
      const int64_t length = sequences_.lengths[group.first + i];
      const int64_t query = one_query ? i : begins[i];
      Attention attention;
      attention.queries = queries + query * query_stride + column;
      attention.keys = keys + begins[i] * key_stride + column;
      attention.values = values + begins[i] * key_stride + column;
      attention.query_stride = query_stride;
      attention.key_stride = key_stride;
      attention.query_count = one_query ? 1 : length;
      attention.length = length;
      attention.head_size = HeadSize();
      attention.scale = 1 / std::sqrt(static_cast<float>(HeadSize()));
      if (sequences_.key_bias != nullptr) {
        attention.key_bias = sequences_.key_bias + group.first_row + begins[i];
      }
      attention.out = context + query * hidden_ + column;
      attention.out_stride = hidden_;
      attention.scratch = scratch + member * head_scratch_;
      kernel_.steps->attend(attention);
    });
  }

  // `rows`, all of the pass, and their codes become the block's results for the group.
  void RunBlock(const Block& block, const SequenceGroup& group, float* rows) {
    const int64_t panels = block.query_key_value.panel_count();
    const int64_t stride = panels * kPanelColumns, part = stride / 3;
    float* const products = scratch_.products.Grow(most_rows_ * stride);
    Multiply(scratch_.coded_rows.Rows(group.first_row, group.rows), block.query_key_value, 0,
             panels,
             /*gelu=*/false, products, stride);
    float* const context = scratch_.context.Grow(most_rows_ * hidden_);
    AttendGroup(group, products, stride, /*one_query=*/false, products + part, products + 2 * part,
                stride, context);
    float* const residual = rows + group.first_row * hidden_;
    AfterAttention(block, context, residual, group.rows, residual);
    ForRows(group.rows, [&](int64_t row) {
      scratch_.coded_rows.Encode(kernel_, residual + row * hidden_, hidden_, group.first_row + row);
    });
  }

  // The rest of a block for `count` <= most_rows_ rows; `out` may be `residual`.
  void AfterAttention(const Block& block, const float* context, const float* residual,
                      int64_t count, float* out) {
    CodeBuffer& hidden = scratch_.coded_hidden;
    CodeBuffer& middle = scratch_.coded_middle;
    const float epsilon = stack_.shape_.layer_norm_epsilon;
    const int64_t stride = block.attention_output.panel_count() * kPanelColumns;
    const int64_t middle_stride = block.intermediate.panel_count() * kPanelColumns;
    float* const products = scratch_.products.Grow(most_rows_ * stride);
    float* const attended = scratch_.attended.Grow(most_rows_ * hidden_);
    float* const between = scratch_.middle.Grow(most_rows_ * middle_stride);

    ForRows(count,
            [&](int64_t row) { hidden.Encode(kernel_, context + row * hidden_, hidden_, row); });
    Multiply(hidden.Rows(0, count), block.attention_output, 0, block.attention_output.panel_count(),
             /*gelu=*/false, products, stride);
    ForRows(count, [&](int64_t row) {
      kernel_.steps->add_and_norm(products + row * stride, residual + row * hidden_, hidden_,
                                  block.attention_gain.data(), block.attention_shift.data(),
                                  epsilon, attended + row * hidden_);
      hidden.Encode(kernel_, attended + row * hidden_, hidden_, row);
    });
    Multiply(hidden.Rows(0, count), block.intermediate, 0, block.intermediate.panel_count(),
             /*gelu=*/true, between, middle_stride);
    ForRows(count, [&](int64_t row) {
      middle.Encode(kernel_, between + row * middle_stride, stack_.shape_.intermediate_size, row);
    });
    Multiply(middle.Rows(0, count), block.output, 0, block.output.panel_count(), /*gelu=*/false,
             products, stride);
    ForRows(count, [&](int64_t row) {
      kernel_.steps->add_and_norm(products + row * stride, attended + row * hidden_, hidden_,
                                  block.output_gain.data(), block.output_shift.data(), epsilon,
                                  out + row * hidden_);
    });
  }

  // The last block, of which the first row of each sequence is read.
  void ReadFirstRows(const Block& block, const float* rows, float* out) {
    const int64_t panels = block.query_key_value.panel_count() / 3;
    const int64_t part = panels * kPanelColumns;
    float* const context = scratch_.context.Grow(std::max(sequences_.count, most_rows_) * hidden_);
    float* const products = scratch_.products.Grow(most_rows_ * 2 * part);
    float* const queries = scratch_.queries.Grow(most_rows_ * part);
    for (const SequenceGroup& group : groups_) {
      Multiply(scratch_.coded_rows.Rows(group.first_row, group.rows), block.query_key_value, panels,
               2 * panels, /*gelu=*/false, products, 2 * part);
      int64_t row = group.first_row;
      for (int64_t i = 0; i < group.count; ++i) {
        scratch_.coded_hidden.CopyRow(scratch_.coded_rows, row, i);
        // Where the residual of all of them is read from, below.
        std::memcpy(out + (group.first + i) * hidden_, rows + row * hidden_,
                    hidden_ * sizeof(float));
        row += sequences_.lengths[group.first + i];
      }
      Multiply(scratch_.coded_hidden.Rows(0, group.count), block.query_key_value, 0, panels,
               /*gelu=*/false, queries, part);
      AttendGroup(group, queries, part, /*one_query=*/true, products, products + part, 2 * part,
                  context + group.first * hidden_);
    }
    for (int64_t first = 0; first < sequences_.count; first += kRowsTogether) {
      float* const residual = out + first * hidden_;
      AfterAttention(block, context + first * hidden_, residual,
                     std::min(kRowsTogether, sequences_.count - first), residual);
    }
  }

  const BlockStack& stack_;
  const ProductKernel& kernel_;
  const int64_t hidden_;
  const Sequences& sequences_;
  const std::vector<SequenceGroup> groups_;
  Team& team_;
  Scratch& scratch_;
  int64_t total_rows_ = 0;
  int64_t most_rows_ = 1;  // that go through a layer together
  int64_t head_scratch_ = 0;
};

BlockStack::BlockStack(const ProductKernel& kernel, const StackShape& shape,
                       const std::vector<BlockWeights>& blocks)
    : kernel_(kernel), shape_(shape) {
  blocks_.reserve(blocks.size());
  for (const BlockWeights& weights : blocks) {
    Block block;
    block.query_key_value = PackedMatrix(kernel, {weights.query, weights.key, weights.value});
    block.attention_output = PackedMatrix(kernel, {weights.attention_output});
    block.intermediate = PackedMatrix(kernel, {weights.intermediate});
    block.output = PackedMatrix(kernel, {weights.output});
    block.attention_gain = Copied(weights.attention_norm.gain, shape.hidden_size);
    block.attention_shift = Copied(weights.attention_norm.shift, shape.hidden_size);
    block.output_gain = Copied(weights.output_norm.gain, shape.hidden_size);
    block.output_shift = Copied(weights.output_norm.shift, shape.hidden_size);
    blocks_.push_back(std::move(block));
  }
}

void BlockStack::Run(const Sequences& sequences, bool first_rows_only, Team* team,
                     float* out) const {
  if (sequences.count > 0) Pass(*this, sequences, team).Run(first_rows_only, out);
}

int64_t BlockStack::bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks_) {
    bytes += block.query_key_value.bytes() + block.attention_output.bytes() +
             block.intermediate.bytes() + block.output.bytes() + 16 * shape_.hidden_size;
  }
  return bytes;
}

}  // namespace sightline::kernels
