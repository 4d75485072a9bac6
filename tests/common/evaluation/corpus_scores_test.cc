// Every family's scores of a corpus against those of one item at a time.
#include "common/evaluation/corpus_scores.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/evaluation/matrix_items.h"
#include "common/models/inference.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

class Fixture {
 public:
  explicit Fixture(const TinyFamily& family, int count = 7)
      : corpus(MadeUpPairs(family, count)), threads(2) {
    UseSingleThreadedTorch();
    ModelOptions options;
    options.pool = &threads;
    auto loaded = LoadModel(MakeTinyBundle(store_.path(), family), options);
    REQUIRE(loaded.ok());
    model = *loaded;
  }

  absl::StatusOr<std::unique_ptr<CorpusScorer>> ByEmbeddings() {
    return ScoreByEmbeddings(*model, *corpus, options, &threads, &costs, call);
  }
  absl::StatusOr<std::unique_ptr<CorpusScorer>> ByPairs(
      absl::optional<ChosenPairs> chosen = absl::nullopt) {
    return ScoreByPairs(*model, *corpus, options, std::move(chosen), &costs, call);
  }

  // All rows, in blocks as a run takes them.
  std::vector<float> AllOf(CorpusScorer* scorer) {
    std::vector<float> all;
    for (int64_t begin = 0; begin < corpus->picture_count();) {
      const int64_t end = std::min(corpus->picture_count(), begin + scorer->rows_at_once());
      const auto rows = scorer->Score(begin, end, &costs, call);
      INFO(rows.status().ToString());
      REQUIRE(rows.ok());
      all.insert(all.end(), rows->begin(), rows->end());
      begin = end;
    }
    return all;
  }

  double Product(int64_t picture, int64_t caption) const {
    return Product(*corpus->ReadPicture(picture), caption);
  }
  double Product(const ImageInput& picture, int64_t caption) const {
    const std::vector<ImageInput> image = {picture};
    const std::vector<Tokens> text = {*model->Tokenize(corpus->caption(caption))};
    const EmbeddingMatrix a = *model->image_encoder()->Encode(image, call);
    const EmbeddingMatrix b = *model->text_encoder()->Encode(text, call);
    double sum = 0;
    for (int i = 0; i < a.dimension(); ++i) sum += double{a.row(0)[i]} * double{b.row(0)[i]};
    return sum;
  }

  float PairScore(int64_t picture, int64_t caption) const {
    const std::vector<ImageInput> image = {*corpus->ReadPicture(picture)};
    const auto prepared = *model->cross_encoder()->PrepareImages(image, call);
    const ItemFeatures text = *TextFeatures(*model, corpus->caption(caption));
    const std::vector<ScoringPair> pair = {{&text, &prepared[0]}};
    return (*model->cross_encoder()->Score(pair, call))[0];
  }

  const CallContext call = CallContext::Unbounded();
  std::unique_ptr<PairCorpus> corpus;
  ScorerOptions options;
  ComputePool threads;
  std::shared_ptr<const Model> model;
  ScoreCosts costs;

 private:
  TempDir store_;
};

bool Near(double a, double b) {
  return std::abs(a - b) <= 2e-5 * std::max(1.0, std::abs(b));
}

TEST_CASE("products of embeddings are those of each item alone, in every family that has them") {
  int families = 0;
  for (const TinyFamily& family : TinyFamilies()) {
    Fixture fixture(family);
    INFO(family.name);
    const auto scorer = fixture.ByEmbeddings();
    if (fixture.model->text_encoder() == nullptr || fixture.model->image_encoder() == nullptr ||
        fixture.model->region_feature_sizes().empty()) {
      REQUIRE(absl::IsInvalidArgument(scorer.status()));
      continue;
    }
    ++families;
    REQUIRE(scorer.ok());
    const std::vector<float> rows = fixture.AllOf(scorer->get());
    const int64_t captions = fixture.corpus->caption_count();
    for (int64_t i = 0; i < static_cast<int64_t>(rows.size()); ++i) {
      REQUIRE(Near(rows[i], fixture.Product(i / captions, i % captions)));
    }
    REQUIRE(fixture.costs.pairs == 49);
    REQUIRE((*scorer)->TimeQuery(3, fixture.call)->pairs == 7);
  }
  REQUIRE(families >= 4);
}

TEST_CASE("a cross-encoder's scores are those of each pair alone, in every family that has one") {
  int families = 0;
  for (const TinyFamily& family : TinyFamilies()) {
    Fixture fixture(family);
    INFO(family.name);
    const auto scorer = fixture.ByPairs();
    if (fixture.model->cross_encoder() == nullptr ||
        fixture.model->region_feature_sizes().empty()) {
      REQUIRE(absl::IsInvalidArgument(scorer.status()));
      continue;
    }
    ++families;
    REQUIRE(scorer.ok());
    const std::vector<float> rows = fixture.AllOf(scorer->get());
    for (const int64_t i : {0, 8, 20, 33, 48}) {
      REQUIRE(Near(rows[i], fixture.PairScore(i / 7, i % 7)));
    }
    REQUIRE(fixture.costs.pairs == 49);
  }
  REQUIRE(families >= 4);
}

TinyFamily FamilyNamed(const std::string& name) {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.family() == name) return family;
  }
  FAIL("no family " << name);
  return {};
}

TEST_CASE("of chosen pairs those alone are scored, and a query is as long as they are") {
  Fixture fixture(FamilyNamed("uniter"), 40);
  ChosenPairs chosen(40);
  for (int i = 0; i < 40; ++i) chosen[i] = {i, (i + 5) % 40};
  for (auto& captions : chosen) std::sort(captions.begin(), captions.end());
  const auto scorer = fixture.ByPairs(chosen);
  REQUIRE(scorer.ok());
  const std::vector<float> rows = fixture.AllOf(scorer->get());
  REQUIRE(rows.size() == 1600);
  for (int i = 0; i < 1600; ++i) {
    const int caption = i % 40, picture = i / 40;
    const bool wanted = caption == picture || caption == (picture + 5) % 40;
    REQUIRE(std::isnan(rows[i]) != wanted);
  }
  REQUIRE(Near(rows[17 * 40 + 22], fixture.PairScore(17, 22)));
  REQUIRE(fixture.costs.pairs == 80);
  const TimedQuery time = *(*scorer)->TimeQuery(0, fixture.call);
  REQUIRE(time.needed_pairs == 2);
  REQUIRE(time.pairs == 2);
}

TEST_CASE("more pictures than a block, a panel of captions and a pass of pairs are all there") {
  Fixture fixture(FamilyNamed("lightningdot"), 300);
  const auto scorer = fixture.ByEmbeddings();
  REQUIRE(scorer.ok());
  const std::vector<float> rows = fixture.AllOf(scorer->get());
  REQUIRE(rows.size() == 90'000);
  for (const int64_t i : {0, 255, 256, 299, 64 * 300, 63 * 300 + 256, 299 * 300 + 299}) {
    REQUIRE(Near(rows[i], fixture.Product(i / 300, i % 300)));
  }
  Fixture pairs(FamilyNamed("uniter"), 80);
  const auto by_pairs = pairs.ByPairs();
  REQUIRE(by_pairs.ok());
  const std::vector<float> all = pairs.AllOf(by_pairs->get());
  // The 1 024th pair of a block is that of the 64th caption and its last picture.
  for (const int64_t i : {0, 15 * 80 + 63, 64, 16 * 80 + 64, 79 * 80 + 63, 6399}) {
    REQUIRE(Near(all[i], pairs.PairScore(i / 80, i % 80)));
  }
}

TEST_CASE("a query is timed with all pairs that it needs, unless they are more than is asked for") {
  // More than are timed at once.
  Fixture fixture(FamilyNamed("uniter"), 450);
  const TimedQuery all = *(*fixture.ByPairs())->TimeQuery(0, fixture.call);
  REQUIRE(all.pairs == 450);
  REQUIRE(all.needed_pairs == 450);
  fixture.options.timed_pairs = 64;
  const TimedQuery some = *(*fixture.ByPairs())->TimeQuery(0, fixture.call);
  REQUIRE(some.pairs == 64);
  REQUIRE(some.needed_pairs == 450);
}

TEST_CASE("a model that reads words in pictures is shown them alone, or regions alone") {
  const std::vector<TinyFamily> families = TinyFamilies();
  const auto reads_words = [](const TinyFamily& family) {
    return family.manifest.has_scene_text();
  };
  const auto family = std::find_if(families.begin(), families.end(), reads_words);
  REQUIRE(family != families.end());
  for (const bool regions : {false, true}) {
    Fixture fixture(*family);
    fixture.options.shows_regions = regions;
    fixture.options.shows_words = !regions;
    const std::vector<float> rows = fixture.AllOf(fixture.ByEmbeddings()->get());
    double largest = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(rows.size()); ++i) {
      ImageInput picture = *fixture.corpus->ReadPicture(i / 7);
      if (regions) {
        picture.ocr_tokens.clear();
      } else {
        const int size = picture.regions.feature_size;
        picture.regions = RegionSet();
        picture.regions.count = 1;
        picture.regions.feature_size = size;
        picture.regions.features.assign(size, 0);
        picture.regions.boxes = {0, 0, 1, 1};
      }
      REQUIRE(Near(rows[i], fixture.Product(picture, i % 7)));
      largest = std::max(largest, std::abs(rows[i] - fixture.Product(i / 7, i % 7)));
    }
    REQUIRE(largest > 0.01);
  }
}

TEST_CASE("what rows and columns are is read back as it was written") {
  auto corpus = std::make_unique<MadeUpCorpus>(2);
  RegionSet regions;
  regions.count = 1;
  regions.feature_size = 2;
  regions.features = {1, 2};
  regions.boxes = {0, 0, 1, 1};
  CorpusItem item = MadeUpItem("b\"ü", {"one", "two"});
  item.captions.push_back({"de", "eins"});
  corpus->Add(item, regions);
  corpus->Add(MadeUpItem("a", {"three"}), regions);
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  PairCorpusOptions options;
  options.languages = {"en", "de"};
  const auto pairs = PairCorpus::Open(std::move(corpora), options);
  REQUIRE(pairs.ok());
  const MatrixItems items = *ParseMatrixItems(FormatMatrixItems(MatrixItemsOf(**pairs)));
  REQUIRE(items.images == std::vector<std::string>{"a", "b\"ü"});
  REQUIRE(items.family_count == 2);
  REQUIRE(items.captions.size() == 4);
  const std::vector<std::string> ids = {"a#en-1", "b\"ü#en-1", "b\"ü#en-2", "b\"ü#de-1"};
  for (int i = 0; i < 4; ++i) {
    REQUIRE(items.captions[i].id == ids[i]);
    REQUIRE(items.captions[i].image == (i == 0 ? 0 : 1));
    REQUIRE(items.captions[i].language == (i == 3 ? "de" : "en"));
  }
}

}  // namespace
}  // namespace sightline
