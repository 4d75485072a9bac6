#include "common/training/negative_miner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/training/corpus_outputs.h"
#include "common/training/nearest_rows.h"

namespace sightline {
namespace {

at::Tensor WhereItLies(std::vector<int64_t>* numbers) {
  return at::from_blob(numbers->data(), {static_cast<int64_t>(numbers->size())}, at::kLong);
}

// Whether each number is one of `count` items or -1.
bool AreItems(const std::vector<int64_t>& numbers, int64_t count) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [count](int64_t number) { return number >= -1 && number < count; });
}

}  // namespace

absl::StatusOr<NearestWrong> MineNearest(const LearntPairs& pairs, int64_t kept,
                                         const CallContext& call) {
  const PairCorpus& corpus = pairs.corpus();
  std::vector<TokenSpan> texts;
  for (int64_t i = 0; i < corpus.caption_count(); ++i) texts.push_back(pairs.text(i));
  ASSIGN_OR_RETURN(const at::Tensor captions, EmbedTexts(pairs.learner(), texts, call));
  ASSIGN_OR_RETURN(const at::Tensor pictures, EmbedPictures(pairs, corpus.picture_count(), call));
  NearestWrong nearest;
  nearest.kept = kept;
  nearest.pictures = NearestRows(captions, pictures, kept, [&](int64_t caption, int64_t picture) {
    return !corpus.MayBeRight(caption, picture);
  });
  nearest.captions = NearestRows(pictures, captions, kept, [&](int64_t picture, int64_t caption) {
    return !corpus.MayBeRight(caption, picture);
  });
  return nearest;
}

NegativeMiner::NegativeMiner(const LearntPairs* pairs, const MiningOptions& options)
    : pairs_(*pairs), options_(options) {
  nearest_.kept = options.kept;
  nearest_.pictures.assign(pairs->corpus().caption_count() * options.kept, -1);
  nearest_.captions.assign(pairs->corpus().picture_count() * options.kept, -1);
}

absl::Status NegativeMiner::Check() const {
  if (pairs_.learner().has_towers) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "nearest wrong ones are found by embeddings, and the network makes none; name a retriever "
      "that does");
}

absl::Status NegativeMiner::MineIfDue(int64_t step, const CallContext& call) {
  const bool is_due =
      mined_step_ < 0 || (options_.every > 0 && step % options_.every == 0 && step != mined_step_);
  if (!is_due) return absl::OkStatus();
  ASSIGN_OR_RETURN(nearest_, MineNearest(pairs_, options_.kept, call));
  mined_step_ = step;
  return absl::OkStatus();
}

std::map<std::string, at::Tensor> NegativeMiner::State() {
  return {{"mined/pictures", WhereItLies(&nearest_.pictures)},
          {"mined/captions", WhereItLies(&nearest_.captions)},
          {"mined/step", at::from_blob(&mined_step_, {1}, at::kLong)}};
}

bool NegativeMiner::CanBe(int64_t step) const {
  return mined_step_ >= 0 && mined_step_ <= step &&
         AreItems(nearest_.pictures, pairs_.corpus().picture_count()) &&
         AreItems(nearest_.captions, pairs_.corpus().caption_count());
}

}  // namespace sightline
