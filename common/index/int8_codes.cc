#include "common/index/int8_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/index/index_file.h"
#include "common/index/row_scores.h"
#include "common/kernels/int8_rows.h"

namespace sightline {
namespace {

// Rows that are encoded before they are written, and of them those that are read at once.
constexpr int64_t kRowsAtOnce = 4096;
constexpr int64_t kRowsOfPart = 64;

template <typename T>
absl::string_view BytesOf(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// Encodes rows of a shard, many at a time, by all threads of a pool.
class Encoder {
 public:
  explicit Encoder(const IndexBuild& build)
      : build_(build),
        row_bytes_(kernels::Int8RowBytes(build.vectors.dimension)),
        scales_(build.vectors.rows),
        errors_(build.vectors.rows),
        lengths_(build.vectors.rows) {}

  // Of rows `begin` to `end`, at most kRowsAtOnce; valid until the next call.
  absl::StatusOr<absl::string_view> Encode(int64_t begin, int64_t end) {
    codes_.resize((end - begin) * row_bytes_);
    const int64_t parts = (end - begin + kRowsOfPart - 1) / kRowsOfPart;
    std::vector<absl::Status> statuses(parts);
    build_.pool->ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        const int64_t row = begin + part * kRowsOfPart;
        statuses[part] = EncodePart(row, std::min(row + kRowsOfPart, end),
                                    codes_.data() + (row - begin) * row_bytes_);
      }
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return BytesOf(codes_);
  }

  const std::vector<float>& scales() const { return scales_; }
  const std::vector<float>& errors() const { return errors_; }
  const std::vector<float>& lengths() const { return lengths_; }

 private:
  absl::Status EncodePart(int64_t begin, int64_t end, int8_t* codes) {
    const int dimension = build_.vectors.dimension;
    std::vector<float> rows((end - begin) * dimension);
    RETURN_IF_ERROR(CopyRows(build_.vectors, begin, end - begin, rows.data()));
    for (int64_t row = begin; row < end; ++row, codes += row_bytes_) {
      const auto scale =
          kernels::EncodeInt8Row(rows.data() + (row - begin) * dimension, dimension, codes);
      scales_[row] = scale.scale;
      errors_[row] = scale.error;
      lengths_[row] = scale.length;
    }
    return absl::OkStatus();
  }

  const IndexBuild& build_;
  const int64_t row_bytes_;
  std::vector<int8_t> codes_;
  std::vector<float> scales_;
  std::vector<float> errors_;
  std::vector<float> lengths_;
};

}  // namespace

absl::StatusOr<Int8Codes> Int8Codes::Load(absl::string_view path, int64_t rows, int dimension,
                                          const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, OpenIndexFile(path));
  Int8Codes codes;
  codes.rows_ = rows;
  codes.row_bytes_ = kernels::Int8RowBytes(dimension);
  ASSIGN_OR_RETURN(codes.codes_,
                   LoadSection(*container, "codes", Dtype::kInt8, {rows, codes.row_bytes_}, call));
  ASSIGN_OR_RETURN(codes.scales_, LoadSection(*container, "scales", Dtype::kFloat32, {rows}, call));
  ASSIGN_OR_RETURN(codes.errors_, LoadSection(*container, "errors", Dtype::kFloat32, {rows}, call));
  ASSIGN_OR_RETURN(codes.lengths_,
                   LoadSection(*container, "lengths", Dtype::kFloat32, {rows}, call));
  RETURN_IF_ERROR(codes.CheckNumbers(path));
  return codes;
}

absl::Status Int8Codes::CheckNumbers(absl::string_view path) const {
  for (int64_t row = 0; row < rows_; ++row) {
    const bool sound = std::isfinite(scales()[row]) && scales()[row] >= 0 && errors()[row] >= 0 &&
                       lengths()[row] >= 0;
    if (!sound) {
      return InvalidIndexFile(
          path, absl::StrCat("row ", row, " has scale ", scales()[row], ", error ", errors()[row],
                             " and length ", lengths()[row]));
    }
  }
  return absl::OkStatus();
}

int64_t Int8CodesBytes(int64_t rows, int dimension) {
  const int64_t row_bytes =
      kernels::Int8RowBytes(dimension) + 3 * static_cast<int64_t>(sizeof(float));
  int64_t bytes = 0;
  return __builtin_mul_overflow(rows, row_bytes, &bytes) ? std::numeric_limits<int64_t>::max()
                                                         : bytes;
}

absl::StatusOr<ContainerWriter::Summary> WriteInt8Codes(const IndexBuild& build,
                                                        absl::string_view path) {
  const int64_t rows = build.vectors.rows;
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("codes", Dtype::kInt8,
                                  {rows, kernels::Int8RowBytes(build.vectors.dimension)}));
  for (const absl::string_view name : {"scales", "errors", "lengths"}) {
    RETURN_IF_ERROR(writer->Declare(name, Dtype::kFloat32, {rows}));
  }
  Encoder encoder(build);
  for (int64_t begin = 0; begin < rows; begin += kRowsAtOnce) {
    RETURN_IF_ERROR(build.call->Check("encode rows in int8"));
    const int64_t end = std::min(begin + kRowsAtOnce, rows);
    ASSIGN_OR_RETURN(const absl::string_view codes, encoder.Encode(begin, end));
    RETURN_IF_ERROR(writer->Append(codes));
    if (build.progress != nullptr) build.progress->Advance(end - begin);
  }
  for (const auto* numbers : {&encoder.scales(), &encoder.errors(), &encoder.lengths()}) {
    if (rows > 0) RETURN_IF_ERROR(writer->Append(BytesOf(*numbers)));
  }
  RETURN_IF_ERROR(build.call->Check("encode rows in int8"));
  return writer->Finish();
}

int64_t Int8WriteBytes(int64_t rows, int dimension) {
  const int64_t of_all = Int8CodesBytes(rows, 0);
  const int64_t of_some = Int8CodesBytes(kRowsAtOnce, dimension) +
                          kRowsAtOnce * dimension * static_cast<int64_t>(sizeof(float));
  int64_t bytes = 0;
  return __builtin_add_overflow(of_all, of_some, &bytes) ? std::numeric_limits<int64_t>::max()
                                                         : bytes;
}

}  // namespace sightline
