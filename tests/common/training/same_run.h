// Runs of several processes, held to that of one.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_SAME_RUN_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_SAME_RUN_H_

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/network/weights.h"
#include "tests/common/training/in_worlds.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"

namespace sightline {

// What makes rounding, by which a process's sums differ, stay rounding.  A weight whose gradient is
// rounding alone would else go as far as any other, and which wrong pair is the hardest would come
// to differ.
inline void KeepRoundingSmall(Recipe* recipe) {
  recipe->adamw.epsilon = 1e-2;
  recipe->rate.peak = 1e-3;
}

// All that a run's last checkpoint holds.
inline std::map<std::string, at::Tensor> LastCheckpointOf(const RecipeFixture& run) {
  const std::string bytes = *ReadFile(
      run.checkpoints.File(absl::StrFormat("checkpoint-%09d.safetensors", run.job.recipe.steps)));
  const auto file = *Safetensors::FromBytes(bytes);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : file->tensors()) tensors[name] = *ToTorch(tensor);
  return tensors;
}

// What each process ends with.  `processes` are pointers to RecipeFixtures.
template <typename Processes>
std::vector<absl::Status> RunTogether(const Processes& processes) {
  const auto size = static_cast<int>(processes.size());
  const std::vector<TrainingWorldOptions> options = OptionsOfWorld(size);
  return InThreads(size, [&](int rank) {
    RecipeFixture& process = *processes[rank];
    process.job.world = options[rank];
    process.notes.steps.clear();
    return TrainByRecipe(process.job, &process.notes, CallContext::Unbounded()).status();
  });
}

// Both end in the same weights, moments and running statistics.
inline void RequireSameEnd(const RecipeFixture& actual, const RecipeFixture& expected) {
  const auto tensors = LastCheckpointOf(actual), of_one = LastCheckpointOf(expected);
  REQUIRE(tensors.size() == of_one.size());
  for (const auto& [name, tensor] : of_one) {
    INFO(name);
    const double difference =
        (tensors.at(name).to(at::kDouble) - tensor.to(at::kDouble)).norm().item<double>();
    REQUIRE(difference <= 1e-3 * tensor.to(at::kDouble).norm().item<double>() + 1e-6);
  }
}

// Both told of the same losses and gradients.
inline void RequireSameSteps(const RecipeFixture& actual, const RecipeFixture& expected) {
  REQUIRE(actual.notes.steps.size() == expected.notes.steps.size());
  for (size_t i = 0; i < expected.notes.steps.size(); ++i) {
    const RecipeStepReport &step = actual.notes.steps[i], &of_one = expected.notes.steps[i];
    INFO("step " << of_one.step);
    REQUIRE(step.gradient_norm == Approx(of_one.gradient_norm).epsilon(1e-3));
    REQUIRE(step.tasks.size() == of_one.tasks.size());
    for (size_t k = 0; k < of_one.tasks.size(); ++k) {
      REQUIRE(step.tasks[k].loss == Approx(of_one.tasks[k].loss).epsilon(1e-3));
    }
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_SAME_RUN_H_
