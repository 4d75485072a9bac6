// How far a run by a recipe has come, in its checkpoints and among its processes.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_PROGRESS_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_PROGRESS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/models/trainable.h"
#include "common/training/adamw.h"
#include "common/training/checkpoint.h"
#include "common/training/development_report.h"
#include "common/training/negative_miner.h"
#include "common/training/objectives/heads.h"
#include "common/training/recipe_trainer.h"
#include "common/training/world.h"

namespace sightline {

// All that decides which weights a job ends in, a line each: what a checkpoint is of.
std::string DescribeJob(const RecipeJob& job);

// What a parameter of heads of pre-training is called beside those of the network.
std::string NameOfHead(absl::string_view parameter);

// All that a bundle is written of, where it lies: parameters and buffers, by name; `heads` may be
// empty.
std::map<std::string, at::Tensor> WeightsOf(const TrainableNetwork& network,
                                            const PretrainingHeads& heads);
std::map<std::string, at::Tensor> CopyOfWeights(const TrainableNetwork& network,
                                                const PretrainingHeads& heads);

struct RecipeProgress {
  int64_t step = 0;                        // done
  int64_t looked_step = 0;                 // of the last look at development pictures
  DevelopmentReport development;           // of the best look; taken up, its step and score alone
  std::map<std::string, at::Tensor> best;  // its weights; empty before the first look
};

// Writes where a run is, and finds it again: the progress, weights, moments, running statistics and
// what was mined.  Used by one thread.
class RecipeCheckpoints {
 public:
  // What learns, and by what.  All outlive the object; `miner` is null where nothing is mined.
  struct Parts {
    const RecipeJob* job;
    const TrainableNetwork* learner;
    PretrainingHeads heads;  // empty where nothing is hidden
    AdamW* optimizer;
    NegativeMiner* miner;
    TrainingWorld* world;
    RecipeObserver* observer;
    Clock* clock;
  };
  RecipeCheckpoints(const Parts& parts, RecipeProgress* progress);

  // Takes up the newest sound checkpoint, if there is one; all processes then are where the first
  // one is.  FailedPrecondition and so on as TrainByRecipe.
  absl::Status Resume();

  // Whether the last one is as old as the job allows.
  bool IsDue() const;

  // One process writes for all, which have the same; nothing for a step that is written already.
  // `gradient_norm` is that of the last step: Internal if that had no length.
  absl::Status WriteUnlessDone(const at::Tensor& gradient_norm);

 private:
  std::map<std::string, at::Tensor> State() const;
  absl::Status TakeUpNewest();
  absl::Status TakeUp(TrainingCheckpoint* checkpoint);
  absl::Status TakeStateOfFirst();

  const Parts parts_;
  RecipeProgress& progress_;
  int64_t written_step_ = 0;
  absl::Time written_time_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_PROGRESS_H_
