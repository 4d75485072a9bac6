#include "common/training/recipe_task.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <vector>

#include "common/models/network/masked_network.h"
#include "common/models/trainable.h"
#include "common/training/objectives/transport.h"
#include "tests/common/models/oscar/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kPairs = 12, kNumber = 3;

// What the network says of a caption, a picture's regions and, where it reads any, a picture's
// tags, computed by themselves: its raw score, or by how much a match is likelier than none.
double ScoreOf(const LearntPairs& pairs, const CaptionedPicture& pair, int64_t tags_of) {
  const Network& network = *pairs.learner().network;
  const TokenSpan text = pairs.text(pair.first);
  ImageNumbers image = *pairs.ReadImage(pair.second);
  image.ids = pairs.ReadImage(tags_of)->ids;
  const PreparedText prepared = network.PrepareText(text);
  const FeatureRows rows = network.PrepareImage(image);
  const at::Tensor scores =
      network.ScorePairs({{text, &prepared, {rows.begin(), rows.end()}}}).flatten();
  return scores.numel() == 1 ? scores.item<double>() : (scores[1] - scores[0]).item<double>();
}

// How far the words of a pair are from its regions, by itself.
double DistanceOf(const LearntPairs& pairs, const CaptionedPicture& pair) {
  const MaskedNetwork& network = *MaskedNetworkOf(*pairs.learner().network);
  const TokenSpan text = pairs.text(pair.first);
  const ImageNumbers image = *pairs.ReadImage(pair.second);
  const auto words = static_cast<int64_t>(text.size());
  const at::Tensor rows = network.PairRows({text}, {{&image, {}}}, {}).All();
  const PaddedItems of_words = {rows.narrow(0, 0, words).unsqueeze(0), {}};
  const PaddedItems of_regions = {
      rows.narrow(0, rows.size(0) - image.regions.count, image.regions.count).unsqueeze(0), {}};
  return TransportDistances(of_words, of_regions).item<double>();
}

void RequireCostOfEach(const TinyFamily& family, double wrong_tags, double alignment) {
  const TempDir store;
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
  recipe.tasks[0].wrong_tags = wrong_tags;
  recipe.tasks[0].alignment = alignment;
  const TaskSetting setting = {
      &recipe, &pairs, at::zeros({}), nullptr, nullptr, PretrainingHeads(nullptr), &start};

  // The pairs that its draws make.
  PairSampler sampler = SamplerOf(setting, 0);
  double sum = 0;
  int64_t wrong = 0, wrong_by_tags = 0, told = 0;
  for (const int64_t caption : DrawBatch(recipe.tasks[0], kNumber, &sampler).captions) {
    CaptionedPicture pair = {caption, corpus->picture_of(caption)};
    int64_t tags_of = pair.second;
    Random random(RowSeed(SeedOfTask(setting, 0), RandomStream::kMismatches, kNumber, caption));
    if (random.Chance(0.5)) {
      if (wrong_tags > 0 && random.Chance(wrong_tags)) {
        tags_of = sampler.WrongPicture(pair.first, &random);
        ++wrong_by_tags;
      } else if (random.Chance(0.5)) {
        pair.first = sampler.WrongCaption(pair.second, &random);
      } else {
        pair.second = tags_of = sampler.WrongPicture(pair.first, &random);
      }
    }
    const bool matches =
        corpus->MayBeRight(pair.first, pair.second) &&
        corpus->ReadPicture(tags_of)->tags == corpus->ReadPicture(pair.second)->tags;
    const double score = ScoreOf(pairs, pair, tags_of);
    sum += std::log1p(std::exp(matches ? -score : score));
    if (alignment > 0) sum += alignment * (matches ? 1 : -1) * DistanceOf(pairs, pair);
    told += (score > 0) == matches ? 1 : 0;
    wrong += matches ? 0 : 1;
  }
  REQUIRE(wrong > 0);
  REQUIRE(wrong < kPairs);
  REQUIRE((wrong_by_tags > 0) == (wrong_tags > 0));
  REQUIRE((wrong_by_tags < wrong) == (wrong_tags < 1));

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

TEST_CASE("matching costs what right and wrong pairs do one by one, in one pass or in several") {
  RequireCostOfEach(TinyUniter(), 0, 0);
}

TEST_CASE("words and regions of right pairs are drawn together, and of wrong ones apart") {
  RequireCostOfEach(TinyUniter(), 0, 0.1);
  RequireCostOfEach(TinyOscar(), 0, 0.5);
}

TEST_CASE("a pair may be wrong by the tags of another picture, and of equal ones it is right") {
  for (const double wrong_tags : {0.5, 1.0}) RequireCostOfEach(TinyOscar(), wrong_tags, 0);
}

}  // namespace
}  // namespace sightline
