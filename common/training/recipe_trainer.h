// Lets a bundle's network learn by a recipe, from regions and captions, and writes the bundle that
// it became.
//
//   RecipeJob job;
//   job.start = &bundle;        // whatever family: random, converted, or of an earlier run
//   job.learnt = corpus.get();
//   job.recipe.tasks = {{"cmr"}};
//   ...
//   ASSIGN_OR_RETURN(const RecipeResult result, TrainByRecipe(job, &observer, call));
//
// A run is a function of its job: all that is random in a step comes from the seed and the step's
// number.  So a run that was killed continues from its newest checkpoint and, on one thread of a
// CPU, ends in the same bits as one that was not.
//
// Several processes may learn together, each from a part of every batch; all of them call this with
// the same job but for job.world.  But for rounding they make of it what one process does.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_TRAINER_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_TRAINER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/bundle/model_bundle.h"
#include "common/training/development_report.h"
#include "common/training/pair_corpus.h"
#include "common/training/recipe.h"
#include "common/training/wordnet.h"
#include "common/training/world_options.h"

namespace sightline {

// Means over the steps since the last report.
struct RecipeStepReport {
  struct Task {
    std::string objective;  // as TaskName
    int64_t steps = 0;
    double loss = 0;
    // Share of what was ranked whose right answer came first; none where nothing is.
    absl::optional<double> first;
  };

  int64_t step = 0;
  int64_t steps = 0;
  std::vector<Task> tasks;   // that had a step, in the recipe's order
  double rate = 0;           // of the last step
  double gradient_norm = 0;  // before clipping
  double temperature = 0;    // of a learned scale; 0 without
  double items_per_second = 0;
  absl::Duration elapsed;    // of this process
  absl::Duration remaining;  // at the speed of these steps
};

// Called in the training thread, between steps; a cancellation from inside takes effect before the
// next step.
class RecipeObserver {
 public:
  virtual ~RecipeObserver() = default;
  virtual void OnStep(const RecipeStepReport& report) = 0;
  // `best`: whether no earlier look scored as well.
  virtual void OnDevelopment(const DevelopmentReport& report, bool best) = 0;
  virtual void OnCheckpoint(int64_t step, const std::string& path, int64_t byte_count) = 0;
  // What people should know of: "continues at ...".
  virtual void OnNote(absl::string_view message) = 0;
  // What they should look into: a damaged checkpoint.
  virtual void OnWarning(absl::string_view message) = 0;
};

struct RecipeJob {
  Recipe recipe;
  const ModelBundle* start = nullptr;
  // The bundles that the recipe names, teachers and the retriever, by those names.
  std::map<std::string, const ModelBundle*> others;
  // Of a recipe that names one.
  const WordNet* wordnet = nullptr;
  const PairCorpus* learnt = nullptr;
  // What weights are chosen by.  Null, or a recipe that teaches only to predict what is hidden: the
  // last ones are written.
  const PairCorpus* development = nullptr;
  // The bundle is written below it.
  std::string store;
  // Of the bundle; empty: how it was trained.
  std::string description;

  // "cpu", "cuda", "cuda:1", or "auto": a GPU if LibTorch has one.
  std::string device = "auto";
  // Of LibTorch on the CPU; 0 leaves its own choice.
  int threads = 0;
  // Which of the processes this one is, and where they meet.
  TrainingWorldOptions world;
  // Told when this process begins to wait for the others there, which hears of no cancellation, and
  // when it has waited.  May be empty.
  std::function<void(bool waits)> on_meeting;
  // Empty for none.  A folder that this job has for itself: on start the newest sound checkpoint in
  // it is taken up, and the two newest are kept.  Of several processes the first one alone looks
  // there, and the others get from it what it has found.
  std::string checkpoint_directory;
  absl::Duration checkpoint_every = absl::Minutes(10);
  // Steps from one OnStep to the next.
  int64_t report_every = 50;
};

struct RecipeResult {
  ModelBundle bundle;  // of several processes, the first one's; of the others empty
  // Of the weights that were written; without development pictures all 0.
  DevelopmentReport development;
  std::string device;  // that was used: "cpu", "cuda:0"
};

// Blocks; uses the calling thread and LibTorch's own.  `observer` is not null.
//
// InvalidArgument: a recipe's numbers (all problems at once), a bundle that cannot be trained or
// whose network lacks what an objective reads, pictures that it does not read, a teacher or a
// retriever that is none or that does not read them, a device that is not there.
// DataLoss: pictures' regions that are damaged where they lie.
// FailedPrecondition: the newest checkpoint is of another job; the message names each difference.
// Cancelled, DeadlineExceeded: `call` ended, or that of another process; the step that it ended in
// is given up, and the checkpoint written last is where the same job continues.  Unavailable: the
// other processes did not come, or one has ended; the same.  Internal: a loss that is not finite,
// or what LibTorch throws; ResourceExhausted: no memory left. Of several processes besides
// InvalidArgument: jobs that differ, a task that one process alone can learn (batch_loss.h).
// Unimplemented: as TrainingWorld::Join.
absl::StatusOr<RecipeResult> TrainByRecipe(const RecipeJob& job, RecipeObserver* observer,
                                           const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_TRAINER_H_
