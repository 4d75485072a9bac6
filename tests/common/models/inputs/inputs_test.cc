// What strangers' numbers pass before a network sees them.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/feature_tensors.h"
#include "common/models/inputs/region_input.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

ItemFeatures OneTensor(FeatureTensor tensor) {
  ItemFeatures features;
  features.tensors.push_back(std::move(tensor));
  return features;
}

FeatureTensor Half(int64_t rows, int64_t columns, std::string bytes) {
  return {"regions", Dtype::kFloat16, rows, columns, std::move(bytes)};
}

TEST_CASE("a feature tensor is taken only if all that it says is so") {
  const std::string bytes(2 * 3 * 4, '\0');
  const auto require = [](const ItemFeatures& features) {
    return RequireTensor(features, "regions", {Dtype::kFloat16}, /*max_rows=*/5, /*columns=*/4)
        .status();
  };
  REQUIRE(require(OneTensor(Half(3, 4, bytes))).ok());
  const std::vector<std::pair<FeatureTensor, std::string>> lies = {
      {Half(4, 4, bytes), "bytes"},
      {Half(2, 4, bytes), "bytes"},
      {Half(3, 4, bytes + "x"), "bytes"},
      {Half(3, 5, bytes), "columns"},
      {Half(0, 4, ""), "rows"},
      {Half(-1, 4, bytes), "rows"},
      {Half(6, 4, bytes), "rows"},
      {Half(std::numeric_limits<int64_t>::max(), 4, bytes), "rows"},
      {{"regions", Dtype::kFloat32, 3, 4, bytes + bytes}, "float32"},
      {{"ids", Dtype::kFloat16, 3, 4, bytes}, "missing"},
  };
  for (const auto& [tensor, word] : lies) {
    const absl::Status status = require(OneTensor(tensor));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), word));
  }
}

TEST_CASE("NaN and infinity are found in stored features, of either width") {
  const float floats[] = {1, -0.0f, 65504, 3e38f};
  FeatureTensor single{"x", Dtype::kFloat32, 2, 2, std::string(sizeof(floats), '\0')};
  std::memcpy(&single.bytes[0], floats, sizeof(floats));
  REQUIRE(AllFinite(single));
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::memcpy(&single.bytes[12], &bad, sizeof(bad));
    REQUIRE(!AllFinite(single));
  }
  FeatureTensor half{"x", Dtype::kFloat16, 1, 2, {'\xff', '\x7b', '\xff', '\xfb'}};  // +-65504
  REQUIRE(AllFinite(half));
  half.bytes[3] = '\xfc';  // -infinity, with a payload: NaN
  REQUIRE(!AllFinite(half));
}

RegionReading Reading(BoxForm form, int feature_size, int64_t max_count = 10) {
  RegionReading reading;
  reading.box_form = form;
  reading.feature_size = feature_size;
  reading.max_count = max_count;
  return reading;
}

// Two regions of two numbers.
RegionSet TwoRegions() {
  RegionSet regions;
  regions.count = 2;
  regions.feature_size = 2;
  regions.features = {1, 2, 3, 4};
  regions.boxes = {0.25f, 0.5f, 0.75f, 0.625f, 0, 0, 1, 1};
  return regions;
}

TEST_CASE("boxes become OSCAR's six numbers behind each feature") {
  auto numbers = ReadRegions(TwoRegions(), Reading(BoxForm::kAppended, 8));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->features == std::vector<float>{1, 2, 0.25f, 0.5f, 0.75f, 0.625f, 0.5f,
                                                  0.125f,  //
                                                  3, 4, 0, 0, 1, 1, 1, 1});
  REQUIRE(numbers->boxes.empty());
  numbers = ReadRegions(TwoRegions(), Reading(BoxForm::kAppended, 8, /*max_count=*/1));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->count == 1);
  REQUIRE(numbers->features.size() == 8);
}

TEST_CASE("boxes become UNITER's seven and M3P's five numbers, apart") {
  auto numbers = ReadRegions(TwoRegions(), Reading(BoxForm::kUniter, 2));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->features == std::vector<float>{1, 2, 3, 4});
  REQUIRE(numbers->boxes == std::vector<float>{0.25f, 0.5f, 0.75f, 0.625f, 0.5f, 0.125f, 0.0625f, 0,
                                               0, 1, 1, 1, 1, 1});
  numbers = ReadRegions(TwoRegions(), Reading(BoxForm::kM3p, 2));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->boxes == std::vector<float>{0.25f, 0.5f, 0.75f, 0.625f, 0.0625f, 0, 0, 1, 1, 1});
}

TEST_CASE("stored widths and heights are read as they are, and the area is their product") {
  RegionSet regions = TwoRegions();
  regions.box_sizes = {0.5005f, 0.1245f, 1, 0.9995f};
  auto numbers = ReadRegions(regions, Reading(BoxForm::kUniter, 2));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->boxes == std::vector<float>{0.25f, 0.5f, 0.75f, 0.625f, 0.5005f, 0.1245f,
                                               0.5005f * 0.1245f, 0, 0, 1, 1, 1, 0.9995f, 0.9995f});
  numbers = ReadRegions(regions, Reading(BoxForm::kAppended, 8, /*max_count=*/1));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->features ==
          std::vector<float>{1, 2, 0.25f, 0.5f, 0.75f, 0.625f, 0.5005f, 0.1245f});
  numbers = ReadRegions(regions, Reading(BoxForm::kM3p, 2, /*max_count=*/1));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->boxes == std::vector<float>{0.25f, 0.5f, 0.75f, 0.625f, 0.0625f});
}

TEST_CASE("a model without boxes needs none") {
  RegionSet regions = TwoRegions();
  regions.boxes.clear();
  const auto numbers = ReadRegions(regions, Reading(BoxForm::kNone, 2));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->features == regions.features);
  REQUIRE(!ReadRegions(regions, Reading(BoxForm::kUniter, 2)).ok());
}

TEST_CASE("features that carry their boxes pass unchanged") {
  RegionSet regions;
  regions.count = 1;
  regions.feature_size = 8;
  regions.features = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto numbers = ReadRegions(regions, Reading(BoxForm::kAppended, 8));
  REQUIRE(numbers.ok());
  REQUIRE(numbers->features == regions.features);
}

TEST_CASE("regions are read while the detector is sure, and some at least") {
  RegionSet regions;
  regions.count = 6;
  regions.feature_size = 1;
  regions.features = {1, 2, 3, 4, 5, 6};
  RegionReading reading = Reading(BoxForm::kNone, 1, /*max_count=*/4);
  reading.confidence_floor = 0.2f;
  reading.min_count = 2;
  const auto count = [&](std::vector<float> confidences) {
    regions.confidences = std::move(confidences);
    const auto numbers = ReadRegions(regions, reading);
    REQUIRE(numbers.ok());
    REQUIRE(numbers->features.size() == static_cast<size_t>(numbers->count));
    return numbers->count;
  };
  REQUIRE(count({}) == 4);
  REQUIRE(count({0.9f, 0.8f, 0.7f, 0.2f, 0.1f, 0}) == 3);
  REQUIRE(count({0.9f, 0.1f, 0.1f, 0.1f, 0.1f, 0}) == 2);
  REQUIRE(count({0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f}) == 4);
  regions.count = 1;
  regions.features = {1};
  REQUIRE(count({0.1f}) == 1);
}

TEST_CASE("an image with another number of regions than required is refused") {
  RegionReading reading = Reading(BoxForm::kNone, 2);
  reading.required_count = 2;
  REQUIRE(ReadRegions(TwoRegions(), reading).ok());
  reading.required_count = 3;
  REQUIRE(absl::IsInvalidArgument(ReadRegions(TwoRegions(), reading).status()));
  reading.required_count = 1;
  REQUIRE(absl::IsInvalidArgument(ReadRegions(TwoRegions(), reading).status()));
}

TEST_CASE("regions that contradict themselves or the model are refused") {
  const RegionReading reading = Reading(BoxForm::kAppended, 16, 9);
  const RegionSet good = RandomImage(3, 1).regions;
  REQUIRE(ReadRegions(good, reading).ok());
  std::vector<RegionSet> bad(10, good);
  bad[0].count = 0;
  bad[1].count = 4;
  bad[2].count = std::numeric_limits<int64_t>::max();
  bad[3].features.pop_back();
  bad[4].boxes.clear();
  bad[5].boxes.pop_back();
  bad[6].features[7] = std::numeric_limits<float>::quiet_NaN();
  bad[7].boxes[2] = 640;  // pixels
  bad[8].boxes[4] = std::numeric_limits<float>::quiet_NaN();
  bad[9].confidences = {1, 1};
  for (size_t i = 0; i < bad.size(); ++i) {
    INFO(i);
    REQUIRE(absl::IsInvalidArgument(ReadRegions(bad[i], reading).status()));
  }
  REQUIRE(absl::IsInvalidArgument(ReadRegions(good, Reading(BoxForm::kAppended, 17, 9)).status()));
  RegionSet reversed = good;
  std::swap(reversed.boxes[0], reversed.boxes[2]);
  REQUIRE(absl::IsInvalidArgument(ReadRegions(reversed, reading).status()));
}

TEST_CASE("a manifest's problems are told all at once") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_vocabulary_size(36);
  REQUIRE(CheckManifest(manifest).ok());
  manifest.mutable_tokenizer()->set_max_token_count(13);
  manifest.mutable_transformer()->set_head_count(3);
  manifest.mutable_transformer()->set_layer_count(1000);
  manifest.mutable_transformer()->set_layer_norm_epsilon(0);
  manifest.mutable_transformer()->set_region_layer_norm_epsilon(0.5f);
  manifest.mutable_transformer()->set_region_layer_norm(false);
  manifest.mutable_transformer()->set_region_feature_size(17);
  manifest.mutable_transformer()->set_max_region_count(8);
  manifest.mutable_embedding()->set_dimension(15);
  manifest.mutable_embedding()->set_rows(bundle::v1::EmbeddingSpec::FIRST_ROW);
  manifest.mutable_cross_encoder()->set_score_kind("rank_raw");
  manifest.mutable_cross_encoder()->set_combination("guess");
  manifest.mutable_grid_extractor()->set_image_size(25);
  manifest.mutable_grid_extractor()->mutable_mean()->RemoveLast();
  manifest.mutable_grid_extractor()->set_standard_deviation(1, 0);
  const absl::Status status = CheckManifest(manifest);
  REQUIRE(absl::IsInvalidArgument(status));
  for (const char* word :
       {"max_token_count is 13", "head_count 3", "layer_count is 1000",
        "transformer.layer_norm_epsilon", "region_layer_norm_epsilon is 0.5, must be 0 to 0.001",
        "there is no region_layer_norm", "region_feature_size is 17", "max_region_count is 8",
        "dimension is 15", "embedding.rows is set", "rank_raw", "guess", "image_size 25", "mean",
        "standard_deviation"}) {
    INFO(word << " in " << status.message());
    REQUIRE(absl::StrContains(status.message(), word));
  }
}

TEST_CASE("a model that would do nothing is refused") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_vocabulary_size(36);
  manifest.clear_embedding();
  REQUIRE(CheckManifest(manifest).ok());
  manifest.clear_cross_encoder();
  REQUIRE(absl::IsInvalidArgument(CheckManifest(manifest)));
}

}  // namespace
}  // namespace sightline
