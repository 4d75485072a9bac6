#include "common/base/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kBuffer = 64 << 10;

absl::Status WriteAll(int fd, absl::string_view bytes, int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError("write", path, errno);
    offset += put;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Create(absl::string_view directory) {
  static std::atomic<int64_t> counter{0};
  for (;;) {
    // The ending tells a file whose process was killed before it could take the name away.
    const std::string path =
        JoinPath(directory, absl::StrCat("spool.", ::getpid(), ".", counter++, ".tmp"));
    Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd.get() < 0 && errno == EEXIST) continue;
    if (fd.get() < 0) return FileError("create", path, errno);
    if (::unlink(path.c_str()) != 0) return FileError("unlink", path, errno);
    return std::unique_ptr<Spool>(new Spool(std::move(fd), path));
  }
}

absl::Status Spool::Add(absl::string_view record) {
  if (record.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record of ", record.size(), " bytes; at most 2^32 - 1 are kept"));
  }
  const auto length = static_cast<uint32_t>(record.size());
  char prefix[sizeof(length)];
  std::memcpy(prefix, &length, sizeof(length));
  buffer_.append(prefix, sizeof(prefix));
  buffer_.append(record.data(), record.size());
  ++size_;
  if (buffer_.size() < kBuffer) return absl::OkStatus();
  RETURN_IF_ERROR(WriteAll(fd_.get(), buffer_, written_, path_));
  written_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status Spool::Finish() {
  RETURN_IF_ERROR(WriteAll(fd_.get(), buffer_, written_, path_));
  written_ += static_cast<int64_t>(buffer_.size());
  std::string().swap(buffer_);
  return absl::OkStatus();
}

absl::StatusOr<bool> Spool::Reader::Next(absl::string_view* record) {
  uint32_t length = 0;
  if (taken_ == buffer_.size() && next_ >= end_) return false;
  RETURN_IF_ERROR(Fill(sizeof(length)));
  std::memcpy(&length, buffer_.data() + taken_, sizeof(length));
  RETURN_IF_ERROR(Fill(sizeof(length) + length));
  *record = absl::string_view(buffer_.data() + taken_ + sizeof(length), length);
  taken_ += sizeof(length) + length;
  return true;
}

// Has `wanted` bytes in the buffer that are not taken.
absl::Status Spool::Reader::Fill(size_t wanted) {
  if (buffer_.size() - taken_ >= wanted) return absl::OkStatus();
  buffer_.erase(0, taken_);
  taken_ = 0;
  size_t have = buffer_.size();
  const auto left = static_cast<size_t>(end_ - next_);
  buffer_.resize(std::min(std::max(wanted, kBuffer), have + left));
  while (have < buffer_.size()) {
    const ssize_t got =
        ::pread(spool_->fd_.get(), buffer_.data() + have, buffer_.size() - have, next_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", spool_->path_, errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
    next_ += got;
  }
  buffer_.resize(have);
  if (have >= wanted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(spool_->path_, " ends within a record"));
}

}  // namespace sightline
