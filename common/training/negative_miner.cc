#include "common/training/negative_miner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
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

// So many are computed at once, whatever the number of processes: what is near is then the same to
// the bit, also where two are equally near.
constexpr int64_t kAtOnce = 64;

// What `make` makes of `count` items, kAtOnce at a time, of which each process makes its part.
// Nothing is exchanged before all have succeeded.
absl::StatusOr<at::Tensor> OfAllProcesses(
    int64_t count, TrainingWorld* world,
    const std::function<absl::StatusOr<at::Tensor>(const WorldPart& items)>& make) {
  const WorldPart own = world->PartOf((count + kAtOnce - 1) / kAtOnce);
  std::vector<at::Tensor> parts;
  absl::Status status;
  for (int64_t i = own.begin; i < own.end && status.ok(); ++i) {
    auto made = make({i * kAtOnce, std::min(count, (i + 1) * kAtOnce)});
    status = made.status();
    if (made.ok()) parts.push_back(*std::move(made));
  }
  RETURN_IF_ERROR(world->Agree(status));
  ASSIGN_OR_RETURN(const GatheredRows all,
                   world->GatherRows(parts.empty() ? at::empty({0, 0}) : at::cat(parts)));
  return all.rows;
}

// NearestRows of all queries.
absl::StatusOr<std::vector<int64_t>> NearestOfAll(
    const at::Tensor& queries, const at::Tensor& pool, int64_t kept, TrainingWorld* world,
    const std::function<bool(int64_t query, int64_t row)>& is_wrong) {
  ASSIGN_OR_RETURN(
      const at::Tensor rows, OfAllProcesses(queries.size(0), world, [&](const WorldPart& items) {
        std::vector<int64_t> nearest = NearestRows(
            queries.narrow(0, items.begin, items.count()), pool, kept,
            [&](int64_t query, int64_t row) { return is_wrong(items.begin + query, row); });
        return WhereItLies(&nearest).view({items.count(), kept}).clone();
      }));
  const at::Tensor flat = rows.flatten();
  return std::vector<int64_t>(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
}

}  // namespace

absl::StatusOr<NearestWrong> MineNearest(const LearntPairs& pairs, int64_t kept,
                                         TrainingWorld* world, const CallContext& call) {
  const PairCorpus& corpus = pairs.corpus();
  ASSIGN_OR_RETURN(const at::Tensor captions,
                   OfAllProcesses(corpus.caption_count(), world, [&](const WorldPart& items) {
                     std::vector<TokenSpan> texts;
                     for (int64_t i = items.begin; i < items.end; ++i)
                       texts.push_back(pairs.text(i));
                     return EmbedTexts(pairs.learner(), texts, call);
                   }));
  ASSIGN_OR_RETURN(const at::Tensor pictures,
                   OfAllProcesses(corpus.picture_count(), world, [&](const WorldPart& items) {
                     return EmbedPictures(pairs, items.begin, items.end, call);
                   }));
  NearestWrong nearest;
  nearest.kept = kept;
  ASSIGN_OR_RETURN(nearest.pictures, NearestOfAll(captions, pictures, kept, world,
                                                  [&](int64_t caption, int64_t picture) {
                                                    return !corpus.MayBeRight(caption, picture);
                                                  }));
  ASSIGN_OR_RETURN(nearest.captions, NearestOfAll(pictures, captions, kept, world,
                                                  [&](int64_t picture, int64_t caption) {
                                                    return !corpus.MayBeRight(caption, picture);
                                                  }));
  return nearest;
}

NegativeMiner::NegativeMiner(const LearntPairs* pairs, const MiningOptions& options,
                             TrainingWorld* world)
    : pairs_(*pairs), options_(options), world_(*world) {
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
  ASSIGN_OR_RETURN(nearest_, MineNearest(pairs_, options_.kept, &world_, call));
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
