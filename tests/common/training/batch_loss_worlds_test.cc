// Losses and gradients of several processes, held to those of one.
#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "common/models/trainable.h"
#include "common/training/batch_loss.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/in_worlds.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kCandidates = 3;

TinyFamily FamilyNamed(const std::string& name) {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.name == name || family.manifest.family() == name) return family;
  }
  FAIL("no family " << name);
  return {};
}

// A way to learn, and how many rows are computed at once.
struct Way {
  std::string family, objective;
  bool distils_towers = false;
  int64_t pass_rows = 0;
};

// What a step leaves behind.
struct StepTrace {
  double loss = 0, first = 0;
  at::Tensor gradients, statistics;
  double scale_gradient = 0;
};

// A learner of its own, as each process has one; texts with images of which two are no text's,
// and problems.
class WorldLearner {
 public:
  WorldLearner(const Way& way, const ModelBundle& start, const TinyFamily& family, int64_t texts)
      : way_(way), objective_(**FindObjective(way.objective)), texts_(texts) {
    TrainableOptions options;
    options.dropout = 0.2;
    learner_ = *LoadTrainable(start, options);
    learner_->module->train();
    for (int64_t i = 0; i < 2 * (texts + 2); ++i) {
      images_.push_back(*learner_->network->ReadImage(TinyImage(family, static_cast<int>(i))));
      tokens_.push_back(learner_->text->Tokenize(TinyText(static_cast<int>(i)))->ids);
    }
    at::manual_seed(3);
    taught_ = at::randn({texts, kCandidates}) * 2;
  }

  // Adds the part of a step that `world`'s process has, twice, as accumulation does.
  absl::StatusOr<StepTrace> Step(TrainingWorld* world) {
    BatchLossOptions options;
    options.objective = objective_.defaults;
    options.pass_rows = way_.pass_rows;
    options.distils_towers = way_.distils_towers;
    options.world = world;
    options.seed = 5;
    log_scale_ = at::full({}, 0.5).set_requires_grad(true);
    const WorldPart all = {0, texts_};
    const WorldPart own = world == nullptr ? all : world->PartOf(texts_);
    ASSIGN_OR_RETURN(Loss loss,
                     AddGradients(objective_, options, BatchOf(own, world), *learner_, log_scale_));
    ASSIGN_OR_RETURN(loss,
                     AddGradients(objective_, options, BatchOf(own, world), *learner_, log_scale_));
    StepTrace outcome;
    outcome.loss = loss.value.item<double>();
    outcome.first = loss.first.defined() ? loss.first.item<double>() : -1;
    std::vector<at::Tensor> gradients, statistics = {at::zeros({1})};
    for (const at::Tensor& parameter : learner_->module->parameters()) {
      gradients.push_back(
          (parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter)).flatten());
    }
    for (const at::Tensor& buffer : learner_->module->buffers()) {
      statistics.push_back(buffer.flatten());
    }
    outcome.gradients = at::cat(gradients);
    outcome.statistics = at::cat(statistics);
    if (log_scale_.grad().defined()) outcome.scale_gradient = log_scale_.grad().item<double>();
    return outcome;
  }

 private:
  // None that is in the batch too: it would be as near as the right one, and which of the two comes
  // first would be a matter of rounding.  Captions of every other row, so that some processes may
  // have none.
  void AddHard(const WorldPart& own, PairBatch* batch) const {
    batch->has_hard_texts = batch->has_hard_images = true;
    for (int64_t i = own.begin; i < own.end; ++i) {
      if (i % 2 == 0) batch->hard_texts.emplace_back(tokens_[texts_ + 2 + i]);
      batch->hard_images.push_back(&images_[texts_ + 2 + i]);
    }
  }

  PairBatch BatchOf(const WorldPart& own, TrainingWorld* world) const {
    PairBatch batch;
    if (objective_.reads == ObjectiveReads::kPairLogits || objective_.reads_teacher) {
      // Each of its problems with the items that they are of, no image twice in one.
      batch.candidates = kCandidates;
      for (int64_t i = own.begin; i < own.end; ++i) {
        for (int64_t k = 0; k < kCandidates; ++k) {
          const auto place = static_cast<int64_t>(batch.texts.size());
          batch.texts.emplace_back(tokens_[i]);
          batch.images.push_back(&images_[(i + k) % (texts_ + 2)]);
          batch.pairs.emplace_back(place, place);
        }
      }
      batch.taught = taught_.narrow(0, own.begin, own.count());
      return batch;
    }
    const bool whole = objective_.reads == ObjectiveReads::kScoreMatrix;
    const WorldPart texts = whole ? WorldPart{0, texts_} : own;
    WorldPart images = {0, texts_ + 2};
    if (!whole && world != nullptr) images = world->PartOf(texts_ + 2);
    for (int64_t i = texts.begin; i < texts.end; ++i) batch.texts.emplace_back(tokens_[i]);
    for (int64_t i = images.begin; i < images.end; ++i) batch.images.push_back(&images_[i]);
    batch.related = at::zeros({texts_, texts_ + 2}, at::kBool);
    if (texts_ > 1) batch.related[0][texts_ + 1] = true;
    if (objective_.takes_hard) AddHard(own, &batch);
    return batch;
  }

  const Way way_;
  const Objective& objective_;
  const int64_t texts_;
  std::unique_ptr<TrainableNetwork> learner_;
  std::vector<ImageNumbers> images_;
  std::vector<std::vector<int32_t>> tokens_;
  at::Tensor taught_, log_scale_;
};

void RequireClose(const at::Tensor& actual, const at::Tensor& expected) {
  REQUIRE((actual - expected).norm().item<double>() <=
          1e-4 * expected.norm().item<double>() + 1e-9);
}

void RequireEqualToOne(const Way& way, int size, int64_t texts) {
  INFO(way.family << " by " << way.objective << ", " << texts << " texts, " << size
                  << " processes, passes of " << way.pass_rows);
  const TempDir store;
  const TinyFamily family = FamilyNamed(way.family);
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const auto expected = WorldLearner(way, start, family, texts).Step(nullptr);
  INFO(expected.status().ToString());
  REQUIRE(expected.ok());
  REQUIRE(expected->gradients.norm().item<double>() > 0);
  std::vector<std::unique_ptr<WorldLearner>> learners;
  for (int rank = 0; rank < size; ++rank) {
    learners.push_back(std::make_unique<WorldLearner>(way, start, family, texts));
  }
  std::vector<StepTrace> outcomes(size);
  REQUIRE(Failures(InWorlds(size, [&](TrainingWorld* world) -> absl::Status {
            ASSIGN_OR_RETURN(outcomes[world->rank()], learners[world->rank()]->Step(world));
            return absl::OkStatus();
          })) == "");
  at::Tensor gradients = at::zeros_like(expected->gradients);
  double scale_gradient = 0;
  for (const StepTrace& outcome : outcomes) {
    REQUIRE(outcome.loss == Approx(expected->loss).epsilon(1e-5));
    REQUIRE(outcome.first == Approx(expected->first));
    RequireClose(outcome.statistics, expected->statistics);
    gradients = gradients + outcome.gradients;
    scale_gradient += outcome.scale_gradient;
  }
  RequireClose(gradients, expected->gradients);
  REQUIRE(scale_gradient == Approx(expected->scale_gradient).epsilon(1e-4).margin(1e-6));
}

std::vector<Way> Ways() {
  std::vector<Way> ways = {{"lightningdot", "cmr"},     {"oscar", "contrastive"},
                           {"oscar", "hinge"},          {"vldeformer", "decomposed"},
                           {"uniter", "sigmoid_hinge"}, {"oscar", "pairwise"},
                           {"m3p", "listwise"},         {"oscar", "matrix_hinge"},
                           {"uniter", "distillation"},  {"lightningdot", "distillation"}};
  ways.back().distils_towers = true;
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.family() == "sgraf") ways.push_back({family.name, "matrix_hinge"});
  }
  return ways;
}

TEST_CASE("several processes have one process's loss and gradients, by every kind of objective") {
  for (const Way& way : Ways()) {
    // Parts of 3 and 4, and of 2, 2 and 3.
    for (const int size : {2, 3}) RequireEqualToOne(way, size, 7);
  }
}

TEST_CASE("so they have in passes") {
  for (Way way : Ways()) {
    way.pass_rows = 40;
    RequireEqualToOne(way, 2, 7);
  }
}

TEST_CASE("so they have of a batch of which some have nothing") {
  for (const Way& way : Ways()) RequireEqualToOne(way, 3, 2);
}

TEST_CASE("norms over a batch of pairs are one process's") {
  const TempDir store;
  const Way way = {"sgraf", "pairwise"};
  const TinyFamily family = FamilyNamed(way.family);
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  std::vector<std::unique_ptr<WorldLearner>> learners;
  for (int rank = 0; rank < 2; ++rank) {
    learners.push_back(std::make_unique<WorldLearner>(way, start, family, 4));
  }
  for (const absl::Status& end : InWorlds(2, [&](TrainingWorld* world) {
         return learners[world->rank()]->Step(world).status();
       })) {
    REQUIRE(end.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(end.message(), "the objective pairwise needs one process"));
  }
}

}  // namespace
}  // namespace sightline
