#include "services/corpus_encoder/picture_scanner.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/item_content.h"

namespace sightline {
namespace {

class PictureScanner {
 public:
  PictureScanner(absl::Span<const ScannedPicture> pictures, const ScanOptions& options,
                 const CallContext& call, Progress* progress)
      : pictures_(pictures), options_(options), call_(call), progress_(progress) {
    scan_.sha256.resize(pictures.size());
    scan_.reasons.resize(pictures.size());
  }

  absl::StatusOr<PictureScan> Run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.threads; ++i) threads.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(error_);
    scan_.byte_count = byte_count_;
    return std::move(scan_);
  }

 private:
  void Work() {
    while (!failed_) {
      const size_t i = next_++;
      if (i >= pictures_.size()) return;
      const absl::Status status = ScanOne(i);
      progress_->Advance(1);
      if (status.ok()) continue;
      failed_ = true;
      MutexLock lock(mutex_);
      if (error_.ok()) error_ = status;
    }
  }

  absl::Status ScanOne(size_t i) {
    RETURN_IF_ERROR(call_.Check("reading the corpus"));
    const ScannedPicture& picture = pictures_[i];
    absl::StatusOr<ItemContent> content = ReadContent(picture, options_.max_picture_bytes);
    if (!content.ok()) {
      if (!BlamesPicture(content.status())) return content.status();
      scan_.reasons[i] = std::string(content.status().message());
      return absl::OkStatus();
    }
    scan_.sha256[i] = std::move(content->sha256);
    byte_count_ += content->byte_count;
    return absl::OkStatus();
  }

  const absl::Span<const ScannedPicture> pictures_;
  const ScanOptions options_;
  const CallContext call_;
  Progress* const progress_;
  PictureScan scan_;  // each entry is written by the thread that took its picture
  std::atomic<size_t> next_{0};
  std::atomic<int64_t> byte_count_{0};
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  absl::Status error_ GUARDED_BY(mutex_);
};

}  // namespace

bool BlamesPicture(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status);
}

absl::StatusOr<PictureScan> ScanPictures(absl::Span<const ScannedPicture> pictures,
                                         const ScanOptions& options, const CallContext& call,
                                         Progress* progress) {
  return PictureScanner(pictures, options, call, progress).Run();
}

}  // namespace sightline
