#include "common/evaluation/score_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMostMatrixBytes = int64_t{1} << 40;
constexpr int64_t kMostStateBytes = 1 << 20;
constexpr int64_t kBlockBytes = 1 << 20;

std::string PartPath(const std::string& path) {
  return absl::StrCat(path, ".part");
}

std::string StatePath(const std::string& path) {
  return absl::StrCat(path, ".part.json");
}

int64_t RowBytes(int64_t columns) {
  return columns * static_cast<int64_t>(sizeof(float));
}

// Of format version 1.0: a length in two bytes, and a dict in text that ends on a multiple of 64.
std::string NpyHeader(int64_t rows, int64_t columns) {
  std::string dict = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ",
                                  columns, "), }");
  constexpr size_t kBefore = 10;
  while ((kBefore + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  const auto size = static_cast<unsigned>(dict.size());
  return absl::StrCat(std::string("\x93NUMPY\x01\x00", 8), std::string(1, size & 0xff),
                      std::string(1, size >> 8), dict);
}

}  // namespace

void ScoreCosts::Add(const ScoreCosts& other) {
  encoding_seconds += other.encoding_seconds;
  scoring_seconds += other.scoring_seconds;
  pairs += other.pairs;
}

ScoreFileWriter::ScoreFileWriter(Descriptor file, std::string path, int64_t rows, int64_t columns,
                                 std::string job)
    : path_(std::move(path)),
      part_(PartPath(path_)),
      state_(StatePath(path_)),
      rows_(rows),
      columns_(columns),
      job_(std::move(job)),
      header_(NpyHeader(rows, columns)),
      file_(std::move(file)) {}

absl::StatusOr<std::unique_ptr<ScoreFileWriter>> ScoreFileWriter::Open(const std::string& path,
                                                                       int64_t rows,
                                                                       int64_t columns,
                                                                       const std::string& job) {
  if (columns > 0 && rows > kMostMatrixBytes / RowBytes(columns)) {
    return absl::InvalidArgumentError(absl::StrCat("a matrix of ", rows, " pictures and ", columns,
                                                   " captions takes more than a tebibyte; choose a "
                                                   "split, or fewer captions of a picture"));
  }
  const std::string part = PartPath(path);
  const bool goes_on = FileExists(StatePath(path)) && FileExists(part);
  Descriptor file(
      ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (goes_on ? 0 : O_TRUNC), 0644));
  if (file.get() < 0) return FileError("open", part, errno);
  auto writer = absl::WrapUnique(new ScoreFileWriter(std::move(file), path, rows, columns, job));
  RETURN_IF_ERROR(goes_on ? writer->TakeUp() : writer->Begin());
  return writer;
}

absl::Status ScoreFileWriter::Begin() {
  RETURN_IF_ERROR(WriteAt(0, header_.data(), static_cast<int64_t>(header_.size())));
  return WriteState();
}

absl::Status ScoreFileWriter::TakeUp() {
  ASSIGN_OR_RETURN(const std::string state, ReadFile(state_, kMostStateBytes));
  const auto refused = [this](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(part_, " ", why, "; remove it and ", state_,
                                                      " to begin anew, or name another file"));
  };
  const auto json = nlohmann::json::parse(state, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("job") || !json["job"].is_string() ||
      !json.contains("rows") || !json["rows"].is_number_integer()) {
    return refused("is damaged");
  }
  if (!json.contains("crc32c") || !json["crc32c"].is_number_unsigned()) {
    return refused("has no checksum, as of an older version");
  }
  const auto job = json["job"].get<std::string>();
  if (job != job_) return refused(absl::StrCat("is of other scores (", job, ", not ", job_, ")"));
  rows_done_ = json["rows"].get<int64_t>();
  const auto number = [&json](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
  };
  costs_.encoding_seconds = number("encoding_seconds");
  costs_.scoring_seconds = number("scoring_seconds");
  costs_.pairs = static_cast<int64_t>(number("pairs"));
  ASSIGN_OR_RETURN(const int64_t size, FileSize(part_));
  if (rows_done_ < 0 || rows_done_ > rows_ ||
      size < static_cast<int64_t>(header_.size()) + rows_done_ * RowBytes(columns_)) {
    return refused("is shorter than it was");
  }
  std::string header(header_.size(), '\0');
  if (::pread(file_.get(), &header[0], header.size(), 0) != static_cast<ssize_t>(header.size()) ||
      header != header_) {
    return refused("is of another shape");
  }
  ASSIGN_OR_RETURN(sum_, SumOfPart());
  return json["crc32c"].get<uint64_t>() == sum_ ? absl::OkStatus() : refused("is damaged");
}

absl::StatusOr<uint32_t> ScoreFileWriter::SumOfPart() const {
  uint32_t sum = 0;
  int64_t offset = static_cast<int64_t>(header_.size());
  const int64_t end = offset + rows_done_ * RowBytes(columns_);
  std::string block(kBlockBytes, '\0');
  while (offset < end) {
    const auto most = static_cast<size_t>(std::min<int64_t>(kBlockBytes, end - offset));
    const ssize_t count = ::pread(file_.get(), &block[0], most, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return FileError("read", part_, count < 0 ? errno : EIO);
    sum = ExtendCrc32c(sum, absl::string_view(block).substr(0, static_cast<size_t>(count)));
    offset += count;
  }
  return sum;
}

absl::Status ScoreFileWriter::WriteAt(int64_t offset, const char* bytes, int64_t count) const {
  while (count > 0) {
    const ssize_t written = ::pwrite(file_.get(), bytes, static_cast<size_t>(count), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FileError("write", part_, written < 0 ? errno : ENOSPC);
    bytes += written;
    offset += written;
    count -= written;
  }
  return absl::OkStatus();
}

absl::Status ScoreFileWriter::WriteState() const {
  if (::fdatasync(file_.get()) != 0) return FileError("sync", part_, errno);
  const nlohmann::json json = {{"job", job_},
                               {"rows", rows_done_},
                               {"crc32c", sum_},
                               {"encoding_seconds", costs_.encoding_seconds},
                               {"scoring_seconds", costs_.scoring_seconds},
                               {"pairs", costs_.pairs}};
  return WriteFileAtomically(state_, json.dump() + "\n");
}

absl::Status ScoreFileWriter::Append(absl::Span<const float> rows, const ScoreCosts& costs) {
  const absl::string_view bytes(reinterpret_cast<const char*>(rows.data()),
                                rows.size() * sizeof(float));
  RETURN_IF_ERROR(WriteAt(static_cast<int64_t>(header_.size()) + rows_done_ * RowBytes(columns_),
                          bytes.data(), static_cast<int64_t>(bytes.size())));
  sum_ = ExtendCrc32c(sum_, bytes);
  rows_done_ += static_cast<int64_t>(rows.size()) / columns_;
  costs_.Add(costs);
  return WriteState();
}

absl::Status ScoreFileWriter::Commit() {
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return FileError("rename", part_, errno);
  if (std::remove(state_.c_str()) != 0) return FileError("remove", state_, errno);
  const auto slash = path_.rfind('/');
  return SyncDirectory(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
}

}  // namespace sightline
