#include "services/trainer/picture_squarer.h"

#include <atomic>
#include <thread>
#include <utility>

#include "common/base/compute_pool.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "services/trainer/square_picture.h"

namespace sightline {
namespace {

// Errors that say something of the picture, not of the machine.
bool BlamesPicture(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status);
}

// Bytes that may be in use at one time.
class ByteBudget {
 public:
  explicit ByteBudget(int64_t limit) : limit_(limit) {}

  // Waits until there is room, or until nobody else holds any.
  void Take(int64_t bytes) {
    MutexLock lock(mutex_);
    while (used_ > 0 && used_ + bytes > limit_) freed_.Wait(mutex_);
    used_ += bytes;
  }

  void Return(int64_t bytes) {
    {
      MutexLock lock(mutex_);
      used_ -= bytes;
    }
    freed_.NotifyAll();
  }

 private:
  const int64_t limit_;
  Mutex mutex_;
  CondVar freed_;
  int64_t used_ GUARDED_BY(mutex_) = 0;
};

class Squarer {
 public:
  Squarer(absl::Span<const ListedPicture> pictures, const SquaringOptions& options,
          const std::function<absl::Status(int64_t, absl::string_view)>& store,
          const CallContext& call, Progress* progress)
      : pictures_(pictures),
        options_(options),
        store_(store),
        call_(call),
        progress_(progress),
        budget_(options.max_decode_bytes),
        results_(pictures.size()) {}

  absl::StatusOr<std::vector<SquaredPicture>> Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(mutex_);
    if (!error_.ok()) return error_;
    return std::move(results_);
  }

 private:
  void Work() {
    ComputePool::SingleThreadedLibraries();
    while (!failed_) {
      const size_t i = next_++;
      if (i >= pictures_.size()) return;
      const absl::Status status = SquareOne(static_cast<int64_t>(i));
      if (status.ok()) {
        progress_->Advance(1);
        continue;
      }
      failed_ = true;
      MutexLock lock(mutex_);
      if (error_.ok()) error_ = status;
    }
  }

  absl::Status SquareOne(int64_t i) {
    RETURN_IF_ERROR(call_.Check("reading pictures"));
    absl::StatusOr<std::string> bytes = Squared(pictures_[i], &results_[i].fingerprint);
    if (bytes.ok()) {
      MutexLock lock(mutex_);
      return store_(i, *bytes);
    }
    if (!BlamesPicture(bytes.status())) return bytes.status();
    results_[i].problem = std::string(bytes.status().message());
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Squared(const ListedPicture& picture, PictureFingerprint* print) {
    ASSIGN_OR_RETURN(const std::string encoded,
                     picture.reader->ReadPicture(picture.item, options_.limits.max_bytes));
    ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(encoded, options_.limits));
    const int64_t cost = int64_t{header.width} * header.height * kBytesPerPixel;
    budget_.Take(cost);
    absl::StatusOr<std::string> squared = Decoded(encoded, print);
    budget_.Return(cost);
    return squared;
  }

  absl::StatusOr<std::string> Decoded(const std::string& encoded, PictureFingerprint* print) const {
    ASSIGN_OR_RETURN(const Pixels pixels, DecodeImage(encoded, options_.limits));
    *print = FingerprintOf(pixels);
    return SquareBytes(pixels, options_.image_size);
  }

  const absl::Span<const ListedPicture> pictures_;
  const SquaringOptions options_;
  const std::function<absl::Status(int64_t, absl::string_view)>& store_ GUARDED_BY(mutex_);
  const CallContext call_;
  Progress* const progress_;
  ByteBudget budget_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::vector<SquaredPicture> results_;  // each written by the thread that took it
  Mutex mutex_;
  absl::Status error_ GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::vector<SquaredPicture>> SquarePictures(
    absl::Span<const ListedPicture> pictures, const SquaringOptions& options,
    const std::function<absl::Status(int64_t index, absl::string_view bytes)>& store,
    const CallContext& call, Progress* progress) {
  progress->Begin("read", "pictures", static_cast<int64_t>(pictures.size()));
  absl::StatusOr<std::vector<SquaredPicture>> squared =
      Squarer(pictures, options, store, call, progress).Run();
  progress->End();
  return squared;
}

}  // namespace sightline
