#include "common/training/masked_task.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/training/masked_loss.h"
#include "common/training/pair_sampler.h"
#include "common/training/pretraining.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

// A text's tokens between its special ones, and an image's ids behind the separator.
constexpr size_t kBeforeText = 1, kBehindText = 1, kBeforeScene = 1;

bool IsOfWords(const Objective& objective) {
  return objective.predicted == Predicted::kTokens ||
         objective.predicted == Predicted::kSceneTokens;
}

absl::Span<const int32_t> WordsOf(TokenSpan text) {
  return text.subspan(kBeforeText, text.size() - kBeforeText - kBehindText);
}

absl::Span<const int32_t> SceneOf(const ImageNumbers& image) {
  return absl::MakeConstSpan(image.ids).subspan(std::min(kBeforeScene, image.ids.size()));
}

// Puts what is shown of a sequence that begins at `before` into `ids`.
void Show(const std::vector<int32_t>& shown, size_t before, std::vector<int32_t>* ids) {
  std::copy(shown.begin(), shown.end(), ids->begin() + static_cast<int64_t>(before));
}

// What is predicted of it.
void Point(const MaskedTokens& masked, size_t before, MaskedPair* pair) {
  for (const int64_t place : masked.places) {
    pair->places.push_back(place + static_cast<int64_t>(before));
  }
  pair->targets = masked.targets;
}

class MaskedTask : public RecipeTask {
 public:
  MaskedTask(const Objective& objective, const TaskSetting& setting, size_t i,
             const TokenMasking& masking)
      : RecipeTask(&objective),
        setting_(setting),
        recipe_(setting.recipe->tasks[i]),
        pairs_(*setting.pairs),
        network_(*MaskedNetworkOf(*setting.pairs->learner().network)),
        seed_(SeedOfTask(setting, i)),
        masking_(masking),
        sampler_(SamplerOf(setting, i, WantedBy(objective))) {}

  absl::StatusOr<TaskStep> AddGradients(int64_t number, const CallContext& call) override {
    const DrawnBatch drawn = DrawBatch(recipe_, number, &sampler_);
    const auto batch = Shown(drawn, number);
    RETURN_IF_ERROR(AgreeIn(setting_.world, batch.status()));
    TaskStep step;
    ASSIGN_OR_RETURN(step.loss, AddMaskedGradients(objective(), OptionsFor(number, call), *batch,
                                                   network_, setting_.heads));
    step.items = static_cast<int64_t>(drawn.captions.size());
    return step;
  }

 private:
  // This process's part, with what is hidden.
  absl::StatusOr<std::vector<MaskedPair>> Shown(const DrawnBatch& drawn, int64_t number) const {
    std::vector<MaskedPair> batch;
    const WorldPart own = setting_.PartOf(drawn.captions.size());
    for (int64_t row = own.begin; row < own.end; ++row) {
      MaskedPair pair;
      const TokenSpan text = pairs_.text(drawn.captions[row]);
      pair.tokens.assign(text.begin(), text.end());
      ASSIGN_OR_RETURN(pair.image, pairs_.ReadImage(drawn.pictures[row]));
      if (objective().predicted == Predicted::kRegionClasses) {
        ASSIGN_OR_RETURN(pair.soft_labels, LabelsOf(drawn.pictures[row], pair.image));
      }
      Hide(number, row, &pair);
      batch.push_back(std::move(pair));
    }
    return batch;
  }

  // Of scene text: pictures that have some.
  std::function<bool(int64_t picture)> WantedBy(const Objective& objective) const {
    if (objective.predicted != Predicted::kSceneTokens) return nullptr;
    return [&pairs = pairs_](int64_t picture) { return pairs.HasSceneText(picture); };
  }

  // Of the regions that the network reads, which are a picture's first ones.
  absl::StatusOr<std::vector<float>> LabelsOf(int64_t picture, const ImageNumbers& image) const {
    const PairCorpus& corpus = pairs_.corpus();
    ASSIGN_OR_RETURN(std::vector<float> labels, corpus.ReadSoftLabels(picture));
    labels.resize(static_cast<size_t>(image.regions.count * corpus.soft_label_count()));
    return labels;
  }

  void Hide(int64_t number, size_t row, MaskedPair* pair) const {
    const bool of_words = IsOfWords(objective());
    Random random(RowSeed(
        seed_, of_words ? RandomStream::kMaskedTokens : RandomStream::kMaskedRegions, number, row));
    if (!of_words) {
      pair->hidden = MaskRegions(pair->image.regions.count, recipe_.masked_share, &random);
    } else if (objective().predicted == Predicted::kSceneTokens) {
      const MaskedTokens masked = MaskTokens(SceneOf(pair->image), masking_, &random);
      Show(masked.tokens, kBeforeScene, &pair->image.ids);
      Point(masked, kBeforeScene, pair);
    } else if (recipe_.co_mask && SceneOf(pair->image).size() > 0) {
      const CoMasked masked =
          CoMaskTokens(WordsOf(pair->tokens), SceneOf(pair->image), masking_, &random);
      Show(masked.scene, kBeforeScene, &pair->image.ids);
      Show(masked.caption.tokens, kBeforeText, &pair->tokens);
      Point(masked.caption, kBeforeText, pair);
    } else if (recipe_.masks_tags) {
      HideWordsAndTags(&random, pair);
    } else {
      const MaskedTokens masked = MaskTokens(WordsOf(pair->tokens), masking_, &random);
      Show(masked.tokens, kBeforeText, &pair->tokens);
      Point(masked, kBeforeText, pair);
    }
  }

  // As if they were one text ("Oscar", Li et al., 2020).
  void HideWordsAndTags(Random* random, MaskedPair* pair) const {
    const TokenSpan words = WordsOf(pair->tokens);
    const int64_t tags =
        network_.TagsReadBeside(pair->image, static_cast<int64_t>(pair->tokens.size()));
    std::vector<int32_t> both(words.begin(), words.end());
    both.insert(both.end(), pair->image.ids.begin(), pair->image.ids.begin() + tags);
    const auto word_count = static_cast<int64_t>(words.size());
    MaskedTokens masked = MaskTokens(both, masking_, random);
    std::copy_n(masked.tokens.begin(), word_count, pair->tokens.begin() + kBeforeText);
    std::copy_n(masked.tokens.begin() + word_count, tags, pair->image.ids.begin());
    for (const int64_t place : masked.places) {
      if (place < word_count) {
        pair->places.push_back(place + static_cast<int64_t>(kBeforeText));
      } else {
        pair->tag_places.push_back(place - word_count);
      }
    }
    pair->targets = std::move(masked.targets);
  }

  MaskedLossOptions OptionsFor(int64_t number, const CallContext& call) const {
    MaskedLossOptions options;
    options.objective = OptionsOf(objective(), recipe_);
    options.other_tower = recipe_.other_tower;
    options.word_table = recipe_.word_table;
    options.pass_rows = setting_.recipe->pass_rows;
    options.seed = SeedOf(seed_, RandomStream::kDropout, number);
    options.world = setting_.world;
    options.call = call;
    return options;
  }

  const TaskSetting setting_;
  const TaskRecipe& recipe_;
  const LearntPairs& pairs_;
  const MaskedNetwork& network_;
  const uint64_t seed_;
  const TokenMasking masking_;
  PairSampler sampler_;
};

absl::Status CheckNetwork(const Objective& objective, const TaskRecipe& recipe,
                          const MaskedNetwork* network) {
  const auto lacks = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("the objective ", objective.name, " needs ", what));
  };
  if (network == nullptr) {
    return lacks(
        "a network that is learnt with words or regions hidden: a LightningDOT, a UNITER, an "
        "OSCAR");
  }
  const bool towers = network->has_two_towers();
  if (recipe.other_tower != GlobalVector::kNone && !towers) {
    return lacks(
        "two towers to give one what the other sees, as other_tower says, and the "
        "bundle's network reads texts and images together; leave other_tower out");
  }
  if (recipe.word_table != WordTable::kImage && !towers) {
    return lacks(
        "two towers to predict words by the text's table, and the bundle's network has "
        "one for both; leave word_table out");
  }
  if (!network->reads_scene_text()) {
    if (objective.predicted == Predicted::kSceneTokens) {
      return lacks(
          "a network that reads the text in pictures: a LightningDOT that was made with "
          "--scene-text");
    }
    if (recipe.co_mask) {
      return lacks(
          "a network that reads the text in pictures to mask it as co_mask says; leave "
          "co_mask out");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSceneText(const Objective& objective, const TaskRecipe& recipe,
                            const LearntPairs& pairs) {
  const PairCorpus& corpus = pairs.corpus();
  int64_t count = 0;
  for (int64_t i = 0; i < corpus.picture_count(); ++i) {
    if (!IsShownBy(recipe, corpus, i)) continue;
    if (pairs.HasSceneText(i)) return absl::OkStatus();
    ++count;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the objective ", objective.name, " needs words to be read in pictures, and of ",
                   count, " pictures none has any; take a corpus with OCR tokens"));
}

// All that it is shown are read once, so that none ends a run that has learnt for hours.
absl::Status ReadAllSoftLabels(const Objective& objective, const TaskRecipe& recipe,
                               const PairCorpus& corpus) {
  for (int64_t i = 0; i < corpus.picture_count(); ++i) {
    if (!IsShownBy(recipe, corpus, i)) continue;
    if (!corpus.HasSoftLabels(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the objective ", objective.name,
                       " needs soft labels of regions, and the corpus of ", corpus.item_id(i),
                       " has none; let `corpus` name one that has, and give the share of "
                       "others to mrfr"));
    }
    RETURN_IF_ERROR(corpus.ReadSoftLabels(i).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecipeTask>> NewMaskedTask(const Objective& objective,
                                                          const TaskSetting& setting, size_t i) {
  const TaskRecipe& recipe = setting.recipe->tasks[i];
  const TrainableNetwork& learner = setting.pairs->learner();
  RETURN_IF_ERROR(CheckNetwork(objective, recipe, MaskedNetworkOf(*learner.network)));
  if (objective.predicted == Predicted::kSceneTokens || recipe.co_mask) {
    RETURN_IF_ERROR(CheckSceneText(objective, recipe, *setting.pairs));
  }
  if (recipe.masks_tags) RETURN_IF_ERROR(RequireTags("masks_tags", recipe, *setting.pairs));
  if (objective.predicted == Predicted::kRegionClasses) {
    RETURN_IF_ERROR(ReadAllSoftLabels(objective, recipe, setting.pairs->corpus()));
  }
  TokenMasking masking;
  if (IsOfWords(objective)) {
    ASSIGN_OR_RETURN(masking, MaskingOf(*setting.start, recipe.masked_words));
    masking.share = recipe.masked_share;
  }
  return std::make_unique<MaskedTask>(objective, setting, i, masking);
}

}  // namespace sightline
