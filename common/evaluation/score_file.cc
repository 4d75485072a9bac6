#include "common/evaluation/score_file.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/formats/npy.h"

namespace sightline {
namespace {

absl::Status CheckArray(const NpyArray& array, int64_t images, int64_t captions) {
  if (array.type != NpyType::kFloat32) {
    return absl::InvalidArgumentError("is not float32, which numpy.float32(scores) is");
  }
  if (array.shape != std::vector<int64_t>{images, captions}) {
    const bool transposed = array.shape == std::vector<int64_t>{captions, images};
    return absl::InvalidArgumentError(
        absl::StrCat("has the shape (", absl::StrJoin(array.shape, ", "), "), not (", images, ", ",
                     captions, "), a row for each image and a column for each caption",
                     transposed ? "; save its transpose" : ""));
  }
  if (reinterpret_cast<uintptr_t>(array.data.data()) % alignof(float) != 0) {
    return absl::InvalidArgumentError(
        "has numbers that do not begin at a multiple of 4 bytes, as those of numpy.save do");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScoreFile>> ScoreFile::Open(const std::string& path,
                                                           const MatrixItems& items) {
  auto scores = absl::WrapUnique(new ScoreFile);
  ASSIGN_OR_RETURN(scores->file_, MappedFile::Open(path));
  ASSIGN_OR_RETURN(const NpyArray array, Within(path, ParseNpy(scores->file_->bytes())));
  const auto images = static_cast<int64_t>(items.images.size());
  const auto captions = static_cast<int64_t>(items.captions.size());
  RETURN_IF_ERROR(Within(path, CheckArray(array, images, captions)));
  const auto* const values = reinterpret_cast<const float*>(array.data.data());
  scores->matrix_ = ScoreMatrix({values, static_cast<size_t>(images * captions)}, images, captions,
                                /*by_columns=*/array.fortran_order);
  return scores;
}

}  // namespace sightline
