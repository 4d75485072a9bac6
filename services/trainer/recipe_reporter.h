// What people and programs see of a run by a recipe.
//
//   350/2000  cmr 1.234 hit 45 %  pairwise 0.612 hit 71 %  development 40.1  41/s  12:34 left
//
// Every report becomes a line of OUT/metrics.jsonl, an object whose "event" is "step",
// "development", "checkpoint" or "note".  A run that continues appends: of two lines for the same
// step the later one holds.
#ifndef SIGHTLINE_SERVICES_TRAINER_RECIPE_REPORTER_H_
#define SIGHTLINE_SERVICES_TRAINER_RECIPE_REPORTER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/training/recipe_trainer.h"
#include "services/trainer/run_log.h"

namespace sightline {

// Not thread-safe: for the training thread.
class RecipeReporter : public RecipeObserver {
 public:
  // `log` is not null.
  explicit RecipeReporter(std::unique_ptr<RunLog> log) : log_(std::move(log)) {}

  void OnStep(const RecipeStepReport& report) override;
  void OnDevelopment(const DevelopmentReport& report, bool best) override;
  void OnCheckpoint(int64_t step, const std::string& path, int64_t byte_count) override;
  void OnNote(absl::string_view message) override;
  void OnWarning(absl::string_view message) override;

  // Leaves what is drawn on the terminal as it is.
  void End() { log_->End(); }

 private:
  const std::unique_ptr<RunLog> log_;
  absl::optional<double> last_score_;
};

// The line above; `score` of the last look, if there was one.
std::string StepLine(const RecipeStepReport& report, const absl::optional<double>& score);

// "step 2000: development AR 41.2 among 1000 pictures and 5000 captions; by towers recall@1/5/10
// text to image 30.1/55.0/63.0, image to text ..."
std::string DevelopmentLine(const DevelopmentReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_RECIPE_REPORTER_H_
