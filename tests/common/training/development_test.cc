#include "common/training/development.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/models/trainable.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Embeds text i as row i of a matrix, and picture k as a unit vector, so that scores are chosen.
class ChosenScores : public Network {
 public:
  explicit ChosenScores(at::Tensor scores) : scores_(std::move(scores)) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput&) const override {
    return ImageNumbers();
  }
  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    const auto count = static_cast<int64_t>(texts.size());
    texts_seen_ += count;
    return scores_.narrow(0, texts_seen_ - count, count);
  }
  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    const auto count = static_cast<int64_t>(images.size());
    images_seen_ += count;
    return at::eye(scores_.size(1)).narrow(0, images_seen_ - count, count);
  }
  std::vector<FeatureLayout> image_layout() const override { return {}; }
  FeatureRows PrepareImage(const ImageNumbers&) const override { return {at::full({1, 1}, 0.0)}; }
  PreparedText PrepareText(TokenSpan) const override { return {}; }
  // One score a pair, text after text.
  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    const auto count = static_cast<int64_t>(pairs.size());
    pairs_seen_ += count;
    return scores_.flatten().narrow(0, pairs_seen_ - count, count).unsqueeze(1);
  }

 private:
  const at::Tensor scores_;
  mutable int64_t texts_seen_ = 0, images_seen_ = 0, pairs_seen_ = 0;
};

struct Rig {
  explicit Rig(const at::Tensor& scores) {
    const TempDir store;
    learner = *LoadTrainable(MakeTinyBundle(store.path(), lightningdot::TinyOnes()[0]), {});
    learner->network = std::make_unique<ChosenScores>(scores);
    learner->cosine = false;
  }
  DevelopmentReport Look(const PairCorpus& corpus, DevelopmentWay way, int64_t pictures = 0) {
    return *LookAtDevelopment(*learner, corpus, pictures, {way}, CallContext::Unbounded());
  }
  std::unique_ptr<TrainableNetwork> learner;
};

// One caption each, but for picture 1, which has two; those of pictures 0 and 2 share their words.
std::unique_ptr<PairCorpus> ThreePictures() {
  auto corpus = std::make_unique<MadeUpCorpus>(1);
  RegionSet regions;
  regions.count = regions.feature_size = 1;
  regions.features = {0};
  corpus->Add(MadeUpItem("a", {"fish"}), regions);
  corpus->Add(MadeUpItem("b", {"bird", "big bird"}), regions);
  corpus->Add(MadeUpItem("c", {"Fish!"}), regions);
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  return *PairCorpus::Open(std::move(corpora), {});
}

TEST_CASE("recall is by the best right answer, in both directions, by either way") {
  // Captions 0 and 3 are right for pictures 0 and 2; 1 and 2 for picture 1.
  const at::Tensor scores = at::tensor({0.1F, 0.2F, 0.9F,  // first by picture 2
                                        0.5F, 0.4F, 0.1F,  // second
                                        0.1F, 0.8F, 0.2F,  // first
                                        0.3F, 0.6F, 0.2F})
                                .view({4, 3});  // second
  for (const DevelopmentWay way : {DevelopmentWay::kTowers, DevelopmentWay::kPairs}) {
    const DevelopmentReport report = Rig(scores).Look(*ThreePictures(), way);
    REQUIRE(report.pictures == 3);
    REQUIRE(report.captions == 4);
    REQUIRE(report.findings[0].way == way);
    REQUIRE(report.findings[0].text_to_image.at[0] == Approx(50));
    REQUIRE(report.findings[0].text_to_image.at[1] == 100);
    // Picture 0: caption 1 before 3; picture 1: caption 2; picture 2: caption 0.
    REQUIRE(report.findings[0].image_to_text.at[0] == Approx(200.0 / 3));
    REQUIRE(report.score == Approx((50 + 100 + 100 + 200.0 / 3 + 100 + 100) / 6));
  }
}

TEST_CASE("a tie and a score that is no number count against the right answer") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const auto first = [&](std::vector<float> scores) {
    return Rig(at::tensor(scores).view({4, 3}))
        .Look(*ThreePictures(), DevelopmentWay::kPairs)
        .findings[0]
        .text_to_image.at[0];
  };
  REQUIRE(first({1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0}) == 100);
  REQUIRE(first({1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0}) == 75);
  REQUIRE(first({1, none, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0}) == 75);
  REQUIRE(first({none, 0, none, 0, 1, 0, 0, 1, 0, 1, 0, 0}) == 75);
}

TEST_CASE("the first pictures are looked at, with their captions, and modes are as they were") {
  Rig rig(at::ones({3, 2}));
  rig.learner->module->train();
  const DevelopmentReport report = rig.Look(*ThreePictures(), DevelopmentWay::kPairs, 2);
  REQUIRE(report.pictures == 2);
  REQUIRE(report.captions == 3);
  REQUIRE(rig.learner->module->is_training());
}

}  // namespace
}  // namespace sightline
