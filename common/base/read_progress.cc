#include "common/base/read_progress.h"

#include <algorithm>
#include <utility>

namespace sightline {

ReadProgress::ReadProgress(Files files) : left_(std::move(files)) {
  for (const auto& [path, length] : left_) bytes_.all += length;
}

void ReadProgress::Add(absl::string_view path, int64_t bytes) {
  MutexLock lock(mutex_);
  const auto found = left_.find(path);
  if (found == left_.end()) return;
  const int64_t counted = std::min(bytes, found->second);
  found->second -= counted;
  bytes_.done += counted;
}

void ReadProgress::Expect(absl::string_view path, int64_t most) {
  MutexLock lock(mutex_);
  const auto found = left_.find(path);
  if (found == left_.end() || found->second <= most) return;
  bytes_.all -= found->second - most;
  found->second = most;
}

ReadProgress::Bytes ReadProgress::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

void ReadProgress::AddOnThread(absl::string_view path, int64_t bytes) {
  if (ReadProgress* const progress = Scope::current()) progress->Add(path, bytes);
}

void ReadProgress::ExpectOnThread(absl::string_view path, int64_t most) {
  if (ReadProgress* const progress = Scope::current()) progress->Expect(path, most);
}

}  // namespace sightline
