#include "common/training/pair_task.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/training/batch_loss.h"
#include "common/training/hardest_candidates.h"
#include "common/training/made_wrong.h"
#include "common/training/pair_sampler.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

// The rows of `range`.
std::vector<int64_t> RowsOf(const std::vector<int64_t>& all, const WorldPart& range) {
  return {all.begin() + range.begin, all.begin() + range.end};
}

// What a step shows to this process, and what it points to.
struct Shown {
  int64_t items = 0;  // captions or problems of the whole batch
  std::vector<ImageNumbers> numbers;
  MadeWrongItems wrong;
  PairBatch batch;
};

class PairTask : public RecipeTask {
 public:
  PairTask(const Objective& objective, const TaskSetting& setting, size_t i)
      : RecipeTask(&objective),
        setting_(setting),
        recipe_(setting.recipe->tasks[i]),
        pairs_(*setting.pairs),
        seed_(SeedOfTask(setting, i)),
        sampler_(SamplerOf(setting, i)),
        maker_(setting.pairs, setting.wordnet, &recipe_, seed_) {}

  absl::StatusOr<TaskStep> AddGradients(int64_t number, const CallContext& call) override {
    const absl::StatusOr<Shown> shown = Show(number, call);
    RETURN_IF_ERROR(AgreeIn(setting_.world, shown.status()));
    BatchLossOptions options;
    options.objective = OptionsOf(objective(), recipe_);
    options.pass_rows = setting_.recipe->pass_rows;
    options.distils_towers = recipe_.student == Student::kTowers;
    options.seed = SeedOf(seed_, RandomStream::kDropout, number);
    options.world = setting_.world;
    options.call = call;
    TaskStep step;
    ASSIGN_OR_RETURN(step.loss, sightline::AddGradients(objective(), options, shown->batch,
                                                        pairs_.learner(), setting_.log_scale));
    step.items = shown->items;
    return step;
  }

 private:
  absl::StatusOr<Shown> Show(int64_t number, const CallContext& call) {
    Shown shown;
    DrawnBatch drawn;
    if (IsOfProblems(objective())) {
      shown.items = recipe_.batch;
      ASSIGN_OR_RETURN(DrawnProblems problems, DrawProblems(number, call));
      if (objective().reads_teacher) {
        ASSIGN_OR_RETURN(shown.batch.taught, TaughtOf(problems, call));
      }
      drawn = std::move(problems.batch);
      shown.batch.pairs = std::move(problems.pairs);
      shown.batch.candidates = recipe_.candidates;
    } else {
      drawn = DrawBatch(recipe_, number, &sampler_);
      if (recipe_.nearest > 0) AddNearest(number, &drawn, &shown);
      if (!recipe_.counts_relatives) shown.batch.related = Related(drawn);
      shown.items = static_cast<int64_t>(drawn.captions.size());
      if (recipe_.made_wrong != MadeWrong::kNone) {
        ASSIGN_OR_RETURN(shown.wrong,
                         maker_.Make(drawn, number, setting_.PartOf(drawn.captions.size())));
      }
      // Of a matrix each process prepares all.
      if (objective().reads != ObjectiveReads::kScoreMatrix) {
        drawn = {RowsOf(drawn.captions, setting_.PartOf(drawn.captions.size())),
                 RowsOf(drawn.pictures, setting_.PartOf(drawn.pictures.size()))};
      }
    }
    for (const int64_t picture : drawn.pictures) {
      ASSIGN_OR_RETURN(shown.numbers.emplace_back(), pairs_.ReadImage(picture));
    }
    for (const ImageNumbers& image : shown.numbers) shown.batch.images.push_back(&image);
    for (const int64_t caption : drawn.captions) shown.batch.texts.push_back(pairs_.text(caption));
    AddWrong(&shown);
    return shown;
  }

  // Pictures, of which some may be right for others of the batch, and captions, which are wrong for
  // all of it and stand beside those that are made so.  A matrix is of pictures alone.
  void AddNearest(int64_t number, DrawnBatch* drawn, Shown* shown) const {
    const NearestWrong& mined = *setting_.nearest;
    sampler_.AddNearest(number, recipe_.nearest, mined, drawn);
    if (objective().reads == ObjectiveReads::kScoreMatrix) return;
    const std::vector<int64_t> captions =
        sampler_.NearestCaptions(number, recipe_.nearest, mined, *drawn);
    shown->batch.has_hard_texts = !captions.empty();
    for (const int64_t caption : RowsOf(captions, setting_.PartOf(captions.size()))) {
      shown->batch.hard_texts.push_back(pairs_.text(caption));
    }
  }

  void AddWrong(Shown* shown) const {
    PairBatch& batch = shown->batch;
    const MadeWrong made = recipe_.made_wrong;
    batch.has_hard_texts |= MakesTexts(made);
    batch.has_hard_images = MakesImages(made);
    for (const auto& text : shown->wrong.texts) batch.hard_texts.emplace_back(text);
    for (const ImageNumbers& image : shown->wrong.images) batch.hard_images.push_back(&image);
  }

  // P x C.
  absl::StatusOr<at::Tensor> TaughtOf(const DrawnProblems& problems,
                                      const CallContext& call) const {
    if (problems.pairs.empty()) return at::empty({0, recipe_.candidates});
    ASSIGN_OR_RETURN(
        const at::Tensor scores,
        ScoresOfTeacher(*setting_.frozen->Find(recipe_.teacher), problems.Captioned(), call));
    return scores.view({-1, recipe_.candidates});
  }

  // Those that this process computes.
  DrawnProblems PartOf(DrawnProblems problems, int64_t candidates) const {
    if (IsAlone(setting_.world)) return problems;
    const std::vector<CaptionedPicture> all = problems.Captioned();
    const WorldPart own = setting_.PartOf(all.size() / candidates);
    return ProblemsOf({all.begin() + own.begin * candidates, all.begin() + own.end * candidates});
  }

  absl::StatusOr<DrawnProblems> DrawProblems(int64_t number, const CallContext& call) {
    ProblemDraws draws;
    draws.candidates = recipe_.mined_from > 0 ? recipe_.mined_from + 1 : recipe_.candidates;
    draws.sides = recipe_.sides;
    draws.text_negatives = recipe_.text_negatives;
    draws.nearest = recipe_.nearest;
    draws.mined = setting_.nearest;
    DrawnProblems problems =
        PartOf(sampler_.Problems(number, recipe_.batch, draws), draws.candidates);
    if (recipe_.mined_from == 0 || problems.pairs.empty()) return problems;
    return HardestOf(problems, draws.candidates, recipe_.candidates, pairs_, call);
  }

  // B x (B + D).
  at::Tensor Related(const DrawnBatch& drawn) const {
    std::vector<uint8_t> related = sampler_.Related(drawn);
    const auto captions = static_cast<int64_t>(drawn.captions.size());
    const auto pictures = static_cast<int64_t>(drawn.pictures.size());
    return at::from_blob(related.data(), {captions, pictures}, at::kByte)
        .to(setting_.log_scale.device(), at::kBool, /*non_blocking=*/false, /*copy=*/true);
  }

  const TaskSetting setting_;
  const TaskRecipe& recipe_;
  const LearntPairs& pairs_;
  const uint64_t seed_;
  PairSampler sampler_;
  const WrongMaker maker_;
};

}  // namespace

namespace {

// Of batches by rows: whether one can have two captions with their pictures.
absl::Status CheckTwoFit(const LearntPairs& pairs, const TaskRecipe& recipe) {
  if (recipe.batch_rows == 0 || recipe.nearest > 0) return absl::OkStatus();
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < pairs.corpus().caption_count(); ++i) {
    lengths.push_back(static_cast<int64_t>(pairs.text(i).size()) +
                      pairs.image_rows(pairs.corpus().picture_of(i)));
  }
  // A batch is as wide as its longest.
  std::nth_element(lengths.begin(), lengths.begin() + 1, lengths.end());
  if (2 * lengths[1] <= recipe.batch_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("batch_rows is ", recipe.batch_rows,
                   ", into which no two captions with their pictures fit, of ", lengths[1],
                   " rows each at least, so that nothing would be learnt; make it larger"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecipeTask>> NewPairTask(const Objective& objective,
                                                        const TaskSetting& setting, size_t i) {
  if (IsOfProblems(objective)) RETURN_IF_ERROR(setting.pairs->corpus().CheckTellable());
  const TaskRecipe& recipe = setting.recipe->tasks[i];
  if (recipe.made_wrong == MadeWrong::kNone) {
    RETURN_IF_ERROR(setting.pairs->corpus().CheckAnyWrong(recipe.corpus));
    RETURN_IF_ERROR(CheckTwoFit(*setting.pairs, recipe));
  } else {
    RETURN_IF_ERROR(WrongMaker(setting.pairs, setting.wordnet, &recipe, 0).Check());
  }
  if (recipe.mined_from > 0 && !setting.pairs->learner().has_cross_encoder) {
    return absl::InvalidArgumentError(
        absl::StrCat("tasks.", i, ".mined_from needs a network that scores pairs"));
  }
  return std::make_unique<PairTask>(objective, setting, i);
}

}  // namespace sightline
