#include "services/trainer/model_config.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/models/oscar/small_manifest.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string JsonOf(const bundle::v1::ModelBundleManifest& manifest) {
  std::string json;
  REQUIRE(google::protobuf::util::MessageToJsonString(manifest, &json).ok());
  return json;
}

class Fixture {
 public:
  absl::StatusOr<bundle::v1::ModelBundleManifest> Read(const std::string& text) {
    REQUIRE(WriteFileAtomically(path(), text).ok());
    return ReadTrainableModelConfig(path());
  }
  std::string path() const { return dir_.File("model.json"); }

 private:
  TempDir dir_;
};

TEST_CASE("without a file it is the demo's model") {
  const auto manifest = ReadTrainableModelConfig("");
  REQUIRE(manifest.ok());
  REQUIRE(JsonOf(*manifest) == JsonOf(SmallOscarManifest()));
}

TEST_CASE_METHOD(Fixture,
                 "a manifest is read, whether it says how large the vocabulary is or not") {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  manifest.mutable_tokenizer()->set_max_token_count(20);
  REQUIRE(JsonOf(*Read(JsonOf(manifest))) == JsonOf(manifest));
  manifest.mutable_transformer()->set_vocabulary_size(5000);
  REQUIRE(Read(JsonOf(manifest))->transformer().vocabulary_size() == 5000);
}

TEST_CASE_METHOD(Fixture, "what describes no model is refused, naming the file and the problem") {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  REQUIRE(absl::StrContains(Read("{nonsense").status().message(), "model.json"));
  manifest.set_family("unheard-of");
  REQUIRE(absl::StrContains(Read(JsonOf(manifest)).status().message(), "unheard-of"));
  manifest = SmallOscarManifest();
  manifest.mutable_grid_extractor()->set_image_size(97);
  REQUIRE(absl::StrContains(Read(JsonOf(manifest)).status().message(), "image_size"));
  manifest = SmallOscarManifest();
  manifest.clear_grid_extractor();
  REQUIRE(absl::StrContains(Read(JsonOf(manifest)).status().message(), "grid_extractor"));
}

TEST_CASE_METHOD(Fixture, "a model without a grid is one that cannot be trained from pixels") {
  const std::string json = R"({
    "family": "sgraf",
    "tokenizer": {"kind": "WORD_LIST", "vocabularyFile": "vocab.json", "maxTokenCount": 20},
    "crossEncoder": {"scoreKind": "sigmoid", "combination": "replace"},
    "sgraf": {"module": "SAF", "wordSize": 8, "embeddingSize": 8, "similaritySize": 4,
              "regionFeatureSize": 8, "regionCount": 4}
  })";
  REQUIRE(absl::IsInvalidArgument(Read(json).status()));
  const auto manifest = ReadCheckedModelConfig(path());
  INFO(manifest.status().ToString());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->sgraf().vocabulary_size() == 0);
  REQUIRE_FALSE(manifest->has_transformer());
}

}  // namespace
}  // namespace sightline
