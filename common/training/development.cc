#include "common/training/development.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/training/corpus_outputs.h"
#include "common/training/learnt_pairs.h"

namespace sightline {
namespace {

constexpr std::array<int64_t, 3> kCutoffs = {1, 5, 10};

absl::StatusOr<std::vector<TokenSpan>> ReadTexts(LearntPairs* pairs, int64_t count) {
  RETURN_IF_ERROR(pairs->ReadCaptions());
  std::vector<TokenSpan> texts;
  for (int64_t caption = 0; caption < count; ++caption) texts.push_back(pairs->text(caption));
  return texts;
}

absl::StatusOr<at::Tensor> TowerScores(const LearntPairs& pool, const std::vector<TokenSpan>& texts,
                                       int64_t pictures, const CallContext& call) {
  ASSIGN_OR_RETURN(const at::Tensor images, EmbedPictures(pool, 0, pictures, call));
  ASSIGN_OR_RETURN(const at::Tensor rows, EmbedTexts(pool.learner(), texts, call));
  return at::mm(rows, images.t());
}

absl::StatusOr<at::Tensor> PairScores(const LearntPairs& pool, const std::vector<TokenSpan>& texts,
                                      int64_t pictures, const CallContext& call) {
  const Network& network = *pool.learner().network;
  std::vector<FeatureRows> images;
  std::vector<int64_t> image_lengths;
  for (int64_t picture = 0; picture < pictures; ++picture) {
    RETURN_IF_ERROR(call.Check("look at the development pictures"));
    ASSIGN_OR_RETURN(const ImageNumbers numbers, pool.ReadImage(picture));
    images.push_back(network.PrepareImage(numbers));
    image_lengths.push_back(numbers.rows());
  }
  std::vector<at::Tensor> scores;
  for (const TokenSpan text : texts) {
    const PreparedText prepared = network.PrepareText(text);
    std::vector<NetworkPair> pairs;
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < images.size(); ++i) {
      pairs.push_back({text, &prepared, {images[i].begin(), images[i].end()}});
      lengths.push_back(static_cast<int64_t>(text.size()) + image_lengths[i]);
    }
    ASSIGN_OR_RETURN(scores.emplace_back(), ScorePrepared(pool.learner(), pairs, lengths, call));
  }
  return at::stack(scores);
}

// Of all processes' texts, of which each scores a part.
absl::StatusOr<at::Tensor> Scores(DevelopmentWay way, const LearntPairs& pool,
                                  const std::vector<TokenSpan>& texts, int64_t pictures,
                                  const CallContext& call, TrainingWorld* world) {
  const auto score = way == DevelopmentWay::kTowers ? &TowerScores : &PairScores;
  if (IsAlone(world)) return score(pool, texts, pictures, call);
  const WorldPart own = world->PartOf(static_cast<int64_t>(texts.size()));
  absl::StatusOr<at::Tensor> scores = at::empty({0, 0});
  if (own.count() > 0) {
    scores = score(pool, {texts.begin() + own.begin, texts.begin() + own.end}, pictures, call);
  }
  RETURN_IF_ERROR(world->Agree(scores.status()));
  ASSIGN_OR_RETURN(const GatheredRows all, world->GatherRows(*scores));
  return all.rows;
}

// Counts each query's best right answer.
class Recalls {
 public:
  void Add(int64_t rank) {
    ++queries_;
    for (size_t i = 0; i < kCutoffs.size(); ++i) hits_[i] += rank <= kCutoffs[i] ? 1 : 0;
  }
  DirectionRecall Percent() const {
    DirectionRecall recall;
    for (size_t i = 0; i < kCutoffs.size(); ++i) {
      recall.at[i] = 100.0 * static_cast<double>(hits_[i]) / static_cast<double>(queries_);
    }
    return recall;
  }

 private:
  std::array<int64_t, 3> hits_ = {};
  int64_t queries_ = 0;
};

// The rank of the best of the right places of a row of `count` scores, `stride` apart.
template <typename IsRight>
int64_t BestRank(const float* scores, int64_t count, int64_t stride, const IsRight& is_right) {
  float best = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (is_right(i)) best = std::max(best, scores[i * stride]);
  }
  int64_t rank = 1;
  for (int64_t i = 0; i < count; ++i) {
    // Negated, so that a score that is no number is never beaten.
    if (!is_right(i) && !(scores[i * stride] < best)) ++rank;
  }
  return rank;
}

DevelopmentFinding Find(const at::Tensor& matrix, const PairCorpus& corpus) {
  const at::Tensor scores = matrix.to(at::kCPU).contiguous();
  const float* const numbers = scores.data_ptr<float>();
  const int64_t captions = scores.size(0), pictures = scores.size(1);
  Recalls text_to_image, image_to_text;
  for (int64_t caption = 0; caption < captions; ++caption) {
    text_to_image.Add(BestRank(numbers + caption * pictures, pictures, 1, [&](int64_t picture) {
      return corpus.MayBeRight(caption, picture);
    }));
  }
  for (int64_t picture = 0; picture < pictures; ++picture) {
    image_to_text.Add(BestRank(numbers + picture, captions, pictures, [&](int64_t caption) {
      return corpus.MayBeRight(caption, picture);
    }));
  }
  DevelopmentFinding finding;
  finding.text_to_image = text_to_image.Percent();
  finding.image_to_text = image_to_text.Percent();
  for (size_t i = 0; i < kCutoffs.size(); ++i) {
    finding.score += (finding.text_to_image.at[i] + finding.image_to_text.at[i]) /
                     (2.0 * static_cast<double>(kCutoffs.size()));
  }
  return finding;
}

}  // namespace

absl::StatusOr<DevelopmentReport> LookAtDevelopment(const TrainableNetwork& learner,
                                                    const PairCorpus& corpus, int64_t pictures,
                                                    const std::vector<DevelopmentWay>& ways,
                                                    const CallContext& call, TrainingWorld* world) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(learner);
  DevelopmentReport report;
  report.pictures =
      pictures == 0 ? corpus.picture_count() : std::min(pictures, corpus.picture_count());
  const int64_t last = report.pictures - 1;
  report.captions = corpus.first_caption(last) + corpus.caption_count(last);
  LearntPairs pool(&corpus, &learner);
  ASSIGN_OR_RETURN(const std::vector<TokenSpan> texts, ReadTexts(&pool, report.captions));
  for (const DevelopmentWay way : ways) {
    ASSIGN_OR_RETURN(const at::Tensor scores,
                     Scores(way, pool, texts, report.pictures, call, world));
    report.findings.push_back(Find(scores, corpus));
    report.findings.back().way = way;
    report.score += report.findings.back().score / static_cast<double>(ways.size());
  }
  return report;
}

}  // namespace sightline
