#include "common/training/learnt_pairs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace sightline {

absl::Status LearntPairs::ReadCaptions() {
  for (int64_t i = 0; i < corpus_.caption_count(); ++i) {
    auto tokens = learner_.text->Tokenize(corpus_.caption(i));
    if (!tokens.ok()) {
      return absl::Status(tokens.status().code(),
                          absl::StrCat("a caption of ", corpus_.item_id(corpus_.picture_of(i)),
                                       ": ", tokens.status().message()));
    }
    tokens_.push_back(std::move(tokens->ids));
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageNumbers> LearntPairs::ReadImage(int64_t picture) const {
  ASSIGN_OR_RETURN(const ImageInput input, corpus_.ReadPicture(picture));
  return Read(picture, input);
}

absl::StatusOr<ImageNumbers> LearntPairs::Read(int64_t picture, const ImageInput& input) const {
  auto numbers = learner_.network->ReadImage(input);
  if (numbers.ok()) return numbers;
  return absl::Status(numbers.status().code(),
                      absl::StrCat(corpus_.item_id(picture), " ", numbers.status().message()));
}

absl::Status LearntPairs::ReadPictures(const CallContext& call) {
  constexpr size_t kMostNamed = 10;
  std::vector<std::string> problems;
  int64_t count = 0;
  for (int64_t i = 0; i < corpus_.picture_count(); ++i) {
    RETURN_IF_ERROR(call.Check("read the pictures"));
    const absl::StatusOr<ImageInput> input = corpus_.ReadPicture(i);
    // Damage is the file's, whatever network reads it.
    if (absl::IsDataLoss(input.status())) return input.status();
    const auto read = input.ok() ? Read(i, *input) : absl::StatusOr<ImageNumbers>(input.status());
    if (read.ok()) {
      sizes_.push_back({static_cast<int32_t>(read->rows()), static_cast<int32_t>(read->ids.size()),
                        static_cast<int32_t>(input->regions.count),
                        static_cast<int32_t>(input->tags.size())});
      continue;
    }
    sizes_.emplace_back();
    ++count;
    if (problems.size() < kMostNamed) problems.emplace_back(read.status().message());
  }
  if (count == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the network cannot read ", count, " of ", corpus_.picture_count(),
      " pictures; leave them out, or take another model: ", absl::StrJoin(problems, "; "),
      count > static_cast<int64_t>(kMostNamed) ? "; ..." : ""));
}

}  // namespace sightline
