#include "common/bundle/rows_on_disk.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/section_reader.h"

namespace sightline {
namespace {

// Of rows that are read at once, with their padding; at least a row.
constexpr int64_t kMaxStretchBytes = int64_t{1} << 20;

constexpr int64_t kRowsBetweenChecks = 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<RowsOnDisk>> RowsOnDisk::Load(const VectorsFile& file,
                                                             const CallContext& call) {
  std::unique_ptr<RowsOnDisk> rows(new RowsOnDisk(file));
  rows->checksums_.reserve(static_cast<size_t>(file.size()));
  const int64_t stride = file.embeddings().row_stride_bytes;
  SectionReader reader(file.container(), file.embeddings(), nullptr);
  for (int64_t row = 0; row < file.size(); ++row) {
    if (row % kRowsBetweenChecks == 0) RETURN_IF_ERROR(call.Check("load embeddings"));
    ASSIGN_OR_RETURN(const absl::string_view bytes, reader.View(row * stride, stride));
    RETURN_IF_ERROR(file.CheckEmbedding(row, bytes));
    rows->checksums_.push_back(Crc32c(bytes.substr(0, static_cast<size_t>(file.row_bytes()))));
  }
  return rows;
}

std::vector<RowsOnDisk::Stretch> RowsOnDisk::StretchesOf(absl::Span<const int64_t> rows,
                                                         char* to) const {
  const int64_t most =
      std::max<int64_t>(kMaxStretchBytes / file_->embeddings().row_stride_bytes, 1);
  std::vector<Stretch> stretches;
  for (const int64_t row : rows) {
    if (!stretches.empty() && stretches.back().first + stretches.back().count == row &&
        stretches.back().count < most) {
      ++stretches.back().count;
    } else {
      stretches.push_back({row, 1, to});
    }
    to += file_->row_bytes();
  }
  return stretches;
}

// A lone row, or rows without padding, go where they are wanted; that is what there mostly is.
bool RowsOnDisk::ReadCached(const Stretch& stretch) const {
  const int64_t stride = file_->embeddings().row_stride_bytes;
  if (stretch.count > 1 && stride != file_->row_bytes()) return false;
  return file_->container().ReadCached(file_->embeddings(), stretch.first * stride,
                                       stretch.count * file_->row_bytes(), stretch.to);
}

absl::Status RowsOnDisk::ReadFromDisk(const Stretch& stretch) const {
  const Container& container = file_->container();
  const Section& section = file_->embeddings();
  const int64_t stride = section.row_stride_bytes;
  const int64_t row_bytes = file_->row_bytes();
  if (stretch.count == 1 || stride == row_bytes) {
    return container.ReadUnchecked(section, stretch.first * stride, stretch.count * row_bytes,
                                   stretch.to);
  }
  std::string padded(static_cast<size_t>(stretch.count * stride), '\0');
  RETURN_IF_ERROR(
      container.ReadUnchecked(section, stretch.first * stride, stretch.count * stride, &padded[0]));
  for (int64_t i = 0; i < stretch.count; ++i) {
    std::copy_n(padded.data() + i * stride, row_bytes, stretch.to + i * row_bytes);
  }
  return absl::OkStatus();
}

bool RowsOnDisk::Matches(int64_t row, const char* bytes) const {
  return Crc32c({bytes, static_cast<size_t>(file_->row_bytes())}) ==
         checksums_[static_cast<size_t>(row)];
}

absl::Status RowsOnDisk::Compare(const Stretch& stretch) const {
  const int64_t row_bytes = file_->row_bytes();
  for (int64_t i = 0; i < stretch.count; ++i) {
    const int64_t row = stretch.first + i;
    char* const bytes = stretch.to + i * row_bytes;
    if (Matches(row, bytes)) continue;
    RETURN_IF_ERROR(file_->container().ReadAgain(
        file_->embeddings(), row * file_->embeddings().row_stride_bytes, row_bytes, bytes));
    if (Matches(row, bytes)) continue;
    return MakeError(reasons::kChecksumMismatch,
                     absl::StrCat(file_->container().path(), ": the embedding of item ", row,
                                  " is not the one that was loaded; fetch the file again, under "
                                  "another name, and rename that into place"));
  }
  return absl::OkStatus();
}

absl::Status RowsOnDisk::Read(absl::Span<const int64_t> rows, char* to) const {
  const std::vector<Stretch> stretches = StretchesOf(rows, to);
  const int64_t stride = file_->embeddings().row_stride_bytes;
  std::vector<const Stretch*> missing;
  for (const Stretch& stretch : stretches) {
    if (ReadCached(stretch)) {
      RETURN_IF_ERROR(Compare(stretch));
      continue;
    }
    file_->container().WillNeed(file_->embeddings(), stretch.first * stride,
                                stretch.count * stride);
    missing.push_back(&stretch);
  }
  for (const Stretch* stretch : missing) {
    RETURN_IF_ERROR(ReadFromDisk(*stretch));
    RETURN_IF_ERROR(Compare(*stretch));
  }
  return absl::OkStatus();
}

}  // namespace sightline
