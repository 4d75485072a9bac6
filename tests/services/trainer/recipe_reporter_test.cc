// What a run by a recipe says, read again as `trainer page` reads it.
#include "services/trainer/recipe_reporter.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "services/trainer/run_metrics.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

RecipeStepReport Step(int64_t step, double loss) {
  RecipeStepReport report;
  report.step = step;
  report.steps = 400;
  report.tasks = {{"cmr", 40, loss, 0.25}, {"pairs", 10, 0.5, 0.75}};
  report.rate = 0.001;
  report.gradient_norm = 2;
  report.items_per_second = 41;
  return report;
}

DevelopmentReport Look() {
  DevelopmentFinding finding;
  finding.way = DevelopmentWay::kPairs;
  finding.text_to_image.at = {1, 2, 3};
  finding.image_to_text.at = {4, 5, 6};
  DevelopmentReport report;
  report.step = 100;
  report.findings = {finding};
  report.score = 3.5;
  return report;
}

TEST_CASE("what is reported is what a page is drawn of") {
  const TempDir dir;
  RunLog::Options options;
  options.metrics_path = dir.File("metrics.jsonl");
  auto log = RunLog::Create(options);
  REQUIRE(log.ok());
  RecipeReporter reporter(*std::move(log));
  reporter.OnStep(Step(50, 4.5));
  reporter.OnStep(Step(100, std::numeric_limits<double>::quiet_NaN()));
  reporter.OnDevelopment(Look(), /*best=*/true);
  reporter.OnCheckpoint(100, "run/c", 12);
  reporter.OnNote("said");
  reporter.OnWarning("damaged");

  const absl::StatusOr<RunMetrics> run = ParseRunMetrics(*ReadFile(options.metrics_path));
  REQUIRE(run.ok());
  REQUIRE(run->problem_count == 0);
  const MetricsLine& loss = run->of(StepNumber::kLoss)[0];
  REQUIRE(loss.name == "cmr");
  REQUIRE(loss.points[0].y == 4.5);
  REQUIRE(std::isnan(loss.points[1].y));
  REQUIRE(run->gaps.size() == 1);
  REQUIRE(run->of(StepNumber::kFirst)[1].points[1].y == 0.75);
  REQUIRE(run->of(StepNumber::kTemperature).empty());
  REQUIRE(run->scores.size() == 1);
  REQUIRE(run->scores[0].best);
  REQUIRE(run->scores[0].at.y == 3.5);
  REQUIRE(run->recalls.size() == 2);
  REQUIRE(run->recalls[1].name == "pairs, image to text");
  REQUIRE(run->recalls[1].at[2][0].y == 6);
  REQUIRE(run->checkpoints[0].path == "run/c");
  REQUIRE(run->notes[0].message == "said");
  REQUIRE(run->notes[1].message == "damaged");
  const std::string metrics = *ReadFile(options.metrics_path);
  REQUIRE(absl::StrContains(metrics, R"("message":"said"})"));
  REQUIRE(absl::StrContains(metrics, R"("message":"damaged","severity":"WARNING"})"));
}

TEST_CASE("the line says how far, how well by each task and how long") {
  RecipeStepReport report = Step(50, 4.25);
  report.remaining = absl::Seconds(3723);
  REQUIRE(StepLine(report, absl::nullopt) ==
          "50/400  cmr 4.250 hit 25 %  pairs 0.500 hit 75 %  41/s  1:02:03 left");
  report.tasks.pop_back();
  report.remaining = absl::Seconds(61);
  REQUIRE(StepLine(report, 40.06) ==
          "50/400  cmr 4.250 hit 25 %  development 40.1  41/s  1:01 left");
}

TEST_CASE("a look's line says the mean, among how many, and recall each way") {
  DevelopmentReport report = Look();
  report.pictures = 1000;
  report.captions = 5000;
  REQUIRE(DevelopmentLine(report) ==
          "step 100: development AR 3.5 among 1000 pictures and 5000 captions; by pairs "
          "recall@1/5/10 text to image 1.0/2.0/3.0, image to text 4.0/5.0/6.0");
  DevelopmentFinding towers;
  towers.text_to_image.at = {30.06, 55, 63};
  report.findings.insert(report.findings.begin(), towers);
  REQUIRE(absl::StrContains(DevelopmentLine(report),
                            "captions; by towers recall@1/5/10 text to image 30.1/55.0/63.0, image "
                            "to text 0.0/0.0/0.0; by pairs"));
}

TEST_CASE("where nothing was looked for the line says so") {
  REQUIRE(DevelopmentLine(DevelopmentReport()) ==
          "no task looks for pictures or texts; the last weights");
}

TEST_CASE("on a terminal the last look's score is drawn beside the steps behind it") {
  const TempDir dir;
  std::string drawn;
  RunLog::Options options;
  options.metrics_path = dir.File("metrics.jsonl");
  options.terminal = true;
  options.write = [&](absl::string_view text) { drawn += std::string(text); };
  auto log = RunLog::Create(options);
  REQUIRE(log.ok());
  RecipeReporter reporter(*std::move(log));
  reporter.OnStep(Step(50, 4.25));
  REQUIRE(absl::StrContains(drawn, StepLine(Step(50, 4.25), absl::nullopt)));
  reporter.OnDevelopment(Look(), /*best=*/true);
  REQUIRE(absl::StrContains(drawn, DevelopmentLine(Look())));
  reporter.OnStep(Step(100, 4));
  REQUIRE(absl::StrContains(drawn, StepLine(Step(100, 4), 3.5)));
}

}  // namespace
}  // namespace sightline
