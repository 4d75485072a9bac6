#include "common/kernels/block_stack.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "common/kernels/scratch.h"

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

int64_t PaddedColumns(int64_t columns) {
  return DivideUp(columns, kPanelColumns) * kPanelColumns;
}

std::vector<float> Copied(const float* numbers, int64_t count) {
  return std::vector<float>(numbers, numbers + count);
}

// Rows as a kernel reads them.
class CodedRows {
 public:
  // Takes memory for `rows` rows.
  void Cut(int64_t rows, int64_t row_bytes, Cutter* cutter) {
    row_bytes_ = row_bytes;
    bytes_ = cutter->Take<std::byte>(rows * row_bytes);
    codes_ = cutter->Take<RowCode>(rows);
    if (codes_ != nullptr) std::uninitialized_default_construct_n(codes_, rows);
  }
  void Encode(const ProductKernel& kernel, const float* x, int64_t n, int64_t row) {
    kernel.encode(x, n, row_bytes_, bytes_ + row * row_bytes_, &codes_[row]);
  }
  void CopyRow(const CodedRows& from, int64_t from_row, int64_t row) {
    std::memcpy(bytes_ + row * row_bytes_, from.bytes_ + from_row * row_bytes_, row_bytes_);
    codes_[row] = from.codes_[from_row];
  }
  EncodedRows Rows(int64_t first, int64_t count) const {
    return {bytes_ + first * row_bytes_, row_bytes_, codes_ + first, count};
  }

 private:
  int64_t row_bytes_ = 0;
  std::byte* bytes_ = nullptr;
  RowCode* codes_ = nullptr;
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

// Takes all of its memory when it is made: a layer allocates nothing.
class BlockStack::Pass {
 public:
  Pass(const BlockStack& stack, const Sequences& sequences, bool first_rows_only, Team* team)
      : stack_(stack),
        kernel_(stack.kernel_),
        hidden_(stack.shape_.hidden_size),
        part_(PaddedColumns(hidden_)),
        middle_columns_(PaddedColumns(stack.shape_.intermediate_size)),
        sequences_(sequences),
        first_rows_only_(first_rows_only),
        groups_(GroupsOf(sequences)),
        team_(*team),
        total_rows_(groups_.back().first_row + groups_.back().rows),
        most_rows_(MostRows()),
        head_scratch_(AttentionScratch(Longest(), HeadSize())),
        scratch_(Cut(nullptr)) {
    Cut(scratch_.data());
    int64_t row = 0;
    for (int64_t i = 0; i < sequences_.count; ++i) {
      begins_[i] = row;
      row += sequences_.lengths[i];
    }
  }

  void Run(float* out) {
    float* const rows = first_rows_only_ ? rows_ : out;
    float* next = rows;
    for (int64_t i = 0; i < sequences_.part_count; ++i) {
      ReadRows(sequences_.parts[i], hidden_, next);
      next += sequences_.parts[i].rows * hidden_;
    }
    ForRows(total_rows_,
            [&](int64_t row) { coded_rows_.Encode(kernel_, rows + row * hidden_, hidden_, row); });
    const size_t whole = stack_.blocks_.size() - (first_rows_only_ ? 1 : 0);
    for (size_t i = 0; i < whole; ++i) {
      for (const SequenceGroup& group : groups_) RunBlock(stack_.blocks_[i], group, rows);
    }
    if (first_rows_only_) ReadFirstRows(stack_.blocks_.back(), rows, out);
  }

 private:
  int64_t MostRows() const {
    int64_t most = std::min(sequences_.count, kRowsTogether);
    for (const SequenceGroup& group : groups_) most = std::max(most, group.rows);
    return most;
  }

  int64_t Longest() const {
    return *std::max_element(sequences_.lengths, sequences_.lengths + sequences_.count);
  }

  // Shares out `memory`, or counts what is wanted of it.
  int64_t Cut(std::byte* memory) {
    Cutter cutter(memory);
    begins_ = cutter.Take<int64_t>(sequences_.count);
    rows_ = cutter.Take<float>(first_rows_only_ ? total_rows_ * hidden_ : 0);
    products_ = cutter.Take<float>(most_rows_ * 3 * part_);
    queries_ = cutter.Take<float>(first_rows_only_ ? most_rows_ * part_ : 0);
    context_ = cutter.Take<float>(std::max(sequences_.count, most_rows_) * hidden_);
    attended_ = cutter.Take<float>(most_rows_ * hidden_);
    middle_ = cutter.Take<float>(most_rows_ * middle_columns_);
    attention_ = cutter.Take<float>(head_scratch_ * team_.size());
    const int64_t hidden_bytes = RowBytes(kernel_, hidden_);
    coded_rows_.Cut(total_rows_, hidden_bytes, &cutter);
    coded_hidden_.Cut(most_rows_, hidden_bytes, &cutter);
    coded_middle_.Cut(most_rows_, RowBytes(kernel_, stack_.shape_.intermediate_size), &cutter);
    return cutter.taken();
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
    team_.ForEach(group.count * heads, [&](int64_t piece, int member) {
      const int64_t i = piece / heads, column = piece % heads * HeadSize();
      const int64_t length = sequences_.lengths[group.first + i];
      const int64_t begin = begins_[group.first + i] - group.first_row;
      const int64_t query = one_query ? i : begin;
      Attention attention;
      attention.queries = queries + query * query_stride + column;
      attention.keys = keys + begin * key_stride + column;
      attention.values = values + begin * key_stride + column;
      attention.query_stride = query_stride;
      attention.key_stride = key_stride;
      attention.query_count = one_query ? 1 : length;
      attention.length = length;
      attention.head_size = HeadSize();
      attention.scale = 1 / std::sqrt(static_cast<float>(HeadSize()));
      if (sequences_.key_bias != nullptr) {
        attention.key_bias = sequences_.key_bias + group.first_row + begin;
      }
      attention.out = context + query * hidden_ + column;
      attention.out_stride = hidden_;
      attention.scratch = attention_ + member * head_scratch_;
      kernel_.steps->attend(attention);
    });
  }

  // `rows`, all of the pass, and their codes become the block's results for the group.
  void RunBlock(const Block& block, const SequenceGroup& group, float* rows) {
    const int64_t stride = 3 * part_;
    Multiply(coded_rows_.Rows(group.first_row, group.rows), block.query_key_value, 0,
             block.query_key_value.panel_count(), /*gelu=*/false, products_, stride);
    AttendGroup(group, products_, stride, /*one_query=*/false, products_ + part_,
                products_ + 2 * part_, stride, context_);
    float* const residual = rows + group.first_row * hidden_;
    AfterAttention(block, context_, residual, group.rows, residual);
    ForRows(group.rows, [&](int64_t row) {
      coded_rows_.Encode(kernel_, residual + row * hidden_, hidden_, group.first_row + row);
    });
  }

  // The rest of a block for `count` <= most_rows_ rows; `out` may be `residual`.
  void AfterAttention(const Block& block, const float* context, const float* residual,
                      int64_t count, float* out) {
    CodedRows& hidden = coded_hidden_;
    CodedRows& middle = coded_middle_;
    const float epsilon = stack_.shape_.layer_norm_epsilon;
    ForRows(count,
            [&](int64_t row) { hidden.Encode(kernel_, context + row * hidden_, hidden_, row); });
    Multiply(hidden.Rows(0, count), block.attention_output, 0, block.attention_output.panel_count(),
             /*gelu=*/false, products_, part_);
    ForRows(count, [&](int64_t row) {
      kernel_.steps->add_and_norm(products_ + row * part_, residual + row * hidden_, hidden_,
                                  block.attention_gain.data(), block.attention_shift.data(),
                                  epsilon, attended_ + row * hidden_);
      hidden.Encode(kernel_, attended_ + row * hidden_, hidden_, row);
    });
    Multiply(hidden.Rows(0, count), block.intermediate, 0, block.intermediate.panel_count(),
             /*gelu=*/true, middle_, middle_columns_);
    ForRows(count, [&](int64_t row) {
      middle.Encode(kernel_, middle_ + row * middle_columns_, stack_.shape_.intermediate_size, row);
    });
    Multiply(middle.Rows(0, count), block.output, 0, block.output.panel_count(), /*gelu=*/false,
             products_, part_);
    ForRows(count, [&](int64_t row) {
      kernel_.steps->add_and_norm(products_ + row * part_, attended_ + row * hidden_, hidden_,
                                  block.output_gain.data(), block.output_shift.data(), epsilon,
                                  out + row * hidden_);
    });
  }

  // The last block, of which the first row of each sequence is read.
  void ReadFirstRows(const Block& block, const float* rows, float* out) {
    const int64_t panels = part_ / kPanelColumns;
    for (const SequenceGroup& group : groups_) {
      Multiply(coded_rows_.Rows(group.first_row, group.rows), block.query_key_value, panels,
               2 * panels, /*gelu=*/false, products_, 2 * part_);
      for (int64_t i = 0; i < group.count; ++i) {
        const int64_t row = begins_[group.first + i];
        coded_hidden_.CopyRow(coded_rows_, row, i);
        // Where the residual of all of them is read from, below.
        std::memcpy(out + (group.first + i) * hidden_, rows + row * hidden_,
                    hidden_ * sizeof(float));
      }
      Multiply(coded_hidden_.Rows(0, group.count), block.query_key_value, 0, panels,
               /*gelu=*/false, queries_, part_);
      AttendGroup(group, queries_, part_, /*one_query=*/true, products_, products_ + part_,
                  2 * part_, context_ + group.first * hidden_);
    }
    for (int64_t first = 0; first < sequences_.count; first += kRowsTogether) {
      float* const residual = out + first * hidden_;
      AfterAttention(block, context_ + first * hidden_, residual,
                     std::min(kRowsTogether, sequences_.count - first), residual);
    }
  }

  const BlockStack& stack_;
  const ProductKernel& kernel_;
  const int64_t hidden_;
  // Columns of a product, padded to whole panels: of width hidden_, and of the intermediate one.
  const int64_t part_, middle_columns_;
  const Sequences& sequences_;
  const bool first_rows_only_;
  const std::vector<SequenceGroup> groups_;
  Team& team_;
  const int64_t total_rows_;
  const int64_t most_rows_;  // that go through a layer together
  const int64_t head_scratch_;

  // Of scratch_, which comes last: it is as large as these are found to be.
  int64_t* begins_ = nullptr;  // of each sequence
  float *rows_ = nullptr, *products_ = nullptr, *queries_ = nullptr, *context_ = nullptr,
        *attended_ = nullptr, *middle_ = nullptr, *attention_ = nullptr;
  CodedRows coded_rows_, coded_hidden_, coded_middle_;
  Scratch scratch_;
};

BlockStack::BlockStack(const ProductKernel& kernel, const StackShape& shape)
    : kernel_(kernel), shape_(shape) {}

void BlockStack::Add(const BlockWeights& weights) {
  Block block;
  block.query_key_value = PackedMatrix(kernel_, {weights.query, weights.key, weights.value});
  block.attention_output = PackedMatrix(kernel_, {weights.attention_output});
  block.intermediate = PackedMatrix(kernel_, {weights.intermediate});
  block.output = PackedMatrix(kernel_, {weights.output});
  block.attention_gain = Copied(weights.attention_norm.gain, shape_.hidden_size);
  block.attention_shift = Copied(weights.attention_norm.shift, shape_.hidden_size);
  block.output_gain = Copied(weights.output_norm.gain, shape_.hidden_size);
  block.output_shift = Copied(weights.output_norm.shift, shape_.hidden_size);
  blocks_.push_back(std::move(block));
}

void BlockStack::Run(const Sequences& sequences, bool first_rows_only, Team* team,
                     float* out) const {
  if (sequences.count > 0) Pass(*this, sequences, first_rows_only, team).Run(out);
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
