#include "services/trainer/recipe_reporter.h"

#include "absl/strings/str_format.h"
#include "common/log/log.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const DirectionRecall& recall) {
  return {
      {"recall_at_1", recall.at[0]}, {"recall_at_5", recall.at[1]}, {"recall_at_10", recall.at[2]}};
}

Json JsonOf(const RecipeStepReport& report) {
  Json json = {{"event", "step"}, {"step", report.step}, {"steps", report.steps}};
  Json tasks = Json::array();
  for (const RecipeStepReport::Task& task : report.tasks) {
    Json& of_task = tasks.emplace_back(
        Json{{"objective", task.objective}, {"steps", task.steps}, {"loss", task.loss}});
    if (task.first.has_value()) of_task["first"] = *task.first;
  }
  json["tasks"] = std::move(tasks);
  json["rate"] = report.rate;
  json["gradient_norm"] = report.gradient_norm;
  if (report.temperature > 0) json["temperature"] = report.temperature;
  json["items_per_second"] = report.items_per_second;
  json["elapsed_seconds"] = absl::ToDoubleSeconds(report.elapsed);
  json["remaining_seconds"] = absl::ToDoubleSeconds(report.remaining);
  return json;
}

absl::string_view WayName(DevelopmentWay way) {
  return way == DevelopmentWay::kTowers ? "towers" : "pairs";
}

Json JsonOf(const DevelopmentFinding& finding) {
  return {{"by", std::string(WayName(finding.way))},
          {"score", finding.score},
          {"text_to_image", JsonOf(finding.text_to_image)},
          {"image_to_text", JsonOf(finding.image_to_text)}};
}

std::string Three(const DirectionRecall& recall) {
  return absl::StrFormat("%.1f/%.1f/%.1f", recall.at[0], recall.at[1], recall.at[2]);
}

}  // namespace

std::string StepLine(const RecipeStepReport& report, const absl::optional<double>& score) {
  std::string line = absl::StrFormat("%d/%d", report.step, report.steps);
  for (const RecipeStepReport::Task& task : report.tasks) {
    absl::StrAppendFormat(&line, "  %s %.3f", task.objective, task.loss);
    if (task.first.has_value()) absl::StrAppendFormat(&line, " hit %.0f %%", 100 * *task.first);
  }
  if (score.has_value()) absl::StrAppendFormat(&line, "  development %.1f", *score);
  absl::StrAppendFormat(&line, "  %.0f/s  %s left", report.items_per_second,
                        ClockTime(report.remaining));
  return line;
}

std::string DevelopmentLine(const DevelopmentReport& report) {
  // Hidden words alone are learnt, say.
  if (report.findings.empty()) return "no task looks for pictures or texts; the last weights";
  std::string line =
      absl::StrFormat("step %d: development AR %.1f among %d pictures and %d captions", report.step,
                      report.score, report.pictures, report.captions);
  for (const DevelopmentFinding& finding : report.findings) {
    absl::StrAppendFormat(&line, "; by %s recall@1/5/10 text to image %s, image to text %s",
                          WayName(finding.way), Three(finding.text_to_image),
                          Three(finding.image_to_text));
  }
  return line;
}

void RecipeReporter::OnStep(const RecipeStepReport& report) {
  log_->AddMetrics(JsonOf(report));
  if (log_->terminal()) {
    log_->Draw(StepLine(report, last_score_));
  } else {
    Log(Severity::kInfo, "training", {{"line", StepLine(report, last_score_)}});
  }
}

void RecipeReporter::OnDevelopment(const DevelopmentReport& report, bool best) {
  Json findings = Json::array();
  for (const DevelopmentFinding& finding : report.findings) findings.push_back(JsonOf(finding));
  log_->AddMetrics({{"event", "development"},
                    {"step", report.step},
                    {"score", report.score},
                    {"best", best},
                    {"pictures", report.pictures},
                    {"captions", report.captions},
                    {"findings", std::move(findings)}});
  last_score_ = report.score;
  if (log_->terminal()) {
    log_->Print(DevelopmentLine(report));
  } else {
    Log(Severity::kInfo, "development", {{"line", DevelopmentLine(report)}});
  }
}

void RecipeReporter::OnCheckpoint(int64_t step, const std::string& path, int64_t byte_count) {
  log_->AddMetrics(
      {{"event", "checkpoint"}, {"step", step}, {"path", path}, {"bytes", byte_count}});
  if (log_->terminal()) return;  // the next step is news enough
  Log(Severity::kInfo, "checkpoint", {{"step", step}, {"path", path}, {"bytes", byte_count}});
}

void RecipeReporter::OnNote(absl::string_view message) {
  log_->Note(Severity::kInfo, message);
}

void RecipeReporter::OnWarning(absl::string_view message) {
  log_->Note(Severity::kWarning, message);
}

}  // namespace sightline
