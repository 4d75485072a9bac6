// Hard negatives of a small batch: fish, birds and trees, in front of a VLDeformer.
#include "common/training/made_wrong.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/models/trainable.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/common/training/made_up_wordnet.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kRegions = 3;
const char* const kThings[] = {"fish", "bird", "tree"};

class Fixture {
 public:
  Fixture() {
    for (const TinyFamily& family : TinyFamilies()) {
      if (family.manifest.family() != "vldeformer") continue;
      start_ = MakeTinyBundle(dir_.File("store"), family);
      learner_ = *LoadTrainable(start_, {});
      width_ = TinyImage(family, 0).regions.feature_size;
    }
    wordnet_ = std::make_unique<WordNet>(
        MadeUpWordNet(dir_.File("wordnet"), {std::begin(kThings), std::end(kThings)}));
    task.made_wrong = MadeWrong::kBoth;
    task.replaced_words = 1;
    task.replaced_regions = 0;
    Corpus();
  }

  // Picture i shows thing i three times, each region's numbers being its thing's.
  void Corpus(int tags = kRegions) {
    auto corpus = std::make_unique<MadeUpCorpus>(width_);
    for (int i = 0; i < 3; ++i) {
      RegionSet regions;
      regions.count = kRegions;
      regions.feature_size = width_;
      regions.features.assign(kRegions * width_, static_cast<float>(i + 1));
      for (int row = 0; row < kRegions; ++row) {
        regions.boxes.insert(regions.boxes.end(),
                             {0.1f, 0.2f, 0.3f, 0.1f * static_cast<float>(i + 3)});
      }
      CorpusItem item = MadeUpItem(std::to_string(i), {std::string("the big ") + kThings[i]});
      item.tags.assign(tags, kThings[i]);
      corpus->Add(std::move(item), std::move(regions));
    }
    std::vector<std::unique_ptr<CorpusReader>> corpora;
    corpora.push_back(std::move(corpus));
    corpus_ = *PairCorpus::Open(std::move(corpora), {});
    pairs = std::make_unique<LearntPairs>(corpus_.get(), learner_.get());
    REQUIRE(pairs->ReadCaptions().ok());
    REQUIRE(pairs->ReadPictures(CallContext::Unbounded()).ok());
  }

  MadeWrongItems Made(int64_t step = 0, WorldPart own = {0, 3}) const {
    auto made = Maker().Make({{0, 1, 2}, {0, 1, 2}}, step, own);
    INFO(made.status());
    REQUIRE(made.ok());
    return *std::move(made);
  }
  WrongMaker Maker() const { return WrongMaker(pairs.get(), wordnet_.get(), &task, 7); }
  std::vector<int32_t> Ids(const std::string& text) const {
    return learner_->text->Tokenize(text)->ids;
  }
  // What each region of a made picture shows, 1 to 3.
  static std::vector<float> ShownBy(const ImageNumbers& image) {
    const std::vector<float>& features = image.regions.features;
    std::vector<float> shown;
    for (size_t i = 0; i < kRegions; ++i) shown.push_back(features[i * features.size() / kRegions]);
    return shown;
  }

  // Weights after a few steps.
  std::string Learnt(MadeWrong made) {
    RecipeJob job;
    job.recipe.tasks = {task};
    job.recipe.tasks[0].objective = "decomposed";
    job.recipe.tasks[0].batch = 3;
    job.recipe.tasks[0].made_wrong = made;
    if (made == MadeWrong::kNone || made == MadeWrong::kImages) {
      job.recipe.tasks[0].replaced_words = TaskRecipe().replaced_words;
    }
    if (made == MadeWrong::kNone) {
      job.recipe.tasks[0].replaced_regions = TaskRecipe().replaced_regions;
    } else {
      job.recipe.wordnet = dir_.File("wordnet");
    }
    job.recipe.steps = 4;
    job.recipe.rate.peak = 1e-3;
    job.recipe.dropout = 0;
    job.start = &start_;
    job.wordnet = wordnet_.get();
    job.learnt = corpus_.get();
    job.store = dir_.File("store");
    job.device = "cpu";
    job.threads = 1;
    RecipeNotes notes;
    const auto result = TrainByRecipe(job, &notes, CallContext::Unbounded());
    INFO(result.status());
    REQUIRE(result.ok());
    return *ReadFile(result->bundle.FilePath(kWeightsFile));
  }

  TaskRecipe task;
  std::unique_ptr<LearntPairs> pairs;

 private:
  const TempDir dir_;
  std::unique_ptr<TrainableNetwork> learner_;
  std::unique_ptr<WordNet> wordnet_;
  std::unique_ptr<PairCorpus> corpus_;
  ModelBundle start_;
  int width_ = 0;
};

TEST_CASE_METHOD(Fixture, "a noun becomes a tag of another picture, a word its antonym") {
  std::set<std::vector<int32_t>> texts;
  for (int64_t step = 0; step < 20; ++step) texts.insert(Made(step).texts[0]);
  REQUIRE(texts == std::set<std::vector<int32_t>>{Ids("the blue bird"), Ids("the blue tree")});
}

TEST_CASE_METHOD(Fixture, "of nouns alone other words stay") {
  task.replaced_kinds = ReplacedKinds::kNouns;
  std::set<std::vector<int32_t>> texts;
  for (int64_t step = 0; step < 20; ++step) texts.insert(Made(step).texts[0]);
  REQUIRE(texts == std::set<std::vector<int32_t>>{Ids("the big bird"), Ids("the big tree")});
}

TEST_CASE_METHOD(Fixture, "what the caption mentions is replaced, the rest by its share") {
  for (int64_t step = 0; step < 5; ++step) {
    const MadeWrongItems made = Made(step);
    for (size_t i = 0; i < 3; ++i) {
      for (const float shown : ShownBy(made.images[i])) {
        REQUIRE(shown != static_cast<float>(i + 1));
      }
    }
  }
  // Nothing of the second picture is mentioned by the first one's caption.
  const auto made = [this] { return Maker().Make({{0, 2}, {1, 2}}, 0, {0, 1})->images; };
  REQUIRE(made().empty());
  task.replaced_regions = 0.34;
  const std::vector<float> shown = ShownBy(made().at(0));
  REQUIRE(std::count(shown.begin(), shown.end(), 2.0f) == 2);
  REQUIRE(std::count(shown.begin(), shown.end(), 3.0f) == 1);
}

TEST_CASE_METHOD(Fixture, "each process makes its rows as one process does") {
  const MadeWrongItems whole = Made(3);
  for (int64_t row = 0; row < 3; ++row) {
    const MadeWrongItems part = Made(3, {row, row + 1});
    REQUIRE(part.texts == std::vector<std::vector<int32_t>>{whole.texts[row]});
    REQUIRE(ShownBy(part.images[0]) == ShownBy(whole.images[row]));
    REQUIRE(part.images[0].ids == whole.images[row].ids);
  }
}

TEST_CASE_METHOD(Fixture, "a picture of which no region can be replaced is none") {
  // All of the batch is one picture's kind.
  const auto made = Maker().Make({{0, 0}, {0, 0}}, 0, {0, 2});
  REQUIRE(made.ok());
  REQUIRE(made->images.empty());
}

TEST_CASE_METHOD(Fixture, "a run learns from them, and equal runs equally") {
  std::set<std::string> weights;
  for (const MadeWrong made :
       {MadeWrong::kNone, MadeWrong::kTexts, MadeWrong::kImages, MadeWrong::kBoth}) {
    weights.insert(Learnt(made));
  }
  REQUIRE(weights.size() == 4);
  weights.insert(Learnt(MadeWrong::kBoth));
  REQUIRE(weights.size() == 4);
}

TEST_CASE_METHOD(Fixture, "texts or images alone are what is asked for") {
  task.made_wrong = MadeWrong::kTexts;
  REQUIRE(Made().images.empty());
  REQUIRE(Made().texts.size() == 3);
  task.made_wrong = MadeWrong::kImages;
  REQUIRE(Made().texts.empty());
  REQUIRE(Made().images.size() == 3);
}

TEST_CASE_METHOD(Fixture, "a picture without a tag for each region is named") {
  REQUIRE(Maker().Check().ok());
  Corpus(/*tags=*/2);
  for (const MadeWrong made : {MadeWrong::kImages, MadeWrong::kBoth}) {
    task.made_wrong = made;
    REQUIRE_THAT(std::string(Maker().Check().message()),
                 Catch::Contains("0 has 2 tags and 3 regions"));
  }
}

TEST_CASE_METHOD(Fixture, "texts alone need as many tags as their words do") {
  task.made_wrong = MadeWrong::kTexts;
  Corpus(/*tags=*/2);
  REQUIRE(Maker().Check().ok());
  REQUIRE(Made().texts.size() == 3);
  // Antonyms need none.
  Corpus(/*tags=*/0);
  REQUIRE(Maker().Check().ok());
  REQUIRE(Made().texts[0] == Ids("the blue fish"));
  task.replaced_kinds = ReplacedKinds::kNouns;
  REQUIRE_THAT(std::string(Maker().Check().message()), Catch::Contains("no picture has any"));
}

}  // namespace
}  // namespace sightline
