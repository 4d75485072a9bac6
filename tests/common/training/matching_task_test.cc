#include "common/training/recipe_task.h"

#include <ATen/ATen.h>

#include <algorithm>
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

constexpr int64_t kPairs = 12;

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

// How far the words of a pair are from its regions, beside a picture's tags, by itself.
double DistanceOf(const LearntPairs& pairs, const CaptionedPicture& pair, int64_t tags_of) {
  const MaskedNetwork& network = *MaskedNetworkOf(*pairs.learner().network);
  const TokenSpan text = pairs.text(pair.first);
  ImageNumbers image = *pairs.ReadImage(pair.second);
  image.ids = pairs.ReadImage(tags_of)->ids;
  const auto words = static_cast<int64_t>(text.size());
  const at::Tensor rows = network.PairRows({text}, {{&image, {}}}, {}).All();
  const PaddedItems of_words = {rows.narrow(0, 0, words).unsqueeze(0), {}};
  const PaddedItems of_regions = {
      rows.narrow(0, rows.size(0) - image.regions.count, image.regions.count).unsqueeze(0), {}};
  return TransportDistances(of_words, of_regions).item<double>();
}

// A picture with tags that may not be right for the caption, as the task draws it.
int64_t OtherTagged(const LearntPairs& pairs, int64_t caption, int64_t picture, Random* random) {
  std::vector<int64_t> tagged;
  for (int64_t i = 0; i < pairs.corpus().picture_count(); ++i) {
    if (!pairs.corpus().ReadPicture(i)->tags.empty()) tagged.push_back(i);
  }
  for (int i = 0; i < 20; ++i) {
    const int64_t other = tagged[random->Below(static_cast<int64_t>(tagged.size()))];
    if (!pairs.corpus().MayBeRight(caption, other)) return other;
  }
  return picture;
}

// The tags that are read beside a text, of a family whose texts and tags have so many positions.
std::vector<int32_t> TagsRead(const LearntPairs& pairs, int64_t picture, int64_t caption,
                              int64_t positions) {
  std::vector<int32_t> ids = pairs.ReadImage(picture)->ids;
  if (ids.empty()) return ids;
  ids.pop_back();  // [SEP]
  const int64_t room = positions - static_cast<int64_t>(pairs.text(caption).size()) - 1;
  if (static_cast<int64_t>(ids.size()) > room) ids.resize(std::max<int64_t>(room, 0));
  return ids;
}

struct Drawn {
  int64_t wrong = 0;
  int64_t by_tags = 0;        // that have another picture's
  int64_t right_by_tags = 0;  // of these, those whose tags are equal
};

// One step of a task, whose loss must be what its pairs cost one by one.
Drawn RequireCostOfEach(const TinyFamily& family, TaskRecipe task, int64_t number) {
  const TempDir store;
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const auto learner = *LoadTrainable(start, {});
  const auto corpus = MadeUpPairs(family, 20);
  LearntPairs pairs(corpus.get(), learner.get());
  REQUIRE(pairs.ReadCaptions().ok());
  REQUIRE(pairs.ReadPictures(CallContext::Unbounded()).ok());
  task.objective = "matching";
  task.batch = kPairs;
  Recipe recipe;
  recipe.tasks = {task};
  const TaskSetting setting = {
      &recipe, &pairs, at::zeros({}), nullptr, nullptr, PretrainingHeads(nullptr), &start};

  // The pairs that its draws make.
  const auto tagged = [&](int64_t picture) { return !corpus->ReadPicture(picture)->tags.empty(); };
  PairSampler sampler = task.wrong_tags > 0 ? SamplerOf(setting, 0, tagged) : SamplerOf(setting, 0);
  Drawn drawn;
  double sum = 0;
  int64_t told = 0;
  const int64_t positions = family.manifest.tags().max_token_count();
  for (const int64_t caption : DrawBatch(task, number, &sampler).captions) {
    CaptionedPicture pair = {caption, corpus->picture_of(caption)};
    int64_t tags_of = pair.second;
    Random random(RowSeed(SeedOfTask(setting, 0), RandomStream::kMismatches, number, caption));
    if (random.Chance(0.5)) {
      if (task.wrong_tags > 0 && random.Chance(task.wrong_tags)) {
        tags_of = OtherTagged(pairs, pair.first, pair.second, &random);
        ++drawn.by_tags;
      } else if (random.Chance(0.5)) {
        pair.first = sampler.WrongCaption(pair.second, &random);
      } else {
        pair.second = tags_of = task.wrong_tags > 0
                                    ? OtherTagged(pairs, pair.first, pair.second, &random)
                                    : sampler.WrongPicture(pair.first, &random);
      }
    }
    const bool belongs = corpus->MayBeRight(pair.first, pair.second);
    if (task.wrong_tags > 0) REQUIRE((tagged(pair.second) && tagged(tags_of)));
    const bool matches = belongs && TagsRead(pairs, tags_of, pair.first, positions) ==
                                        TagsRead(pairs, pair.second, pair.first, positions);
    const double score = ScoreOf(pairs, pair, tags_of);
    sum += std::log1p(std::exp(matches ? -score : score));
    if (task.alignment > 0) {
      sum += task.alignment * (belongs ? 1 : -1) * DistanceOf(pairs, pair, tags_of);
    }
    told += (score > 0) == matches ? 1 : 0;
    drawn.wrong += matches ? 0 : 1;
    if (matches && tags_of != pair.second) ++drawn.right_by_tags;
  }

  for (const int64_t pass_rows : {0, 30}) {
    recipe.pass_rows = pass_rows;
    const auto step = (*NewRecipeTask(setting, 0))->AddGradients(number, CallContext::Unbounded());
    INFO(step.status().ToString());
    REQUIRE(step.ok());
    REQUIRE(step->items == kPairs);
    REQUIRE(step->loss.value.item<double>() == Approx(sum / kPairs).epsilon(1e-4));
    REQUIRE(step->loss.first.item<double>() == Approx(static_cast<double>(told) / kPairs));
  }
  return drawn;
}

TaskRecipe WithWrongTags(double share, double alignment = 0) {
  TaskRecipe task;
  task.wrong_tags = share;
  task.alignment = alignment;
  return task;
}

TEST_CASE("matching costs what right and wrong pairs do one by one, in one pass or in several") {
  const Drawn drawn = RequireCostOfEach(TinyUniter(), {}, 3);
  REQUIRE(drawn.wrong > 0);
  REQUIRE(drawn.wrong < kPairs);
}

TEST_CASE("words and regions of right pairs are drawn together, and of wrong ones apart") {
  REQUIRE(RequireCostOfEach(TinyUniter(), WithWrongTags(0, 0.1), 3).wrong > 0);
  // Whose tags are shown does not matter to that.
  REQUIRE(RequireCostOfEach(TinyOscar(), WithWrongTags(0.5, 0.5), 3).by_tags > 0);
}

TEST_CASE("a pair may be wrong by the tags of another picture, and of equal ones it is right") {
  TinyFamily family = TinyOscar();
  family.manifest.mutable_tags()->set_max_token_count(6);  // one tag beside two words
  Drawn all;
  for (int64_t number = 0; number < 8; ++number) {
    const Drawn drawn = RequireCostOfEach(family, WithWrongTags(1), number);
    REQUIRE(drawn.wrong + drawn.right_by_tags == drawn.by_tags);
    all.wrong += drawn.wrong;
    all.right_by_tags += drawn.right_by_tags;
  }
  REQUIRE(all.wrong > 0);
  REQUIRE(all.right_by_tags > 0);
}

TEST_CASE("beside a caption that leaves no room for tags those of another picture are not wrong") {
  TinyFamily family = TinyOscar();
  family.manifest.mutable_tags()->set_max_token_count(5);  // [CLS], two words, [SEP], [SEP]
  const Drawn drawn = RequireCostOfEach(family, WithWrongTags(1), 3);
  REQUIRE(drawn.by_tags > 0);
  REQUIRE(drawn.wrong == 0);
}

}  // namespace
}  // namespace sightline
