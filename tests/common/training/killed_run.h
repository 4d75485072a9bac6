// Runs by a recipe that are killed between two checkpoints.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_KILLED_RUN_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_KILLED_RUN_H_

#include <stdexcept>
#include <vector>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/fake_clock.h"

namespace sightline {

// Runs the job, in which a checkpoint is due behind each of `due`, and which ends without another
// one behind `killed`, unless that is 0.
inline absl::StatusOr<RecipeResult> RunUntil(int64_t killed, const std::vector<int64_t>& due,
                                             RecipeFixture* of) {
  FakeClock clock;
  of->job.report_every = 1;
  of->job.checkpoint_directory = of->checkpoints.path();
  of->job.checkpoint_every = absl::Hours(1);
  of->notes = RecipeNotes();
  of->notes.on_step = [&](const RecipeStepReport& report) {
    if (report.step == killed) throw std::runtime_error("killed");
    for (const int64_t step : due) {
      if (report.step == step) clock.Advance(of->job.checkpoint_every);
    }
  };
  return TrainByRecipe(of->job, &of->notes, CallContext(&clock, absl::InfiniteFuture()));
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_KILLED_RUN_H_
