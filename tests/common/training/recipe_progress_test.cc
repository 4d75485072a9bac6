// What becomes of a run by a recipe that is killed between two checkpoints.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/network/weights.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/training/killed_run.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct KillableJob {
  std::string family;
  std::vector<TaskRecipe> tasks;
  int64_t mined_every = 0;
};

// With heads of pre-training, running statistics, and wrong ones that are mined.
std::vector<KillableJob> Jobs() {
  std::vector<KillableJob> jobs = {{"oscar", {TaskOf("hinge"), TaskOf("pairwise", 4)}},
                                   {"uniter", {TaskOf("mlm"), TaskOf("mrfr"), TaskOf("matching")}},
                                   {"sgraf", {TaskOf("matrix_hinge", 5)}},
                                   {"lightningdot", {TaskOf("cmr")}, /*mined_every=*/8}};
  jobs[3].tasks[0].nearest = 2;
  return jobs;
}

struct KillableFixture : RecipeFixture {
  explicit KillableFixture(const KillableJob& of) : RecipeFixture(of.family, of.tasks) {
    job.recipe.dropout = 0.1;
    job.recipe.mining.every = of.mined_every;
  }

  std::string LastCheckpoint() const {
    return *ReadFile(
        checkpoints.File(absl::StrFormat("checkpoint-%09d.safetensors", job.recipe.steps)));
  }
};

TEST_CASE("a run that was killed goes back to its checkpoint and ends in the bits of another") {
  for (const KillableJob& job : Jobs()) {
    INFO(job.family);
    KillableFixture whole(job), killed(job);
    const auto expected = RunUntil(0, {}, &whole);
    INFO(expected.status());
    REQUIRE(expected.ok());
    // Where it looks and mines, and in between.
    REQUIRE_FALSE(RunUntil(11, {8}, &killed).ok());
    REQUIRE(killed.notes.checkpoints == std::vector<int64_t>{8});
    REQUIRE_FALSE(RunUntil(15, {10}, &killed).ok());
    REQUIRE(killed.notes.notes == std::vector<std::string>{"continues behind step 8 of 24"});
    REQUIRE(killed.notes.steps.front().step == 9);
    REQUIRE(killed.notes.checkpoints == std::vector<int64_t>{10});
    const auto ended = RunUntil(0, {}, &killed);
    REQUIRE(ended.ok());
    REQUIRE(killed.notes.steps.front().step == 11);
    REQUIRE(killed.WeightsOf(*ended) == whole.WeightsOf(*expected));
    REQUIRE(killed.LastCheckpoint() == whole.LastCheckpoint());
  }
}

TEST_CASE("heads that are written are those of the step whose weights are") {
  RecipeFixture of("uniter", {TaskOf("matching"), TaskOf("mlm")});
  of.job.checkpoint_directory = of.checkpoints.path();
  // Too little for another order of two pictures, so that the first look stays the best.
  of.job.recipe.rate.peak = 1e-6;
  of.job.recipe.develop_pictures = 2;
  const std::string made_bytes = of.WeightsOf(of.MustRun());
  REQUIRE(of.notes.best_step == 8);
  const std::string kept_bytes = *ReadFile(of.checkpoints.File("checkpoint-000000024.safetensors"));
  const auto made = *Safetensors::FromBytes(made_bytes);
  const auto kept = *Safetensors::FromBytes(kept_bytes);
  const std::string name = "cls.predictions.bias";
  const at::Tensor written = *ToTorch(made->tensors().at(name));
  const at::Tensor best = *ToTorch(kept->tensors().at("best/heads." + name));
  const at::Tensor last = *ToTorch(kept->tensors().at("weights/heads." + name));
  // As float16 has so small a number.
  REQUIRE(at::allclose(written, best, 1e-2, 1e-7));
  REQUIRE_FALSE(at::allclose(written, last, 1e-2, 1e-7));
}

TEST_CASE("a run that was killed before its first checkpoint begins anew") {
  KillableFixture of(Jobs()[3]);
  REQUIRE_FALSE(RunUntil(5, {}, &of).ok());
  REQUIRE(of.notes.checkpoints.empty());
  REQUIRE(RunUntil(0, {}, &of).ok());
  REQUIRE(of.notes.steps.front().step == 1);
}

TEST_CASE("checkpoints are as far apart as the job allows, and one is at the end") {
  KillableFixture of(Jobs()[3]);
  REQUIRE(RunUntil(0, {3, 20}, &of).ok());
  REQUIRE(of.notes.checkpoints == std::vector<int64_t>{3, 20, 24});
}

}  // namespace
}  // namespace sightline
