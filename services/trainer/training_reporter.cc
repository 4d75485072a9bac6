#include "services/trainer/training_reporter.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const Recall& recall) {
  return {{"recall_at_1", recall.at1},
          {"recall_at_5", recall.at5},
          {"recall_at_10", recall.at10},
          {"mean_reciprocal_rank", recall.mean_reciprocal_rank}};
}

Json JsonOf(const QueriesReport& report, bool has_reranking) {
  Json json = {{"queries", report.queries}, {"retrieval", JsonOf(report.retrieval)}};
  if (has_reranking) {
    json["reranked"] = JsonOf(report.reranked);
    Json best = JsonOf(report.best.recall);
    best["combination"] = std::string(CombinationKindName(report.best.combination.kind));
    best["lambda"] = report.best.combination.lambda;
    json["best"] = std::move(best);
    json["rerank_by_default"] = ChoiceOf(report).by_default;
  }
  return json;
}

Json JsonOf(const StepReport& report) {
  Json json = {{"event", "step"},
               {"stage", std::string(TrainingStageName(report.stage))},
               {"step", report.step},
               {"steps", report.steps},
               {"epoch", report.epoch}};
  if (report.has_bi) {
    json["bi_loss"] = report.bi_loss;
    json["bi_accuracy"] = report.bi_accuracy;
  }
  if (report.concept_loss > 0) json["concept_loss"] = report.concept_loss;
  if (report.has_cross) {
    json["cross_loss"] = report.cross_loss;
    json["cross_accuracy"] = report.cross_accuracy;
  }
  json["rate"] = report.rate;
  json["gradient_norm"] = report.gradient_norm;
  json["temperature"] = report.temperature;
  json["items_per_second"] = report.items_per_second;
  json["elapsed_seconds"] = absl::ToDoubleSeconds(report.elapsed);
  json["remaining_seconds"] = absl::ToDoubleSeconds(report.remaining);
  return json;
}

Json JsonOf(const ValidationReport& report) {
  Json json = {{"event", "validation"},
               {"stage", std::string(TrainingStageName(report.stage))},
               {"step", report.step},
               {"epoch", report.epoch},
               {"pool", report.pool},
               {"validation", JsonOf(report.validation, report.has_reranking)},
               {"training", JsonOf(report.training, report.has_reranking)}};
  if (report.image_to_text.queries > 0) {
    json["captions_pool"] = report.captions_pool;
    json["image_to_text"] = JsonOf(report.image_to_text, true);
  }
  json["seconds"] = absl::ToDoubleSeconds(report.took);
  return json;
}

std::string Three(const Recall& recall) {
  return absl::StrFormat("%.1f/%.1f/%.1f", recall.at1, recall.at5, recall.at10);
}

std::string Describe(const QueriesReport& report, bool has_reranking) {
  std::string text = absl::StrCat(Three(report.retrieval), " of ", report.queries);
  if (has_reranking) {
    absl::StrAppendFormat(&text, ", reranked %s, best %s by %s", Three(report.reranked),
                          Three(report.best.recall),
                          CombinationKindName(report.best.combination.kind));
    if (report.best.combination.kind != CombinationKind::kReplace) {
      absl::StrAppendFormat(&text, " %.1f", report.best.combination.lambda);
    }
    if (!ChoiceOf(report).by_default) text += ", no better than retrieval";
  }
  return text;
}

}  // namespace

std::string StepLine(const StepReport& report, const ValidationReport* validation) {
  std::string line = absl::StrFormat("%s %d/%d  epoch %.1f", TrainingStageName(report.stage),
                                     report.step, report.steps, report.epoch);
  if (report.has_bi) {
    absl::StrAppendFormat(&line, "  bi loss %.3f hit %.0f %%", report.bi_loss,
                          100 * report.bi_accuracy);
  }
  if (report.concept_loss > 0) {
    absl::StrAppendFormat(&line, "  concept loss %.3f", report.concept_loss);
  }
  if (report.has_cross) {
    absl::StrAppendFormat(&line, "  cross loss %.3f hit %.0f %%", report.cross_loss,
                          100 * report.cross_accuracy);
  }
  if (validation != nullptr) {
    const QueriesReport& queries = validation->validation;
    const Recall& recall = validation->has_reranking ? queries.best.recall : queries.retrieval;
    absl::StrAppendFormat(&line, "  recall@1 %.1f @10 %.1f", recall.at1, recall.at10);
  }
  absl::StrAppendFormat(&line, "  %.0f/s  %s left of %s", report.items_per_second,
                        ClockTime(report.remaining), TrainingStageName(report.stage));
  return line;
}

std::string ValidationLine(const ValidationReport& report) {
  std::string line = absl::StrFormat(
      "%s step %d, epoch %.1f: recall@1/5/10 among %d pictures, validation %s; training %s",
      TrainingStageName(report.stage), report.step, report.epoch, report.pool,
      Describe(report.validation, report.has_reranking),
      Describe(report.training, report.has_reranking));
  if (report.image_to_text.queries > 0) {
    absl::StrAppendFormat(&line, "; among %d captions, validation %s", report.captions_pool,
                          Describe(report.image_to_text, true));
  }
  return line;
}

absl::StatusOr<std::unique_ptr<TrainingReporter>> TrainingReporter::Create(
    const RunLog::Options& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<RunLog> log, RunLog::Create(options));
  return absl::WrapUnique(new TrainingReporter(std::move(log)));
}

void TrainingReporter::OnStep(const StepReport& report) {
  log_->AddMetrics(JsonOf(report));
  if (log_->terminal()) {
    log_->Draw(StepLine(report, last_validation_.has_value() ? &*last_validation_ : nullptr));
    return;
  }
  Log(Severity::kInfo, "training",
      {{"stage", TrainingStageName(report.stage)},
       {"step", report.step},
       {"steps", report.steps},
       {"epoch", report.epoch},
       {"bi_loss", report.bi_loss},
       {"bi_accuracy", report.bi_accuracy},
       {"concept_loss", report.concept_loss},
       {"cross_loss", report.cross_loss},
       {"cross_accuracy", report.cross_accuracy},
       {"items_per_second", report.items_per_second},
       {"remaining_seconds", report.remaining}});
}

void TrainingReporter::OnValidation(const ValidationReport& report) {
  log_->AddMetrics(JsonOf(report));
  last_validation_ = report;
  if (log_->terminal()) {
    log_->Print(ValidationLine(report));
    return;
  }
  const QueriesReport& queries = report.validation;
  const Recall& best = report.has_reranking ? queries.best.recall : queries.retrieval;
  Log(Severity::kInfo, "validation",
      {{"stage", TrainingStageName(report.stage)},
       {"step", report.step},
       {"epoch", report.epoch},
       {"queries", queries.queries},
       {"pool", report.pool},
       {"retrieval_recall_at_1", queries.retrieval.at1},
       {"retrieval_recall_at_10", queries.retrieval.at10},
       {"recall_at_1", best.at1},
       {"recall_at_10", best.at10},
       {"training_recall_at_1", report.training.retrieval.at1},
       {"seconds", report.took}});
}

void TrainingReporter::OnCheckpoint(const CheckpointReport& report) {
  log_->AddMetrics({{"event", "checkpoint"},
                    {"stage", std::string(TrainingStageName(report.stage))},
                    {"step", report.step},
                    {"path", report.path},
                    {"bytes", report.byte_count}});
  if (log_->terminal()) return;  // the next step is news enough
  Log(Severity::kInfo, "checkpoint",
      {{"stage", TrainingStageName(report.stage)},
       {"step", report.step},
       {"path", report.path},
       {"bytes", report.byte_count}});
}

void TrainingReporter::OnNote(absl::string_view message) {
  log_->Note(Severity::kInfo, message);
}

void TrainingReporter::OnWarning(absl::string_view message) {
  log_->Note(Severity::kWarning, message);
}

}  // namespace sightline
