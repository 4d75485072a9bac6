#include "services/trainer/picture_squarer.h"

#include "common/base/compute_pool.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"
#include "services/trainer/byte_budget.h"
#include "services/trainer/square_picture.h"

namespace sightline {
namespace {

absl::StatusOr<std::string> Decoded(const std::string& encoded, const SquaringOptions& options,
                                    PictureFingerprint* print) {
  ASSIGN_OR_RETURN(const Pixels pixels, DecodeImage(encoded, options.limits));
  *print = FingerprintOf(pixels);
  return SquareBytes(pixels, options.image_size);
}

absl::StatusOr<std::string> Squared(const ListedPicture& picture, const SquaringOptions& options,
                                    ByteBudget& budget, PictureFingerprint* print) {
  ASSIGN_OR_RETURN(const std::string encoded,
                   picture.reader->ReadPicture(picture.item, options.limits.max_bytes));
  ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(encoded, options.limits));
  const int64_t cost = int64_t{header.width} * header.height * kBytesPerPixel;
  budget.Take(cost);
  absl::StatusOr<std::string> squared = Decoded(encoded, options, print);
  budget.Return(cost);
  return squared;
}

}  // namespace

absl::StatusOr<std::vector<SquaredPicture>> SquarePictures(
    absl::Span<const ListedPicture> pictures, const SquaringOptions& options,
    const std::function<absl::Status(int64_t index, absl::string_view bytes)>& store,
    const CallContext& call, Progress* progress) {
  ByteBudget budget(options.max_decode_bytes);
  Mutex storing;
  std::vector<SquaredPicture> results(pictures.size());  // each written by the thread that took it
  const auto square = [&](size_t i) -> absl::Status {
    ComputePool::SingleThreadedLibraries();
    RETURN_IF_ERROR(call.Check("reading pictures"));
    const absl::StatusOr<std::string> bytes =
        Squared(pictures[i], options, budget, &results[i].fingerprint);
    if (bytes.ok()) {
      MutexLock lock(storing);
      RETURN_IF_ERROR(store(static_cast<int64_t>(i), *bytes));
    } else if (BlamesPicture(bytes.status())) {
      results[i].problem = std::string(bytes.status().message());
    } else {
      return bytes.status();
    }
    progress->Advance(1);
    return absl::OkStatus();
  };
  progress->Begin("read", "pictures", static_cast<int64_t>(pictures.size()));
  const absl::Status status = WorkOnThreads(options.threads, pictures.size(), square);
  progress->End();
  RETURN_IF_ERROR(status);
  return results;
}

}  // namespace sightline
