#include "common/base/failed_read.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "common/base/error_details.h"
#include "common/base/random_access_file.h"

namespace sightline {
namespace {

// Nobody reads more at once.
constexpr int64_t kMostBytes = int64_t{1} << 20;

// -1 if there is no number of that name.
int64_t NumberOf(const ErrorReason& reason, const std::string& name) {
  const auto found = reason.metadata.find(name);
  int64_t number = 0;
  return found != reason.metadata.end() && absl::SimpleAtoi(found->second, &number) ? number : -1;
}

}  // namespace

absl::Status ReadWhatFailed(const absl::Status& status) {
  if (!IsFailedRead(status)) return absl::OkStatus();
  ErrorReason reason = *GetReason(status);
  const auto path = reason.metadata.find("file");
  const int64_t offset = NumberOf(reason, "offset");
  const int64_t length = std::min(NumberOf(reason, "length"), kMostBytes);
  if (path == reason.metadata.end() || offset < 0 || length < 0) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<RandomAccessFile>> file =
      RandomAccessFile::Open(path->second);
  if (!file.ok()) {
    return MakeError(reasons::kReadFailed, file.status().message(), std::move(reason.metadata));
  }
  std::string bytes(static_cast<size_t>(length), '\0');
  return (*file)->ReadAgain(offset, length, bytes.data());
}

}  // namespace sightline
