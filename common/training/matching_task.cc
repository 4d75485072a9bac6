#include "common/training/matching_task.h"

#include <ATen/ATen.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/models/network/masked_network.h"
#include "common/models/network/padded_rows.h"
#include "common/models/network/row_dropout.h"
#include "common/training/item_keys.h"
#include "common/training/learner_outputs.h"
#include "common/training/objectives/transport.h"
#include "common/training/pair_sampler.h"
#include "common/training/passes.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

class MatchingTask : public RecipeTask {
 public:
  MatchingTask(const Objective& objective, const TaskSetting& setting, size_t i)
      : RecipeTask(&objective),
        setting_(setting),
        recipe_(setting.recipe->tasks[i]),
        pairs_(*setting.pairs),
        masked_(MaskedNetworkOf(*pairs_.learner().network)),
        seed_(SeedOfTask(setting, i)),
        sampler_(SamplerOf(setting, i, WantedBy(recipe_, pairs_))) {
    if (recipe_.wrong_tags == 0) return;
    for (int64_t picture = 0; picture < pairs_.corpus().picture_count(); ++picture) {
      if (pairs_.tag_count(picture) > 0) tagged_.push_back(picture);
    }
  }

  absl::StatusOr<TaskStep> AddGradients(int64_t number, const CallContext& call) override {
    const std::vector<ShownPair> all = Draw(number);
    TaskStep step;
    ASSIGN_OR_RETURN(step.loss, SumOverWorld(OwnLoss(all, number, call), setting_.world));
    step.items = static_cast<int64_t>(all.size());
    return step;
  }

 private:
  struct ShownPair {
    int64_t caption = 0, picture = 0;
    int64_t tags_of = 0;   // the picture whose tags are shown
    bool belongs = true;   // caption and picture
    bool has_tags = true;  // the picture's own, or equal ones

    bool matches() const { return belongs && has_tags; }
  };

  // Where tags are changed, pictures that have some: else none would tell a pair that is right.
  static std::function<bool(int64_t picture)> WantedBy(const TaskRecipe& recipe,
                                                       const LearntPairs& pairs) {
    if (recipe.wrong_tags == 0) return nullptr;
    return [&pairs](int64_t picture) { return pairs.tag_count(picture) > 0; };
  }

  // Of this process's part of them.
  absl::StatusOr<Loss> OwnLoss(const std::vector<ShownPair>& all, int64_t number,
                               const CallContext& call) const {
    const WorldPart own = setting_.PartOf(all.size());
    std::vector<ShownPair> shown(all.begin() + own.begin, all.begin() + own.end);
    std::vector<ImageNumbers> images;
    std::vector<int64_t> lengths;
    for (ShownPair& pair : shown) {
      ASSIGN_OR_RETURN(images.emplace_back(), pairs_.ReadImage(pair.picture));
      RETURN_IF_ERROR(ChangeTags(&pair, &images.back()));
      lengths.push_back(static_cast<int64_t>(pairs_.text(pair.caption).size()) +
                        images.back().rows());
    }
    const uint64_t seed = SeedOf(seed_, RandomStream::kDropout, number);
    Loss sum;
    for (const std::vector<int64_t>& pass : PassesOf(lengths, setting_.recipe->pass_rows)) {
      if (pass.empty()) continue;  // a process has none of a small batch
      RETURN_IF_ERROR(call.Check("train"));
      ASSIGN_OR_RETURN(const Loss loss, LossOf(pass, shown, images, seed));
      sum = AddedUp(sum, loss, static_cast<double>(pass.size()) / static_cast<double>(all.size()));
    }
    return sum;
  }

  // Shows the other picture's tags, if they are another's.  Where what is read of them is equal, as
  // nothing is beside a long caption, the pair is right after all.
  absl::Status ChangeTags(ShownPair* pair, ImageNumbers* image) const {
    if (pair->tags_of == pair->picture) return absl::OkStatus();
    ASSIGN_OR_RETURN(ImageNumbers other, pairs_.ReadImage(pair->tags_of));
    const auto text = static_cast<int64_t>(pairs_.text(pair->caption).size());
    const auto read = [&](const ImageNumbers& of) {
      return absl::MakeConstSpan(of.ids).subspan(0, masked_->TagsReadBeside(of, text));
    };
    pair->has_tags = read(other) == read(*image);
    image->ids = std::move(other.ids);
    return absl::OkStatus();
  }

  // A picture with tags that is wrong for the caption; where some draws find none, its own.
  int64_t OtherTagged(int64_t caption, int64_t picture, Random* random) const {
    constexpr int kMostDraws = 20;
    for (int i = 0; i < kMostDraws; ++i) {
      const int64_t other = tagged_[random->Below(static_cast<int64_t>(tagged_.size()))];
      if (!pairs_.corpus().MayBeRight(caption, other)) return other;
    }
    return picture;
  }

  // Captions, each with its picture, or one of the two, or the tags, changed for one that is wrong.
  std::vector<ShownPair> Draw(int64_t number) {
    std::vector<ShownPair> shown;
    for (const int64_t caption : DrawBatch(recipe_, number, &sampler_).captions) {
      const int64_t picture = pairs_.corpus().picture_of(caption);
      ShownPair pair = {caption, picture, picture};
      Random random(RowSeed(seed_, RandomStream::kMismatches, number, caption));
      if (random.Chance(recipe_.wrong_share)) {
        // Nothing is drawn for what a recipe does not ask for: others draw as they always did.
        const bool by_tags = recipe_.wrong_tags > 0 && random.Chance(recipe_.wrong_tags);
        if (by_tags) {
          pair.tags_of = OtherTagged(caption, picture, &random);
        } else if (random.Chance(recipe_.text_negatives)) {
          pair.caption = sampler_.WrongCaption(picture, &random);
        } else {
          pair.picture = pair.tags_of = recipe_.wrong_tags > 0
                                            ? OtherTagged(caption, picture, &random)
                                            : sampler_.WrongPicture(caption, &random);
        }
        pair.belongs = pair.caption == caption && pair.picture == picture;
      }
      shown.push_back(pair);
    }
    return shown;
  }

  absl::StatusOr<Loss> LossOf(const std::vector<int64_t>& pass, const std::vector<ShownPair>& shown,
                              const std::vector<ImageNumbers>& images, uint64_t seed) const {
    std::vector<TokenSpan> texts;
    std::vector<const ImageNumbers*> of_pass;
    std::vector<int64_t> matches, signs;
    for (const int64_t i : pass) {
      texts.push_back(pairs_.text(shown[i].caption));
      of_pass.push_back(&images[i]);
      matches.push_back(shown[i].matches() ? 1 : 0);
      signs.push_back(shown[i].belongs ? 1 : -1);
    }
    const Judged judged =
        recipe_.alignment > 0 ? Aligned(texts, of_pass, seed) : Scored(texts, of_pass, seed);
    const at::Tensor logits = PairLogitsOf(pairs_.learner(), judged.heads);
    const at::Tensor labels = at::tensor(matches, at::kLong).to(logits.device());
    ASSIGN_OR_RETURN(Loss loss, ComputeLoss(objective(), Predictions{logits, labels},
                                            OptionsOf(objective(), recipe_)));
    if (judged.distances.defined()) {
      const at::Tensor drawn_together = at::tensor(signs, at::kLong).to(logits.device());
      loss.value = loss.value + recipe_.alignment * (judged.distances * drawn_together).mean();
    }
    return loss;
  }

  // What the network makes of pairs.
  struct Judged {
    at::Tensor heads;      // B x 2 or B x 1
    at::Tensor distances;  // between words and regions, B; undefined where nobody asks
  };

  Judged Scored(const std::vector<TokenSpan>& texts, const std::vector<const ImageNumbers*>& images,
                uint64_t seed) const {
    const Network& network = *pairs_.learner().network;
    const PreparedItems items = PreparedForPairs(network, texts, images, seed);
    std::vector<NetworkPair> network_pairs;
    for (size_t k = 0; k < texts.size(); ++k) {
      const FeatureRows& image = items.images[k];
      network_pairs.push_back({texts[k], &items.texts[k], {image.begin(), image.end()}});
    }
    const DropoutScope scope(seed, KeysOfPairs(texts, images));
    return {network.ScorePairs(network_pairs), {}};
  }

  Judged Aligned(const std::vector<TokenSpan>& texts,
                 const std::vector<const ImageNumbers*>& images, uint64_t seed) const {
    std::vector<ShownImage> shown;
    for (const ImageNumbers* image : images) shown.push_back({image, {}});
    const DropoutScope scope(seed, KeysOfPairs(texts, images));
    const LastRows last = masked_->PairRows(texts, shown, {});
    const at::Tensor rows = last.All();
    std::vector<int64_t> words, regions;
    for (size_t k = 0; k < texts.size(); ++k) {
      words.push_back(static_cast<int64_t>(texts[k].size()));
      regions.push_back(images[k]->regions.count);
    }
    const at::Tensor first =
        rows.index_select(0, at::tensor(last.text, at::kLong).to(rows.device()));
    return {masked_->PairScores(first), TransportDistances(ItemsAt(rows, last.text, words),
                                                           ItemsAt(rows, last.regions, regions))};
  }

  // Of each item `counts` rows from where they begin.
  static PaddedItems ItemsAt(const at::Tensor& rows, const std::vector<int64_t>& begins,
                             const std::vector<int64_t>& counts) {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < begins.size(); ++i) {
      for (int64_t row = 0; row < counts[i]; ++row) numbers.push_back(begins[i] + row);
    }
    const PaddedRows padding(counts, rows.device());
    const at::Tensor which = at::tensor(numbers, at::kLong).to(rows.device());
    return {padding.Pad(rows.index_select(0, which)), padding.mask()};
  }

  static std::vector<uint64_t> KeysOfPairs(const std::vector<TokenSpan>& texts,
                                           const std::vector<const ImageNumbers*>& images) {
    std::vector<uint64_t> keys;
    for (size_t k = 0; k < texts.size(); ++k) {
      keys.push_back(KeyOfPair(KeyOf(texts[k]), KeyOf(*images[k])));
    }
    return keys;
  }

  const TaskSetting setting_;
  const TaskRecipe& recipe_;
  const LearntPairs& pairs_;
  const MaskedNetwork* const masked_;  // null of families that are not learnt so
  const uint64_t seed_;
  PairSampler sampler_;
  std::vector<int64_t> tagged_;  // pictures; of recipes that show wrong tags
};

absl::Status CheckAligns(const TrainableNetwork& learner) {
  const MaskedNetwork* network = MaskedNetworkOf(*learner.network);
  if (network != nullptr && !network->has_two_towers()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "alignment of matching needs a network that reads words and regions as one stream, a UNITER "
      "or an OSCAR; leave alignment out for another one");
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecipeTask>> NewMatchingTask(const Objective& objective,
                                                            const TaskSetting& setting, size_t i) {
  if (!setting.pairs->learner().has_cross_encoder) {
    return absl::InvalidArgumentError(
        absl::StrCat("the objective ", objective.name, " needs a network that scores pairs"));
  }
  if (!IsAlone(setting.world) && NormsByBatch(setting.pairs->learner())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the objective ", objective.name,
        " needs one process for a network that norms by what it computes together, as this one "
        "does; start one"));
  }
  RETURN_IF_ERROR(setting.pairs->corpus().CheckTellable());
  const TaskRecipe& recipe = setting.recipe->tasks[i];
  if (recipe.alignment > 0) RETURN_IF_ERROR(CheckAligns(setting.pairs->learner()));
  if (recipe.wrong_tags > 0) {
    RETURN_IF_ERROR(RequireTags("wrong_tags", recipe, *setting.pairs));
  }
  return std::make_unique<MatchingTask>(objective, setting, i);
}

}  // namespace sightline
