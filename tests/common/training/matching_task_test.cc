#include "common/training/recipe_task.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <vector>

#include "common/models/trainable.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kPairs = 12, kNumber = 3;

// The raw score of one pair, computed by itself.
double ScoreOf(const LearntPairs& pairs, const CaptionedPicture& pair) {
  const Network& network = *pairs.learner().network;
  const TokenSpan text = pairs.text(pair.first);
  const ImageNumbers image = *pairs.ReadImage(pair.second);
  const PreparedText prepared = network.PrepareText(text);
  const FeatureRows rows = network.PrepareImage(image);
  return network.ScorePairs({{text, &prepared, {rows.begin(), rows.end()}}}).item<double>();
}

TEST_CASE("matching costs what right and wrong pairs do one by one, in one pass or in several") {
  const TempDir store;
  const TinyFamily family = TinyUniter();
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const auto learner = *LoadTrainable(start, {});
  const auto corpus = MadeUpPairs(family, 20);
  LearntPairs pairs(corpus.get(), learner.get());
  REQUIRE(pairs.ReadCaptions().ok());
  REQUIRE(pairs.ReadPictures(CallContext::Unbounded()).ok());
  Recipe recipe;
  recipe.tasks.resize(1);
  recipe.tasks[0].objective = "matching";
  recipe.tasks[0].batch = kPairs;
  const TaskSetting setting = {
      &recipe, &pairs, at::zeros({}), nullptr, nullptr, PretrainingHeads(nullptr), &start};

  // The pairs that its draws make.
  PairSampler sampler = SamplerOf(setting, 0);
  double sum = 0;
  int64_t wrong = 0, told = 0;
  for (const int64_t caption : DrawBatch(recipe.tasks[0], kNumber, &sampler).captions) {
    CaptionedPicture pair = {caption, corpus->picture_of(caption)};
    Random random(RowSeed(SeedOfTask(setting, 0), RandomStream::kMismatches, kNumber, caption));
    if (random.Chance(0.5)) {
      if (random.Chance(0.5)) {
        pair.first = sampler.WrongCaption(pair.second, &random);
      } else {
        pair.second = sampler.WrongPicture(pair.first, &random);
      }
    }
    const bool matches = corpus->MayBeRight(pair.first, pair.second);
    const double score = ScoreOf(pairs, pair);
    sum += std::log1p(std::exp(matches ? -score : score));
    told += (score > 0) == matches ? 1 : 0;
    wrong += matches ? 0 : 1;
  }
  REQUIRE(wrong > 0);
  REQUIRE(wrong < kPairs);

  for (const int64_t pass_rows : {0, 30}) {
    recipe.pass_rows = pass_rows;
    const auto step = (*NewRecipeTask(setting, 0))->AddGradients(kNumber, CallContext::Unbounded());
    INFO(step.status().ToString());
    REQUIRE(step.ok());
    REQUIRE(step->items == kPairs);
    REQUIRE(step->loss.value.item<double>() == Approx(sum / kPairs).epsilon(1e-4));
    REQUIRE(step->loss.first.item<double>() == Approx(static_cast<double>(told) / kPairs));
  }
}

}  // namespace
}  // namespace sightline
