#include "services/trainer/training_reporter.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "services/trainer/run_metrics.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

StepReport Step() {
  StepReport report;
  report.stage = TrainingStage::kBi;
  report.step = 50;
  report.steps = 2220;
  report.epoch = 1.35;
  report.has_bi = true;
  report.bi_loss = 4.25;
  report.bi_accuracy = 0.125;
  report.items_per_second = 41;
  report.remaining = absl::Seconds(3723);
  return report;
}

ValidationReport Validation() {
  ValidationReport report;
  report.stage = TrainingStage::kJoint;
  report.step = 100;
  report.epoch = 5;
  report.has_reranking = true;
  report.pool = 10257;
  report.validation.queries = 239;
  report.validation.retrieval = {25.1, 50, 60, 0.36};
  report.validation.reranked = {30, 55, 63, 0.4};
  report.validation.best = {{CombinationKind::kAddLambda, 0.5f}, {33, 56, 64, 0.42}};
  report.training.queries = 500;
  report.captions_pool = 9965;
  report.image_to_text.queries = 238;
  report.image_to_text.retrieval = {20, 40, 50, 0.3};
  report.image_to_text.best = {{CombinationKind::kAddLambda, 0.9f}, {19, 41, 51, 0.31}};
  return report;
}

class Fixture {
 public:
  std::unique_ptr<TrainingReporter> Open() {
    RunLog::Options options;
    options.metrics_path = dir.File("metrics.jsonl");
    options.terminal = true;
    options.write = [this](absl::string_view text) { drawn.append(text.data(), text.size()); };
    auto reporter = TrainingReporter::Create(options);
    REQUIRE(reporter.ok());
    return *std::move(reporter);
  }

  std::vector<nlohmann::json> Metrics() const {
    std::vector<nlohmann::json> metrics;
    const std::string text = *ReadFile(dir.File("metrics.jsonl"));
    for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      metrics.push_back(nlohmann::json::parse(std::string(line)));
    }
    return metrics;
  }

  TempDir dir;
  std::string drawn;
};

TEST_CASE("the line says how far, how well and how long") {
  REQUIRE(StepLine(Step(), nullptr) ==
          "bi 50/2220  epoch 1.4  bi loss 4.250 hit 12 %  41/s  1:02:03 left of bi");
  StepReport joint = Step();
  joint.stage = TrainingStage::kJoint;
  joint.has_cross = true;
  joint.cross_loss = 1.5;
  joint.cross_accuracy = 0.5;
  joint.remaining = absl::Seconds(61);
  const ValidationReport validation = Validation();
  REQUIRE(StepLine(joint, &validation) ==
          "joint 50/2220  epoch 1.4  bi loss 4.250 hit 12 %  cross loss 1.500 hit 50 %  "
          "recall@1 33.0 @10 64.0  41/s  1:01 left of joint");
}

TEST_CASE_METHOD(Fixture, "every report is a line of metrics, there at once") {
  const auto reporter = Open();
  reporter->OnStep(Step());
  reporter->OnValidation(Validation());
  reporter->OnCheckpoint({TrainingStage::kJoint, 100, "/c/1", 12});
  reporter->OnNote("continues at joint step 100 \"\xFF\"");
  const std::vector<nlohmann::json> metrics = Metrics();
  REQUIRE(metrics.size() == 4);
  REQUIRE(metrics[0]["event"] == "step");
  REQUIRE(metrics[0]["stage"] == "bi");
  REQUIRE(metrics[0]["bi_loss"] == 4.25);
  REQUIRE_FALSE(metrics[0].contains("cross_loss"));
  REQUIRE(metrics[0]["remaining_seconds"] == 3723);
  REQUIRE(metrics[1]["event"] == "validation");
  REQUIRE(metrics[1]["validation"]["retrieval"]["recall_at_1"] == 25.1);
  REQUIRE(metrics[1]["validation"]["reranked"]["recall_at_10"] == 63);
  REQUIRE(metrics[1]["validation"]["best"]["combination"] == "add_lambda");
  REQUIRE(metrics[1]["validation"]["best"]["lambda"] == 0.5);
  REQUIRE(metrics[1]["validation"]["rerank_by_default"] == true);
  REQUIRE(metrics[1]["training"]["queries"] == 500);
  REQUIRE(metrics[1]["captions_pool"] == 9965);
  REQUIRE(metrics[1]["image_to_text"]["retrieval"]["recall_at_1"] == 20);
  REQUIRE(metrics[1]["image_to_text"]["rerank_by_default"] == false);
  REQUIRE(metrics[2]["event"] == "checkpoint");
  REQUIRE(metrics[2]["bytes"] == 12);
  REQUIRE(metrics[3]["event"] == "note");
}

TEST_CASE_METHOD(Fixture, "what is reported is what a page is drawn of") {
  const auto reporter = Open();
  reporter->OnStep(Step());
  reporter->OnValidation(Validation());
  reporter->OnCheckpoint({TrainingStage::kJoint, 100, "/c/1", 12});
  reporter->OnNote("said");
  const absl::StatusOr<RunMetrics> run = ParseRunMetrics(*ReadFile(dir.File("metrics.jsonl")));
  REQUIRE(run.ok());
  REQUIRE(run->problem_count == 0);
  REQUIRE(run->of(StepNumber::kLoss)[0].points[0].y == 4.25);
  REQUIRE(run->of(StepNumber::kFirst)[0].points[0].y == 0.125);
  REQUIRE(run->of(StepNumber::kItemsPerSecond)[0].points[0].y == 41);
  REQUIRE(run->recalls.size() == 9);  // three of each of validation, training, image to text
  REQUIRE(run->recalls[2].name == "validation, best combination");
  REQUIRE(run->recalls[2].at[0][0].y == 33);
  REQUIRE(run->recalls[2].at[0][0].x == 2220 + 100);
  REQUIRE(run->checkpoints.size() == 1);
  REQUIRE(run->notes.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a run that continues appends") {
  Open()->OnStep(Step());
  Open()->OnStep(Step());
  REQUIRE(Metrics().size() == 2);
}

TEST_CASE_METHOD(Fixture, "validations stay on the terminal, steps are drawn over each other") {
  const auto reporter = Open();
  reporter->OnStep(Step());
  reporter->OnStep(Step());
  REQUIRE_FALSE(absl::StrContains(drawn, "\n"));
  reporter->OnValidation(Validation());
  REQUIRE(absl::EndsWith(drawn, "\n"));
  REQUIRE(absl::StrContains(drawn, "25.1/50.0/60.0 of 239"));
  REQUIRE(absl::StrContains(drawn, "best 33.0/56.0/64.0 by add_lambda 0.5; training"));
  REQUIRE(absl::StrContains(drawn, "; among 9965 captions, validation 20.0/40.0/50.0 of 238, "));
  REQUIRE(absl::StrContains(drawn,
                            "best 19.0/41.0/51.0 by add_lambda 0.9, no better than retrieval\n"));
  reporter->OnStep(Step());
  REQUIRE(absl::StrContains(drawn, "recall@1 33.0"));
  reporter->End();
  REQUIRE(absl::EndsWith(drawn, "\n"));
}

TEST_CASE("metrics that cannot be opened are an error that names them") {
  RunLog::Options options;
  options.metrics_path = "/nowhere/metrics.jsonl";
  const absl::Status status = TrainingReporter::Create(options).status();
  REQUIRE(absl::IsNotFound(status));
  REQUIRE(absl::StrContains(status.message(), "/nowhere/metrics.jsonl"));
}

}  // namespace
}  // namespace sightline
