#include "common/training/recipe_progress.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/models/network/weights.h"
#include "common/training/frozen_models.h"
#include "common/training/run_checkpoint.h"

namespace sightline {
namespace {

constexpr char kLookedStepFact[] = "looked_step";
constexpr char kBestStepFact[] = "best_step", kBestScoreFact[] = "best_score";
// Goes up when the same job would end in other weights.
constexpr int kTrainerVersion = 5;

std::vector<at::Tensor> TensorsOf(const std::map<std::string, at::Tensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, value] : named) tensors.push_back(value);
  return tensors;
}

}  // namespace

std::string DescribeJob(const RecipeJob& job) {
  return absl::StrCat(
      "trainer=", kTrainerVersion, "\n", DescribeRecipe(job.recipe),
      DescribeBundles(job.recipe, job.others),
      "wordnet=", job.wordnet == nullptr ? "none" : job.wordnet->digest(),
      "\nstart=", job.start->id, "\nlearnt=", job.learnt->Digest(),
      "\ndevelopment=", job.development == nullptr ? "none" : job.development->Digest(), "\n");
}

std::string NameOfHead(absl::string_view parameter) {
  return absl::StrCat("heads.", parameter);
}

std::map<std::string, at::Tensor> WeightsOf(const TrainableNetwork& network,
                                            const PretrainingHeads& heads) {
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : network.module->named_parameters()) {
    weights[item.key()] = item.value().detach();
  }
  for (const auto& item : network.module->named_buffers()) weights[item.key()] = item.value();
  if (!heads) return weights;
  for (const auto& item : heads->named_parameters()) {
    weights[NameOfHead(item.key())] = item.value().detach();
  }
  return weights;
}

std::map<std::string, at::Tensor> CopyOfWeights(const TrainableNetwork& network,
                                                const PretrainingHeads& heads) {
  std::map<std::string, at::Tensor> weights = WeightsOf(network, heads);
  for (auto& [name, value] : weights) value = value.clone();
  return weights;
}

RecipeCheckpoints::RecipeCheckpoints(const Parts& parts, RecipeProgress* progress)
    : parts_(parts), progress_(*progress), written_time_(parts.clock->Now()) {}

// A checkpoint's tensors, where they lie.
std::map<std::string, at::Tensor> RecipeCheckpoints::State() const {
  std::map<std::string, at::Tensor> state = parts_.optimizer->State();
  for (const auto& item : parts_.learner->module->named_buffers()) {
    state[absl::StrCat("buffer/", item.key())] = item.value();
  }
  for (const auto& [name, value] : progress_.best) state[absl::StrCat("best/", name)] = value;
  if (parts_.miner != nullptr) state.merge(parts_.miner->State());
  return state;
}

bool RecipeCheckpoints::IsDue() const {
  return parts_.clock->Now() - written_time_ >= parts_.job->checkpoint_every;
}

absl::Status RecipeCheckpoints::WriteUnlessDone(const at::Tensor& gradient_norm) {
  const std::string& directory = parts_.job->checkpoint_directory;
  if (directory.empty() || progress_.step == written_step_) return absl::OkStatus();
  if (!parts_.world->is_first()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckGradient(gradient_norm, progress_.step));
  TrainingCheckpoint checkpoint =
      CheckpointOf(DescribeJob(*parts_.job), {progress_.step, parts_.optimizer->step_counts()});
  checkpoint.facts[kLookedStepFact] = absl::StrCat(progress_.looked_step);
  if (!progress_.best.empty()) {
    checkpoint.facts[kBestStepFact] = absl::StrCat(progress_.development.step);
    checkpoint.facts[kBestScoreFact] = absl::StrFormat("%.17g", progress_.development.score);
  }
  checkpoint.tensors = State();
  ASSIGN_OR_RETURN(const WrittenCheckpoint written,
                   WriteCheckpoint(directory, progress_.step, checkpoint));
  written_step_ = progress_.step;
  written_time_ = parts_.clock->Now();
  parts_.observer->OnCheckpoint(progress_.step, written.path, written.byte_count);
  return absl::OkStatus();
}

absl::Status RecipeCheckpoints::Resume() {
  TrainingWorld& world = *parts_.world;
  RETURN_IF_ERROR(world.Agree(world.is_first() ? TakeUpNewest() : absl::OkStatus()));
  if (!world.is_alone()) RETURN_IF_ERROR(TakeStateOfFirst());
  written_step_ = progress_.step;
  return absl::OkStatus();
}

// Where process 0 is, and all that it has there: what it has taken up, or what it begins with.
absl::Status RecipeCheckpoints::TakeStateOfFirst() {
  std::vector<int64_t> counts = parts_.optimizer->step_counts();
  const at::Tensor place =
      at::tensor({progress_.step, progress_.looked_step, int64_t{progress_.best.empty() ? 0 : 1},
                  progress_.development.step},
                 at::kLong);
  const at::Tensor score = at::full({}, progress_.development.score, at::kDouble);
  const at::Tensor of_groups =
      at::from_blob(counts.data(), {static_cast<int64_t>(counts.size())}, at::kLong);
  RETURN_IF_ERROR(parts_.world->TakeFromFirst({place, score, of_groups}));
  const int64_t* const numbers = place.data_ptr<int64_t>();
  progress_.step = numbers[0];
  progress_.looked_step = numbers[1];
  if (numbers[2] > 0 && progress_.best.empty()) {
    progress_.best = CopyOfWeights(*parts_.learner, parts_.heads);
  }
  progress_.development.step = numbers[3];
  progress_.development.score = score.item<double>();
  parts_.optimizer->set_step_counts(counts);
  const at::NoGradGuard no_grad;
  return parts_.world->TakeFromFirst(TensorsOf(State()));
}

absl::Status RecipeCheckpoints::TakeUpNewest() {
  ASSIGN_OR_RETURN(
      auto found,
      FindCheckpoint(parts_.job->checkpoint_directory, DescribeJob(*parts_.job),
                     [&](absl::string_view damage) { parts_.observer->OnWarning(damage); }));
  if (!found.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(TakeUp(&*found));
  parts_.observer->OnNote(
      absl::StrCat("continues behind step ", progress_.step, " of ", parts_.job->recipe.steps));
  return absl::OkStatus();
}

absl::Status RecipeCheckpoints::TakeUp(TrainingCheckpoint* checkpoint) {
  const std::string& directory = parts_.job->checkpoint_directory;
  ASSIGN_OR_RETURN(const RunPlace place, PlaceOf(*checkpoint, directory, parts_.job->recipe.steps,
                                                 parts_.optimizer->step_counts().size()));
  if (!absl::SimpleAtoi(checkpoint->facts[kLookedStepFact], &progress_.looked_step)) {
    return Contradiction(directory);
  }
  if (const auto best = checkpoint->facts.find(kBestStepFact); best != checkpoint->facts.end()) {
    if (!absl::SimpleAtoi(best->second, &progress_.development.step) ||
        !absl::SimpleAtod(checkpoint->facts[kBestScoreFact], &progress_.development.score)) {
      return Contradiction(directory);
    }
    progress_.best = CopyOfWeights(*parts_.learner, parts_.heads);
  }
  {
    const at::NoGradGuard no_grad;
    RETURN_IF_ERROR(CopyTensors(checkpoint->tensors, State()));
  }
  if (parts_.miner != nullptr && !parts_.miner->CanBe(place.step)) return Contradiction(directory);
  parts_.optimizer->set_step_counts(place.step_counts);
  progress_.step = place.step;
  return absl::OkStatus();
}

}  // namespace sightline
