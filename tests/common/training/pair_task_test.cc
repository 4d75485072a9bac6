#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/trainable.h"
#include "common/training/recipe_task.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kBatch = 5, kNumber = 3, kKept = 3;

// Each picture's next ones' captions, of captions no pictures.
NearestWrong CaptionsAlone(const PairCorpus& corpus) {
  NearestWrong nearest;
  nearest.kept = kKept;
  nearest.pictures.assign(corpus.caption_count() * kKept, -1);
  for (int64_t picture = 0; picture < corpus.picture_count(); ++picture) {
    for (int64_t k = 1; k <= kKept; ++k) {
      nearest.captions.push_back(corpus.first_caption((picture + k) % corpus.picture_count()));
    }
  }
  return nearest;
}

TEST_CASE("nearest captions cost each picture of a batch what any wrong caption does") {
  const TempDir store;
  const TinyFamily family = TinyLightningDot();
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const auto learner = *LoadTrainable(start, {});
  const auto corpus = MadeUpPairs(family, 20);
  LearntPairs pairs(corpus.get(), learner.get());
  REQUIRE(pairs.ReadCaptions().ok());
  REQUIRE(pairs.ReadPictures(CallContext::Unbounded()).ok());
  const NearestWrong nearest = CaptionsAlone(*corpus);
  Recipe recipe;
  recipe.tasks.resize(1);
  recipe.tasks[0].objective = "cmr";
  recipe.tasks[0].batch = kBatch;
  TaskSetting setting = {
      &recipe, &pairs, at::zeros({}), nullptr, &nearest, PretrainingHeads(nullptr), &start};

  // By hand: rows of softmaxes, of images over further texts.
  PairSampler sampler = SamplerOf(setting, 0);
  const DrawnBatch batch = DrawBatch(recipe.tasks[0], kNumber, &sampler);
  const std::vector<int64_t> further = sampler.NearestCaptions(kNumber, 2, nearest, batch);
  REQUIRE(further.size() > 3);
  const auto embedded = [&](std::vector<int64_t> captions) {
    std::vector<TokenSpan> texts;
    for (const int64_t caption : captions) texts.push_back(pairs.text(caption));
    return learner->network->EncodeTexts(texts).detach();
  };
  std::vector<ImageNumbers> numbers;
  std::vector<const ImageNumbers*> shown;
  for (const int64_t picture : batch.pictures) numbers.push_back(*pairs.ReadImage(picture));
  for (const ImageNumbers& image : numbers) shown.push_back(&image);
  const at::Tensor images = learner->network->EncodeImages(shown).detach();
  const at::Tensor texts = embedded(batch.captions);
  const auto loss_of = [](const at::Tensor& scores) {
    return -at::log_softmax(scores, 1).diagonal().mean().item<double>();
  };
  const double to_images = loss_of(at::matmul(texts, images.t()));
  const double plain = (to_images + loss_of(at::matmul(images, texts.t()))) / 2;
  const at::Tensor all = at::cat({texts, embedded(further)});
  const double harder = (to_images + loss_of(at::matmul(images, all.t()))) / 2;
  REQUIRE(harder > 1.001 * plain);

  for (const int64_t pass_rows : {0, 30}) {
    recipe.pass_rows = pass_rows;
    for (const int64_t drawn : {0, 2}) {
      recipe.tasks[0].nearest = drawn;
      const auto step =
          (*NewRecipeTask(setting, 0))->AddGradients(kNumber, CallContext::Unbounded());
      INFO(step.status().ToString());
      REQUIRE(step.ok());
      REQUIRE(step->items == kBatch);
      REQUIRE(step->loss.value.item<double>() == Approx(drawn == 0 ? plain : harder).epsilon(1e-4));
    }
  }
}

TEST_CASE("a task that names a corpus is shown that one's pictures alone, and every one of them") {
  const TempDir store;
  const TinyFamily family = TinyLightningDot();
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const auto learner = *LoadTrainable(start, {});
  const auto corpus = MadeUpPairs(family, 20, {/*with_words=*/20, /*in_first=*/13});
  REQUIRE(corpus->corpus_count() == 2);
  LearntPairs pairs(corpus.get(), learner.get());
  REQUIRE(pairs.ReadCaptions().ok());
  REQUIRE(pairs.ReadPictures(CallContext::Unbounded()).ok());
  Recipe recipe;
  recipe.tasks.resize(1);
  TaskRecipe& task = recipe.tasks[0];
  task.objective = "cmr";
  task.batch = 7;
  const TaskSetting setting = {
      &recipe, &pairs, at::zeros({}), nullptr, nullptr, PretrainingHeads(nullptr), &start};
  const auto shown = [&](std::function<bool(int64_t)> wanted) {
    PairSampler sampler = SamplerOf(setting, 0, std::move(wanted));
    std::set<int64_t> pictures;
    for (int64_t number = 0; number < 8; ++number) {
      for (const int64_t picture : DrawBatch(task, number, &sampler).pictures) {
        pictures.insert(picture);
      }
    }
    return pictures;
  };
  REQUIRE(shown(nullptr).size() == 20);
  task.corpus = 2;
  const std::set<int64_t> second = {13, 14, 15, 16, 17, 18, 19};
  REQUIRE(shown(nullptr) == second);
  REQUIRE(shown([](int64_t picture) { return picture % 2 == 0; }) == std::set<int64_t>{14, 16, 18});
  task.corpus = 1;
  REQUIRE(*shown(nullptr).rbegin() == 12);
  REQUIRE(NewRecipeTask(setting, 0).ok());
  task.corpus = 3;
  const absl::Status status = NewRecipeTask(setting, 0).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StartsWith(status.message(),
                           "tasks.0.corpus is 3, and none of the pictures that are learnt from is "
                           "of it; of 2 corpora the first is 1."));
}

}  // namespace
}  // namespace sightline
