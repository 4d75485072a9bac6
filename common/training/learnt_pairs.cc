#include "common/training/learnt_pairs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// What cannot be read, of which the first are named.
class Unreadable {
 public:
  void Add(std::string problem) {
    ++count_;
    if (problems_.size() < kMostNamed) problems_.push_back(std::move(problem));
  }

  // InvalidArgument if there is any, of `all` that are `what`: the network cannot read them.
  absl::Status RefusedByNetwork(int64_t all, absl::string_view what) const {
    return Refusal(absl::StrCat("the network cannot read ", count_, " of ", all, " ", what,
                                "; leave them out, or take another model"));
  }
  // Likewise: whatever network is to read them.
  absl::Status RefusedByCorpus(int64_t all, absl::string_view what) const {
    return Refusal(absl::StrCat(count_, " of ", all, " ", what,
                                " cannot be had from their corpus; leave them out, or make its "
                                "files anew"));
  }

 private:
  static constexpr size_t kMostNamed = 10;

  absl::Status Refusal(absl::string_view what) const {
    if (count_ == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", absl::StrJoin(problems_, "; "),
                     count_ > static_cast<int64_t>(kMostNamed) ? "; ..." : ""));
  }

  int64_t count_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace

absl::Status LearntPairs::ReadCaptions() {
  Unreadable unreadable;
  for (int64_t i = 0; i < corpus_.caption_count(); ++i) {
    auto tokens = learner_.text->Tokenize(corpus_.caption(i));
    if (tokens.ok()) {
      tokens_.push_back(std::move(tokens->ids));
      continue;
    }
    tokens_.emplace_back();
    unreadable.Add(absl::StrCat("\"", corpus_.caption(i), "\" of ",
                                corpus_.item_id(corpus_.picture_of(i)), ": ",
                                tokens.status().message()));
  }
  return unreadable.RefusedByNetwork(corpus_.caption_count(), "captions");
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
  Unreadable for_all, for_network;
  for (int64_t i = 0; i < corpus_.picture_count(); ++i) {
    RETURN_IF_ERROR(call.Check("read the pictures"));
    const absl::StatusOr<ImageInput> input = corpus_.ReadPicture(i);
    // Damage is the file's, whatever network reads it, and another time it may be read.
    if (absl::IsDataLoss(input.status()) || absl::IsUnavailable(input.status())) {
      return input.status();
    }
    const auto read = input.ok() ? Read(i, *input) : absl::StatusOr<ImageNumbers>(input.status());
    if (read.ok()) {
      sizes_.push_back({static_cast<int32_t>(read->rows()), static_cast<int32_t>(read->ids.size()),
                        static_cast<int32_t>(input->regions.count),
                        static_cast<int32_t>(input->tags.size())});
      continue;
    }
    sizes_.emplace_back();
    (input.ok() ? for_network : for_all).Add(std::string(read.status().message()));
  }
  RETURN_IF_ERROR(for_all.RefusedByCorpus(corpus_.picture_count(), "pictures"));
  return for_network.RefusedByNetwork(corpus_.picture_count(), "pictures");
}

}  // namespace sightline
