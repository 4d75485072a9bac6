#include "common/training/recipe_window.h"

#include <ATen/ATen.h>

#include <limits>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

constexpr int64_t kSteps = 100;

Recipe TwoTasks() {
  Recipe recipe;
  recipe.tasks.resize(2);
  recipe.tasks[0].objective = "cmr";
  recipe.tasks[1].objective = "mlm";
  recipe.steps = kSteps;
  return recipe;
}

TaskStep StepOf(double loss, int64_t items) {
  return {{at::full({}, loss), at::Tensor()}, items};
}
TaskStep StepOf(double loss, double first, int64_t items) {
  return {{at::full({}, loss), at::full({}, first)}, items};
}

TEST_CASE("a window has the means of each task that had a step, and forgets them") {
  const Recipe recipe = TwoTasks();
  FakeClock clock;
  RecipeWindow window(&recipe, &clock);
  window.Add(0, StepOf(3, 0.5, 8));
  window.Add(1, StepOf(6, 4));
  window.Add(0, StepOf(1, 0.25, 8));
  REQUIRE(window.steps() == 3);
  RecipeStepReport report;
  REQUIRE(window.Report(&report).ok());
  REQUIRE(report.tasks.size() == 2);
  REQUIRE(report.tasks[0].objective == "cmr");
  REQUIRE(report.tasks[0].steps == 2);
  REQUIRE(report.tasks[0].loss == 2);
  REQUIRE(report.tasks[0].first == 0.375);
  REQUIRE(report.tasks[1].loss == 6);
  REQUIRE_FALSE(report.tasks[1].first.has_value());

  REQUIRE(window.steps() == 0);
  window.Add(1, StepOf(5, 4));
  RecipeStepReport next;
  REQUIRE(window.Report(&next).ok());
  REQUIRE(next.tasks.size() == 1);
  REQUIRE(next.tasks[0].objective == "mlm");
  REQUIRE(next.tasks[0].steps == 1);
  REQUIRE(next.tasks[0].loss == 5);
}

TEST_CASE("speed and the time left are of steps alone, of those since the last report") {
  const Recipe recipe = TwoTasks();
  FakeClock clock;
  RecipeWindow window(&recipe, &clock);
  // What a run does before its first step.
  clock.Advance(absl::Seconds(5));
  window.Restart();
  window.Add(0, StepOf(1, 8));
  clock.Advance(absl::Seconds(2));
  window.Add(0, StepOf(1, 8));
  window.Add(1, StepOf(1, 4));
  clock.Advance(absl::Seconds(6));
  // A look among them.
  window.Pause(absl::Seconds(4));
  RecipeStepReport report;
  report.step = 40;
  REQUIRE(window.Report(&report).ok());
  REQUIRE(report.items_per_second == 5);
  REQUIRE(report.elapsed == absl::Seconds(13));
  REQUIRE(report.remaining == absl::Seconds(4 * (kSteps - 40) / 3));

  clock.Advance(absl::Seconds(10));
  window.Add(0, StepOf(1, 8));
  RecipeStepReport slower;
  slower.step = 90;
  REQUIRE(window.Report(&slower).ok());
  REQUIRE(slower.items_per_second == Approx(0.8));
  REQUIRE(slower.remaining == absl::Seconds(100));
  // The last one, of which the clock saw nothing.
  window.Add(0, StepOf(1, 8));
  RecipeStepReport last;
  last.step = kSteps;
  REQUIRE(window.Report(&last).ok());
  REQUIRE(last.items_per_second == 0);
  REQUIRE(last.remaining == absl::ZeroDuration());
  REQUIRE(last.elapsed == absl::Seconds(23));
}

TEST_CASE("a loss that is not finite any more ends a run, and is named with its step") {
  const Recipe recipe = TwoTasks();
  FakeClock clock;
  for (const double spoilt :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    RecipeWindow window(&recipe, &clock);
    window.Add(0, StepOf(1, 8));
    window.Add(1, StepOf(spoilt, 8));
    RecipeStepReport report;
    report.step = 30;
    const absl::Status status = window.Report(&report);
    REQUIRE(status.code() == absl::StatusCode::kInternal);
    REQUIRE(absl::StrContains(status.message(),
                              "the loss of mlm is not finite any more at step "
                              "30"));
  }
}

}  // namespace
}  // namespace sightline
