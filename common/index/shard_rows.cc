#include "common/index/shard_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Rows in a container start at multiples of it.
constexpr int64_t kRowAlignment = 64;

// Reads runs of rows that follow one another at once.
class FileRows : public RowReader {
 public:
  explicit FileRows(const VectorsFile* file)
      : file_(file),
        row_bytes_(file->dimension() * static_cast<int64_t>(DtypeSize(file->embeddings().dtype))) {}

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override {
    const Section& section = file_->embeddings();
    const int64_t stride = section.row_stride_bytes;
    const int64_t at_once = std::max<int64_t>(Container::kBlockBytes / stride, 1);
    std::vector<char> padded;
    for (size_t first = 0, end = 0; first < rows.size(); first = end) {
      while (end < rows.size() && rows[end] == rows[first] + static_cast<int64_t>(end - first) &&
             static_cast<int64_t>(end - first) < at_once) {
        ++end;
      }
      padded.resize((end - first) * stride);
      RETURN_IF_ERROR(file_->container().Read(section, rows[first] * stride,
                                              static_cast<int64_t>(padded.size()), padded.data()));
      for (size_t i = first; i < end; ++i, to += row_bytes_) {
        std::memcpy(to, padded.data() + (i - first) * stride, row_bytes_);
      }
    }
    return absl::OkStatus();
  }

 private:
  const VectorsFile* const file_;
  const int64_t row_bytes_;
};

}  // namespace

int64_t RowBytes(const bundle::v1::GenerationManifest& manifest) {
  const int64_t number = manifest.vector_dtype() == DtypeName(Dtype::kFloat16) ? 2 : 4;
  const int64_t row = manifest.embedding().dimension() * number;
  return (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

int64_t RowBytes(const bundle::v1::GenerationManifest& manifest, int shard) {
  int64_t bytes = 0;
  return __builtin_mul_overflow(manifest.shards(shard).item_count(), RowBytes(manifest), &bytes)
             ? std::numeric_limits<int64_t>::max()
             : bytes;
}

absl::StatusOr<std::unique_ptr<ShardRows>> ShardRows::Open(
    absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
    RowPlace place, const CallContext& call) {
  auto rows = absl::WrapUnique(new ShardRows);
  const bundle::v1::ShardManifest& described = manifest.shards(shard);
  ASSIGN_OR_RETURN(rows->file_, VectorsFile::Open(JoinPath(directory, described.vectors().path()),
                                                  described, manifest.embedding().dimension()));
  if (place == RowPlace::kDisk) {
    rows->reader_ = std::make_unique<FileRows>(rows->file_.get());
    return rows;
  }
  ASSIGN_OR_RETURN(rows->bytes_, rows->file_->container().Load(rows->file_->embeddings(), call));
  return rows;
}

VectorView ShardRows::view() const {
  const Section& section = file_->embeddings();
  VectorView view;
  view.rows = file_->size();
  view.dimension = file_->dimension();
  view.dtype = section.dtype;
  view.stride = section.row_stride_bytes / static_cast<int64_t>(DtypeSize(section.dtype));
  view.data = reader_ == nullptr && view.rows > 0 ? bytes_.data() : nullptr;
  view.reader = reader_.get();
  return view;
}

}  // namespace sightline
