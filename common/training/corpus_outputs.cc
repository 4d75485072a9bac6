#include "common/training/corpus_outputs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_map>

#include "common/base/status_macros.h"
#include "common/training/learner_outputs.h"
#include "common/training/passes.h"

namespace sightline {
namespace {

// Tokens and regions that are computed at once, enough to keep a device busy.
constexpr int64_t kPassRows = 4096;
// Pictures that are read before some are computed, to be sorted by length, and pairs, which have a
// picture each at worst: 100 regions of 2048 numbers make 200 MB of them.
constexpr int64_t kPicturesHeld = 256;
constexpr size_t kPairsHeld = 256;

using Numbers = std::vector<int64_t>;

// What `compute` makes of the items of each pass, a row each, in the items' order.
template <typename Compute>
absl::StatusOr<at::Tensor> InPasses(const Numbers& lengths, const CallContext& call,
                                    const Compute& compute) {
  std::vector<at::Tensor> rows;
  Numbers places(lengths.size());
  int64_t next = 0;
  for (const Numbers& pass : PassesOf(lengths, kPassRows)) {
    RETURN_IF_ERROR(call.Check("embed and score"));
    rows.push_back(compute(pass));
    for (const int64_t item : pass) places[item] = next++;
  }
  const at::Tensor all = at::cat(rows);
  return all.index_select(0, at::tensor(places, at::kLong).to(all.device()));
}

absl::StatusOr<std::vector<ImageNumbers>> ReadImages(const LearntPairs& pairs,
                                                     const Numbers& pictures) {
  std::vector<ImageNumbers> images;
  for (const int64_t picture : pictures) {
    ASSIGN_OR_RETURN(images.emplace_back(), pairs.ReadImage(picture));
  }
  return images;
}

absl::StatusOr<at::Tensor> EmbedImages(const TrainableNetwork& learner,
                                       const std::vector<ImageNumbers>& images,
                                       const CallContext& call) {
  const Network& network = *learner.network;
  Numbers lengths;
  for (const ImageNumbers& image : images) {
    const ItemShape shape = network.ImageShape(image);
    lengths.push_back(shape.text_rows + shape.region_rows);
  }
  return InPasses(lengths, call, [&](const Numbers& pass) {
    std::vector<const ImageNumbers*> part;
    for (const int64_t item : pass) part.push_back(&images[item]);
    return ComparedRows(learner, network.EncodeImages(part));
  });
}

// What captions and pictures bring to pairs, made once for each.
class Prepared {
 public:
  explicit Prepared(const LearntPairs& pairs) : pairs_(pairs) {}

  absl::Status Add(int64_t caption, int64_t picture) {
    const Network& network = *pairs_.learner().network;
    if (texts_.count(caption) == 0) {
      texts_[caption] = network.PrepareText(pairs_.text(caption));
    }
    if (images_.count(picture) > 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ImageNumbers numbers, pairs_.ReadImage(picture));
    images_[picture] = {network.PrepareImage(numbers), numbers.rows()};
    return absl::OkStatus();
  }
  NetworkPair Pair(int64_t caption, int64_t picture) const {
    const FeatureRows& rows = images_.at(picture).rows;
    return {pairs_.text(caption), &texts_.at(caption), {rows.begin(), rows.end()}};
  }
  int64_t Length(int64_t caption, int64_t picture) const {
    return static_cast<int64_t>(pairs_.text(caption).size()) + images_.at(picture).length;
  }

 private:
  struct Image {
    FeatureRows rows;
    int64_t length = 0;
  };

  const LearntPairs& pairs_;
  std::unordered_map<int64_t, PreparedText> texts_;
  std::unordered_map<int64_t, Image> images_;
};

}  // namespace

absl::StatusOr<at::Tensor> EmbedTexts(const TrainableNetwork& learner,
                                      const std::vector<TokenSpan>& texts,
                                      const CallContext& call) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(learner);
  const Network& network = *learner.network;
  Numbers lengths;
  for (const TokenSpan text : texts) {
    lengths.push_back(network.TextShape(static_cast<int64_t>(text.size())).text_rows);
  }
  return InPasses(lengths, call, [&](const Numbers& pass) {
    std::vector<TokenSpan> part;
    for (const int64_t item : pass) part.push_back(texts[item]);
    return ComparedRows(learner, network.EncodeTexts(part));
  });
}

absl::StatusOr<at::Tensor> EmbedPictures(const LearntPairs& pairs, int64_t begin, int64_t end,
                                         const CallContext& call) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(pairs.learner());
  std::vector<at::Tensor> parts;
  for (; begin < end; begin += kPicturesHeld) {
    Numbers pictures;
    for (int64_t i = begin; i < std::min(begin + kPicturesHeld, end); ++i) pictures.push_back(i);
    ASSIGN_OR_RETURN(const std::vector<ImageNumbers> images, ReadImages(pairs, pictures));
    ASSIGN_OR_RETURN(parts.emplace_back(), EmbedImages(pairs.learner(), images, call));
  }
  return at::cat(parts);
}

absl::StatusOr<at::Tensor> ScorePrepared(const TrainableNetwork& learner,
                                         const std::vector<NetworkPair>& pairs,
                                         const std::vector<int64_t>& lengths,
                                         const CallContext& call) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(learner);
  return InPasses(lengths, call, [&](const Numbers& pass) {
    std::vector<NetworkPair> part;
    for (const int64_t item : pass) part.push_back(pairs[item]);
    return RankingScores(learner.network->ScorePairs(part));
  });
}

absl::StatusOr<at::Tensor> ScoreCaptioned(const LearntPairs& pairs,
                                          absl::Span<const std::pair<int64_t, int64_t>> captioned,
                                          const CallContext& call) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(pairs.learner());
  std::vector<at::Tensor> scores;
  for (size_t begin = 0; begin < captioned.size(); begin += kPairsHeld) {
    Prepared prepared(pairs);
    std::vector<NetworkPair> network_pairs;
    Numbers lengths;
    for (const auto& [caption, picture] : captioned.subspan(begin, kPairsHeld)) {
      RETURN_IF_ERROR(prepared.Add(caption, picture));
      network_pairs.push_back(prepared.Pair(caption, picture));
      lengths.push_back(prepared.Length(caption, picture));
    }
    ASSIGN_OR_RETURN(scores.emplace_back(),
                     ScorePrepared(pairs.learner(), network_pairs, lengths, call));
  }
  return at::cat(scores);
}

}  // namespace sightline
