// What holds of every family, and what is particular to one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/init_model.h"
#include "common/models/model.h"
#include "tests/common/models/ensemble/tiny.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/m3p/tiny.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/common/models/vldeformer/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();
constexpr int kItems = 23;

std::shared_ptr<const Model> Load(const ModelBundle& bundle, const ModelOptions& options = {}) {
  auto model = LoadModel(bundle, options);
  INFO(model.status().ToString());
  REQUIRE(model.ok());
  return *model;
}

std::shared_ptr<const Model> Make(const TinyFamily& family, const ModelOptions& options = {}) {
  const TempDir store;
  return Load(MakeTinyBundle(store.path(), family), options);
}

std::vector<ImageInput> Images(const TinyFamily& family) {
  std::vector<ImageInput> images;
  for (int i = 0; i < kItems; ++i) images.push_back(TinyImage(family, i));
  return images;
}

// Everything that a model computes, as one row of numbers; all at once or one by one.
std::vector<float> Everything(const Model& model, const TinyFamily& family, bool at_once) {
  std::vector<float> values;
  const auto add = [&](const absl::StatusOr<EmbeddingMatrix>& rows) {
    INFO(rows.status().ToString());
    REQUIRE(rows.ok());
    values.insert(values.end(), rows->values().begin(), rows->values().end());
  };
  const std::vector<ImageInput> images = Images(family);
  if (model.text_encoder() != nullptr) {
    std::vector<Tokens> texts;
    for (int i = 0; i < kItems; ++i) {
      texts.push_back(*model.text_encoder()->Tokenize(TinyText(i)));
      if (!at_once) add(model.text_encoder()->Encode({texts[i]}, kCall));
      if (!at_once) add(model.image_encoder()->Encode({images[i]}, kCall));
    }
    if (at_once) {
      const auto text_rows = *model.text_encoder()->Encode(texts, kCall);
      const auto image_rows = *model.image_encoder()->Encode(images, kCall);
      for (int i = 0; i < kItems; ++i) {
        values.insert(values.end(), text_rows.row(i).begin(), text_rows.row(i).end());
        values.insert(values.end(), image_rows.row(i).begin(), image_rows.row(i).end());
      }
    }
  }
  if (model.cross_encoder() == nullptr) return values;
  const auto image_features = *model.cross_encoder()->PrepareImages(images, kCall);
  std::vector<ItemFeatures> text_features;
  for (int i = 0; i < kItems; ++i) {
    text_features.push_back(*model.cross_encoder()->PrepareText(TinyText(i)));
  }
  std::vector<ScoringPair> pairs;
  for (int i = 0; i < 3 * kItems; ++i) {
    pairs.push_back({&text_features[i % kItems], &image_features[i * 7 % kItems]});
  }
  std::vector<float> scores;
  if (at_once) {
    const auto result = model.cross_encoder()->Score(pairs, kCall);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    scores = *result;
  } else {
    for (const ScoringPair& pair : pairs) {
      scores.push_back((*model.cross_encoder()->Score({pair}, kCall))[0]);
    }
  }
  values.insert(values.end(), scores.begin(), scores.end());
  return values;
}

// The largest difference, as a part of the largest number where that is above one.
float Farthest(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float farthest = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    farthest = std::max(farthest, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(a[i]));
  }
  return farthest / largest;
}

// Of one text and one image: the image's embedding and the pair's score, whichever there are.
std::vector<float> Seen(const Model& model, const std::string& text, const ImageInput& image) {
  std::vector<float> values;
  if (model.image_encoder() != nullptr) {
    const auto rows = *model.image_encoder()->Encode({image}, kCall);
    values.assign(rows.values().begin(), rows.values().end());
    const auto words =
        *model.text_encoder()->Encode({*model.text_encoder()->Tokenize(text)}, kCall);
    values.insert(values.end(), words.values().begin(), words.values().end());
  }
  if (model.cross_encoder() != nullptr) {
    const auto features = *model.cross_encoder()->PrepareImages({image}, kCall);
    const auto words = *model.cross_encoder()->PrepareText(text);
    values.push_back((*model.cross_encoder()->Score({{&words, &features[0]}}, kCall))[0]);
  }
  return values;
}

ModelOptions Exact() {
  ModelOptions options;
  options.item_feature_dtype = Dtype::kFloat32;
  return options;
}

TEST_CASE("what holds of every family here holds of every family that there is") {
  std::set<std::string> here, registered;
  for (const TinyFamily& family : TinyFamilies()) here.insert(family.manifest.family());
  for (const absl::string_view family : FamilyNames()) {
    registered.insert(std::string(family));
    bundle::v1::ModelBundleManifest manifest;
    manifest.set_family(std::string(family));
    REQUIRE_FALSE(absl::StrContains(CheckManifest(manifest).message(), "unknown model family"));
    REQUIRE(FindFamilyModel(family).ok());
  }
  REQUIRE(here == registered);
  REQUIRE(absl::StrContains(FindFamilyModel("clip").status().message(), "vldeformer"));
}

TEST_CASE("a batch of one equals a batch of many, in every family") {
  ComputePool pool(2);
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    ModelOptions options;
    options.pool = &pool;
    const auto model = Make(family, options);
    REQUIRE(Farthest(Everything(*model, family, true), Everything(*model, family, false)) < 2e-6);
  }
}

TEST_CASE("deterministic mode gives the same bits whatever the batch, in every family") {
  ComputePool pool(3);
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    ModelOptions options;
    options.deterministic = true;
    const std::vector<float> alone = Everything(*Make(family, options), family, false);
    options.pool = &pool;
    const std::vector<float> batch = Everything(*Make(family, options), family, true);
    REQUIRE(alone.size() == batch.size());
    REQUIRE(std::memcmp(alone.data(), batch.data(), alone.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("region order matters where the family says so, and only there") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = Make(family, Exact());
    ImageInput image = TinyImage(family, 7);
    const int64_t count = image.regions.count;
    REQUIRE(count > 1);
    ImageInput turned = image;
    std::rotate(turned.regions.features.begin(), turned.regions.features.begin() + 10,
                turned.regions.features.end());
    std::rotate(turned.regions.boxes.begin(), turned.regions.boxes.begin() + 4,
                turned.regions.boxes.end());
    const float distance =
        Farthest(Seen(*model, "a red fish", image), Seen(*model, "a red fish", turned));
    if (family.region_order_matters) {
      REQUIRE(distance > 1e-6);
    } else {
      REQUIRE(distance < 1e-6);
    }
  }
}

TEST_CASE("words, their order and regions matter in every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = Make(family, Exact());
    const ImageInput image = TinyImage(family, 7);
    const std::vector<float> seen = Seen(*model, "a red fish", image);
    REQUIRE(Farthest(seen, Seen(*model, "a blue fish", image)) > 1e-6);
    REQUIRE(Farthest(seen, Seen(*model, "fish red a", image)) > 2e-6);
    REQUIRE(Farthest(seen, Seen(*model, "a red fish", TinyImage(family, 8))) > 1e-6);
  }
}

TEST_CASE("an image of another width, and one without regions, is refused by every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = Make(family);
    ImageInput narrow = TinyImage(family, 7);
    narrow.regions.feature_size = 5;
    narrow.regions.features.resize(narrow.regions.count * 5);
    for (const ImageInput& bad : {narrow, ImageInput()}) {
      if (model->image_encoder() != nullptr) {
        REQUIRE(absl::IsInvalidArgument(model->image_encoder()->Encode({bad}, kCall).status()));
      }
      if (model->cross_encoder() != nullptr) {
        REQUIRE(
            absl::IsInvalidArgument(model->cross_encoder()->PrepareImages({bad}, kCall).status()));
      }
    }
  }
}

TEST_CASE("M3P and SGRAF tell a text behind many regions from one behind few") {
  const TinyFamily family = TinyM3p();
  const auto model = Make(family, Exact());
  ImageInput few = TinyImage(family, 4), many = few;
  // The same region again: only positions differ.
  many.regions.count += 1;
  many.regions.features.insert(many.regions.features.end(), few.regions.features.begin(),
                               few.regions.features.begin() + 10);
  many.regions.boxes.insert(many.regions.boxes.end(), few.regions.boxes.begin(),
                            few.regions.boxes.begin() + 4);
  REQUIRE(Farthest(Seen(*model, "a bird", few), Seen(*model, "a bird", many)) > 1e-6);
  const TinyFamily saf = TinySaf();
  ImageInput short_of_one = TinyImage(saf, 1);
  short_of_one.regions.count = 4;
  short_of_one.regions.features.resize(40);
  short_of_one.regions.boxes.resize(16);
  const absl::Status status =
      Make(saf)->cross_encoder()->PrepareImages({short_of_one}, kCall).status();
  REQUIRE(absl::StrContains(status.message(), "reads exactly 5"));
}

TEST_CASE("the text in a picture is read up to its limit") {
  const TinyFamily family = TinySceneText();
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const auto model = Load(bundle);
  const auto embed = [&](const Model& encoder, const std::vector<std::string>& words) {
    ImageInput image = TinyImage(family, 4);
    image.ocr_tokens = words;
    const auto rows = *encoder.image_encoder()->Encode({image}, kCall);
    return std::vector<float>(rows.values().begin(), rows.values().end());
  };
  const std::vector<float> none = embed(*model, {});
  REQUIRE(Farthest(none, embed(*model, {"red"})) > 1e-6);
  REQUIRE(Farthest(embed(*model, {"red", "fish"}), embed(*model, {"fish", "red"})) > 1e-5);
  const std::vector<std::string> full(6, "red");
  std::vector<std::string> more = full;
  more.push_back("bird");
  REQUIRE(embed(*model, full) == embed(*model, more));

  // Without words it is a LightningDOT, unless a lone separator was trained.
  ModelBundle plain = bundle;
  plain.manifest.clear_scene_text();
  REQUIRE(embed(*Load(plain), {"red"}) == none);
  ModelBundle separated = bundle;
  separated.manifest.mutable_scene_text()->set_separator_when_empty(true);
  REQUIRE(Farthest(embed(*Load(separated), {}), none) > 1e-6);
  ModelBundle moved = bundle;
  moved.manifest.mutable_scene_text()->set_first_position(9);
  REQUIRE(Farthest(embed(*Load(moved), {"red"}), embed(*model, {"red"})) > 1e-5);
  moved.manifest.mutable_scene_text()->set_first_position(26);
  REQUIRE(absl::StrContains(LoadModel(moved, {}).status().message(), "position 32"));
}

TEST_CASE("a VLDeformer's lengths are part of it") {
  const TinyFamily family = TinyVlDeformer();
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const auto model = Load(bundle);
  const ImageInput image = TinyImage(family, 4);
  const auto seen = Seen(*model, "a bird", image);
  ModelBundle longer = bundle;
  longer.manifest.mutable_fixed_lengths()->set_text_length(13);
  longer.manifest.mutable_tokenizer()->set_max_token_count(13);
  REQUIRE(Farthest(Seen(*Load(longer), "a bird", image), seen) > 1e-6);
  ModelBundle narrower = bundle;
  narrower.manifest.mutable_fixed_lengths()->set_region_count(8);
  REQUIRE(Farthest(Seen(*Load(narrower), "a bird", image), seen) > 1e-6);
  narrower.manifest.mutable_tags()->set_max_token_count(8);
  REQUIRE(absl::StrContains(LoadModel(narrower, {}).status().message(), "tag_length"));
  ModelBundle padded = bundle;
  padded.manifest.mutable_fixed_lengths()->set_tag_padding_type(1);
  REQUIRE(Farthest(Seen(*Load(padded), "a bird", image), seen) > 1e-6);
  ImageInput tagged = image;
  tagged.tags = {"fish", "fish"};
  REQUIRE(Farthest(Seen(*model, "a bird", tagged), seen) > 1e-6);
}

TEST_CASE("UNITER's pre-trained head gives the match's probability or logit") {
  TinyFamily family = TinyUniter();
  family.manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const float probability = Seen(*Load(bundle, Exact()), "a fish", TinyImage(family, 3))[0];
  REQUIRE((probability > 0 && probability < 1));
  ModelBundle logits = bundle;
  logits.manifest.mutable_cross_encoder()->set_score_kind("logit_match");
  REQUIRE(Seen(*Load(logits, Exact()), "a fish", TinyImage(family, 3))[0] != probability);
  logits.manifest.mutable_cross_encoder()->set_score_kind("rank_raw");
  const absl::Status status = LoadModel(logits, {}).status();
  REQUIRE(absl::StrContains(status.message(), "rank_output.weight"));
  REQUIRE(absl::StrContains(status.message(), "itm_output.weight"));
}

TEST_CASE("an ensemble's score is the mean of its members' probabilities") {
  const TempDir store;
  const std::vector<ModelBundle> bundles = {MakeTinyBundle(store.path(), TinySaf()),
                                            MakeTinyBundle(store.path(), TinySgr(), 2)};
  const ModelBundle ensemble = MakeEnsemble(store.path(), bundles);
  const auto model = Load(ensemble);
  REQUIRE(model->text_encoder() == nullptr);
  REQUIRE(model->cross_encoder()->score_kind() == ScoreKind::kSigmoid);
  const std::vector<float> mean = Everything(*model, TinySaf(), true);
  const std::vector<float> saf = Everything(*Load(bundles[0]), TinySaf(), true);
  const std::vector<float> sgr = Everything(*Load(bundles[1]), TinySaf(), true);
  for (size_t i = 0; i < mean.size(); ++i) {
    REQUIRE(mean[i] == Approx((saf[i] + sgr[i]) / 2).margin(1e-6));
  }
  REQUIRE(Farthest(saf, sgr) > 1e-6);
}

TEST_CASE("an ensemble of different kinds maps each score to a probability first") {
  const TempDir store;
  const std::vector<ModelBundle> bundles = {MakeTinyBundle(store.path(), TinyUniter()),
                                            MakeTinyBundle(store.path(), TinySaf())};
  const ImageInput image = TinyImage(TinySaf(), 3);
  const float mean = Seen(*Load(MakeEnsemble(store.path(), bundles)), "a fish", image)[0];
  const float raw = Seen(*Load(bundles[0]), "a fish", image)[0];
  const float sigmoid = Seen(*Load(bundles[1]), "a fish", image)[0];
  REQUIRE(mean == Approx((ToProbability(ScoreKind::kRankRaw, raw) + sigmoid) / 2).margin(1e-6));
}

TEST_CASE("what is wrong with an ensemble's member names the member") {
  const TempDir store;
  const ModelBundle saf = MakeTinyBundle(store.path(), TinySaf());
  const ModelBundle dual = MakeTinyBundle(store.path(), TinyLightningDot());
  const auto message = [&](const ModelBundle& bundle) {
    return std::string(LoadModel(bundle, {}).status().message());
  };
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {saf})), "members"));
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {saf, dual})),
                            "members[1] has no cross-encoder"));
  ModelBundle broken = MakeEnsemble(store.path(), {saf, saf});
  broken.manifest.mutable_members(1)->mutable_sgraf()->set_similarity_size(9);
  REQUIRE(absl::StrContains(message(broken), "member 1: "));
  const ModelBundle whole = MakeEnsemble(store.path(), {saf, saf});
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {whole, saf})), "ensemble itself"));
  const auto model = Load(whole);
  const auto images = *model->cross_encoder()->PrepareImages({TinyImage(TinySaf(), 1)}, kCall);
  ItemFeatures text = *model->cross_encoder()->PrepareText("a fish");
  text.tensors.pop_back();
  const absl::Status status = model->cross_encoder()->Score({{&text, &images[0]}}, kCall).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "member 1"));
}

}  // namespace
}  // namespace sightline
