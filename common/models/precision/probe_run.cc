#include "common/models/precision/probe_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_probes.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;
using bundle::v1::PrecisionScores;

// Texts that should fit the budget, so that an agreement is one of more than chance.
constexpr int kTextsWanted = 5;

absl::Duration Median(std::vector<absl::Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

ProbeRun::ProbeRun(const Model& model, const ModelProbes& probes, Clock* clock,
                   const CallContext& call)
    : model_(model), probes_(probes), clock_(clock), call_(call) {
  if (!scores_pairs()) return;
  for (const auto& item : probes.items()) items_.push_back(FeaturesOf(item));
}

bool ProbeRun::scores_pairs() const {
  return model_.cross_encoder() != nullptr && probes_.items(0).features_size() > 0;
}

bool ProbeRun::encodes_texts() const {
  return model_.text_encoder() != nullptr && probes_.items(0).embedding_size() > 0;
}

absl::StatusOr<int> ProbeRun::ItemsWithin(absl::Duration budget) {
  const std::string& text = probes_.texts(0).text();
  RETURN_IF_ERROR(ScoresOfPairs(text, 1).status());
  const absl::Time before = clock_->Now();
  RETURN_IF_ERROR(ScoresOfPairs(text, kLeastProbeItems).status());
  const absl::Duration of_least = std::max(clock_->Now() - before, absl::Nanoseconds(1));
  const double share = absl::FDivDuration(budget / kTextsWanted, of_least);
  const int within = static_cast<int>(std::min<double>(share * kLeastProbeItems, kMostProbeItems));
  return std::clamp(within, kLeastProbeItems, probes_.items_size());
}

template <typename Score>
absl::StatusOr<PrecisionScores> ProbeRun::Run(const Score& score, absl::Duration budget,
                                              int* text_count) const {
  RETURN_IF_ERROR(score(probes_.texts(0).text()).status());
  PrecisionScores scores;
  std::vector<absl::Duration> times;
  const absl::Time began = clock_->Now();
  for (int text = 0; text < *text_count; ++text) {
    const absl::Time before = clock_->Now();
    if (text >= kLeastProbeTexts && before - began > budget) {
      *text_count = text;
      break;
    }
    ASSIGN_OR_RETURN(const std::vector<float> of_text, score(probes_.texts(text).text()));
    times.push_back(clock_->Now() - before);
    scores.mutable_scores()->Add(of_text.begin(), of_text.end());
  }
  scores.set_seconds(absl::ToDoubleSeconds(Median(std::move(times))));
  return scores;
}

absl::StatusOr<PrecisionScores> ProbeRun::ScorePairs(int item_count, absl::Duration budget,
                                                     int* text_count) {
  const auto score = [&](const std::string& text) { return ScoresOfPairs(text, item_count); };
  ASSIGN_OR_RETURN(PrecisionScores scores, Run(score, budget, text_count));
  scores.set_seconds(scores.seconds() / item_count);
  return scores;
}

absl::StatusOr<PrecisionScores> ProbeRun::EncodeTexts(int item_count, absl::Duration budget,
                                                      int* text_count) {
  return Run([&](const std::string& text) { return ScoresOfText(text, item_count); }, budget,
             text_count);
}

absl::StatusOr<std::vector<float>> ProbeRun::ScoresOfPairs(const std::string& text,
                                                           int item_count) const {
  ASSIGN_OR_RETURN(const ItemFeatures features, TextFeatures(model_, text));
  std::vector<ScoringPair> pairs;
  for (int i = 0; i < item_count; ++i) pairs.push_back({&features, &items_[i]});
  return model_.cross_encoder()->Score(pairs, call_);
}

absl::StatusOr<std::vector<float>> ProbeRun::ScoresOfText(const std::string& text,
                                                          int item_count) const {
  ASSIGN_OR_RETURN(const Tokens tokens, model_.Tokenize(text));
  ASSIGN_OR_RETURN(const EmbeddingMatrix embedding,
                   model_.text_encoder()->Encode(absl::MakeConstSpan(&tokens, 1), call_));
  const auto row = embedding.row(0);
  std::vector<float> scores;
  for (int i = 0; i < item_count; ++i) {
    const auto& item = probes_.items(i).embedding();
    if (item.size() != static_cast<int>(row.size())) {
      return absl::InvalidArgumentError(absl::StrCat("model ", model_.id(),
                                                     ": its probes' embeddings have ", item.size(),
                                                     " numbers, its own ", row.size()));
    }
    double product = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      product += static_cast<double>(row[j]) * item[static_cast<int>(j)];
    }
    scores.push_back(static_cast<float>(product));
  }
  return scores;
}

}  // namespace sightline
