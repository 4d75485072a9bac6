#include "common/training/pair_task.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/training/batch_loss.h"
#include "common/training/pair_sampler.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

// What a step shows, and what it points to.
struct Shown {
  std::vector<ImageNumbers> numbers;
  PairBatch batch;
};

class PairTask : public RecipeTask {
 public:
  PairTask(const Objective& objective, const TaskSetting& setting, size_t i)
      : RecipeTask(&objective),
        setting_(setting),
        recipe_(setting.recipe->tasks[i]),
        pairs_(*setting.pairs),
        seed_(SeedOf(setting.recipe->seed, RandomStream::kTaskDraws, i)),
        sampler_(&pairs_.corpus(), recipe_.unit, seed_) {}

  absl::StatusOr<TaskStep> AddGradients(int64_t number) override {
    ASSIGN_OR_RETURN(const Shown shown, Show(number));
    BatchLossOptions options;
    options.objective = OptionsOf(objective(), recipe_);
    options.pass_rows = setting_.recipe->pass_rows;
    options.seed = SeedOf(seed_, RandomStream::kDropout, number);
    TaskStep step;
    ASSIGN_OR_RETURN(step.loss, sightline::AddGradients(objective(), options, shown.batch,
                                                        pairs_.learner(), setting_.log_scale));
    step.items = recipe_.batch;
    return step;
  }

 private:
  bool of_pairs() const { return objective().reads == ObjectiveReads::kPairLogits; }

  absl::StatusOr<Shown> Show(int64_t number) {
    Shown shown;
    DrawnBatch drawn;
    if (of_pairs()) {
      DrawnProblems problems = sampler_.Problems(number, recipe_.batch, recipe_.candidates,
                                                 recipe_.sides, recipe_.text_negatives);
      drawn = std::move(problems.batch);
      shown.batch.pairs = std::move(problems.pairs);
      shown.batch.candidates = recipe_.candidates;
    } else {
      drawn = sampler_.Batch(number, recipe_.batch);
      if (!recipe_.counts_relatives) shown.batch.related = Related(drawn);
    }
    for (const int64_t picture : drawn.pictures) {
      ASSIGN_OR_RETURN(shown.numbers.emplace_back(), pairs_.ReadImage(picture));
    }
    for (const ImageNumbers& image : shown.numbers) shown.batch.images.push_back(&image);
    for (const int64_t caption : drawn.captions) shown.batch.texts.push_back(pairs_.text(caption));
    return shown;
  }

  at::Tensor Related(const DrawnBatch& drawn) const {
    std::vector<uint8_t> related = sampler_.Related(drawn);
    const auto size = static_cast<int64_t>(drawn.captions.size());
    return at::from_blob(related.data(), {size, size}, at::kByte)
        .to(setting_.log_scale.device(), at::kBool, /*non_blocking=*/false, /*copy=*/true);
  }

  const TaskSetting setting_;
  const TaskRecipe& recipe_;
  const LearntPairs& pairs_;
  const uint64_t seed_;
  PairSampler sampler_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecipeTask>> NewPairTask(const Objective& objective,
                                                        const TaskSetting& setting, size_t i) {
  if (objective.reads == ObjectiveReads::kPairLogits) {
    RETURN_IF_ERROR(setting.pairs->corpus().CheckTellable());
  }
  return std::make_unique<PairTask>(objective, setting, i);
}

}  // namespace sightline
