#include "common/training/matching_task.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/network/row_dropout.h"
#include "common/training/item_keys.h"
#include "common/training/learner_outputs.h"
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
        seed_(SeedOfTask(setting, i)),
        sampler_(SamplerOf(setting, i)) {}

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
    int64_t tags_of = 0;  // the picture whose tags are shown
    bool matches = true;
  };

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

  // The other picture's tags, if they are another's: with equal ones the pair is right after all.
  absl::Status ChangeTags(ShownPair* pair, ImageNumbers* image) const {
    if (pair->tags_of == pair->picture) return absl::OkStatus();
    ASSIGN_OR_RETURN(ImageNumbers other, pairs_.ReadImage(pair->tags_of));
    pair->matches = other.ids == image->ids;
    image->ids = std::move(other.ids);
    return absl::OkStatus();
  }

  // Captions, each with its picture, or one of the two, or the tags, changed for one that is wrong.
  std::vector<ShownPair> Draw(int64_t number) {
    std::vector<ShownPair> shown;
    for (const int64_t caption : DrawBatch(recipe_, number, &sampler_).captions) {
      const int64_t picture = pairs_.corpus().picture_of(caption);
      ShownPair pair = {caption, picture, picture, true};
      Random random(RowSeed(seed_, RandomStream::kMismatches, number, caption));
      if (random.Chance(recipe_.wrong_share)) {
        pair.matches = false;
        if (recipe_.wrong_tags > 0 && random.Chance(recipe_.wrong_tags)) {
          pair.tags_of = sampler_.WrongPicture(caption, &random);
        } else if (random.Chance(recipe_.text_negatives)) {
          pair.caption = sampler_.WrongCaption(picture, &random);
        } else {
          pair.picture = pair.tags_of = sampler_.WrongPicture(caption, &random);
        }
      }
      shown.push_back(pair);
    }
    return shown;
  }

  absl::StatusOr<Loss> LossOf(const std::vector<int64_t>& pass, const std::vector<ShownPair>& shown,
                              const std::vector<ImageNumbers>& images, uint64_t seed) const {
    const TrainableNetwork& learner = pairs_.learner();
    std::vector<TokenSpan> texts;
    std::vector<const ImageNumbers*> of_pass;
    std::vector<int64_t> matches;
    for (const int64_t i : pass) {
      texts.push_back(pairs_.text(shown[i].caption));
      of_pass.push_back(&images[i]);
      matches.push_back(shown[i].matches ? 1 : 0);
    }
    const PreparedItems items = PreparedForPairs(*learner.network, texts, of_pass, seed);
    std::vector<NetworkPair> network_pairs;
    std::vector<uint64_t> keys;
    for (size_t k = 0; k < pass.size(); ++k) {
      const FeatureRows& image = items.images[k];
      network_pairs.push_back({texts[k], &items.texts[k], {image.begin(), image.end()}});
      keys.push_back(items.KeyOfPair(static_cast<int64_t>(k), static_cast<int64_t>(k)));
    }
    const DropoutScope scope(seed, std::move(keys));
    const at::Tensor logits = PairLogitsOf(learner, learner.network->ScorePairs(network_pairs));
    const Predictions predictions = {logits, at::tensor(matches, at::kLong).to(logits.device())};
    return ComputeLoss(objective(), predictions, OptionsOf(objective(), recipe_));
  }

  const TaskSetting setting_;
  const TaskRecipe& recipe_;
  const LearntPairs& pairs_;
  const uint64_t seed_;
  PairSampler sampler_;
};

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
  if (recipe.wrong_tags > 0) {
    RETURN_IF_ERROR(RequireTags("wrong_tags", recipe, *setting.pairs));
  }
  return std::make_unique<MatchingTask>(objective, setting, i);
}

}  // namespace sightline
