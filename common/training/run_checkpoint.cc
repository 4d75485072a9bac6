#include "common/training/run_checkpoint.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr char kJobFact[] = "job";
constexpr char kStepFact[] = "step";
constexpr char kCountsFact[] = "step_counts";

std::string FactOf(const TrainingCheckpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.facts.find(name);
  return found == checkpoint.facts.end() ? "" : found->second;
}

}  // namespace

TrainingCheckpoint CheckpointOf(const std::string& job, const RunPlace& place) {
  TrainingCheckpoint checkpoint;
  checkpoint.facts[kJobFact] = job;
  checkpoint.facts[kStepFact] = absl::StrCat(place.step);
  checkpoint.facts[kCountsFact] = absl::StrJoin(place.step_counts, ",");
  return checkpoint;
}

absl::StatusOr<absl::optional<TrainingCheckpoint>> FindCheckpoint(
    const std::string& directory, const std::string& job,
    const std::function<void(absl::string_view)>& warn) {
  if (directory.empty()) return absl::nullopt;
  std::vector<std::string> damaged;
  auto found = ReadNewestCheckpoint(directory, &damaged);
  for (const std::string& problem : damaged) {
    warn(absl::StrCat("passed over a damaged checkpoint: ", problem));
  }
  if (absl::IsNotFound(found.status())) return absl::nullopt;
  RETURN_IF_ERROR(found.status());
  const std::string differences = LineDifferences(FactOf(*found, kJobFact), job);
  if (differences.empty()) return absl::make_optional(*std::move(found));
  return absl::FailedPreconditionError(
      absl::StrCat(directory, " holds a checkpoint of another job (", differences,
                   "); go back to its options or choose another folder"));
}

absl::Status Contradiction(const std::string& directory) {
  return absl::DataLossError(
      absl::StrCat("the checkpoint of ", directory, " contradicts itself; remove it"));
}

absl::StatusOr<RunPlace> PlaceOf(const TrainingCheckpoint& checkpoint, const std::string& directory,
                                 int64_t steps, size_t groups) {
  RunPlace place;
  for (const absl::string_view text : absl::StrSplit(FactOf(checkpoint, kCountsFact), ',')) {
    int64_t count = 0;
    if (absl::SimpleAtoi(text, &count) && count >= 0) place.step_counts.push_back(count);
  }
  const bool is_step = absl::SimpleAtoi(FactOf(checkpoint, kStepFact), &place.step);
  if (!is_step || place.step < 1 || place.step > steps || place.step_counts.size() != groups) {
    return Contradiction(directory);
  }
  return place;
}

absl::Status CheckGradient(const at::Tensor& norm, int64_t step) {
  if (std::isfinite(norm.item<double>())) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the gradient is not finite at step ", step,
                   "; no checkpoint was written; start again with a lower rate"));
}

}  // namespace sightline
