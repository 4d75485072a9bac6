// Bundles whose manifest, vocabulary or weights contradict each other, of every family.
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/model.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a manifest with another tokenizer, or of nothing, is refused by every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const TempDir store;
    bundle::v1::ModelBundleManifest manifest = MakeTinyBundle(store.path(), family).manifest;
    REQUIRE(CheckManifest(manifest).ok());
    // A script reads any that there is; an ensemble leaves texts to its members.
    const bool reads_any = manifest.has_torch_script();
    manifest.mutable_tokenizer()->set_kind(reads_any ? bundle::v1::TokenizerSpec::KIND_UNSPECIFIED
                                                     : bundle::v1::TokenizerSpec::BYTE_LEVEL_BPE);
    REQUIRE(absl::StrContains(CheckManifest(manifest).message(), "tokenizer"));
    manifest.Clear();
    manifest.set_family(family.manifest.family());
    REQUIRE(absl::IsInvalidArgument(CheckManifest(manifest)));
  }
}

TEST_CASE("a vocabulary of another length than the word table is refused by every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const TempDir store;
    ModelBundle bundle = MakeTinyBundle(store.path(), family);
    SetVocabularySize(99, bundle.manifest.members().empty() ? &bundle.manifest
                                                            : bundle.manifest.mutable_members(1));
    const absl::Status status = LoadModel(bundle, {}).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), "99"));
  }
}

std::string WeightsOf(const ModelBundle& bundle) {
  const auto bytes = ReadFile(bundle.FilePath(kWeightsFile));
  REQUIRE(bytes.ok());
  return *bytes;
}

TEST_CASE("what a manifest describes at least is no more than there is") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const TempDir store;
    const ModelBundle bundle = MakeTinyBundle(store.path(), family);
    if (!FileExists(bundle.FilePath(kWeightsFile))) continue;  // scripts, members
    const auto file = Safetensors::FromBytes(WeightsOf(bundle));
    int64_t count = 0;
    for (const auto& [name, tensor] : (*file)->tensors()) {
      count += static_cast<int64_t>(tensor.bytes.size() / sizeof(float));
    }
    const int64_t least = LeastWeightCount(bundle.manifest);
    REQUIRE(least <= count);
    // Both towers.
    if (family.manifest.family() == "lightningdot") REQUIRE(4 * least > 3 * count);
  }
}

TEST_CASE("a negative variance is refused by the tensor's name") {
  const TinyFamily saf = TinySaf();
  const TempDir store;
  const ModelBundle sound = MakeTinyBundle(store.path(), saf);
  const std::string bytes = WeightsOf(sound);
  const auto file = Safetensors::FromBytes(bytes);
  std::map<std::string, TensorView> tensors = (*file)->tensors();
  const float variance = -1e-6f;  // with epsilon above it, its root would be a number
  const absl::string_view negative(reinterpret_cast<const char*>(&variance), sizeof(variance));
  tensors.at("sim_enc.SAF_module.bn.running_var").bytes = negative;
  const auto bundle = WriteModelBundle(
      store.path(), sound.manifest,
      {{std::string(kWeightsFile), SerializeSafetensors(tensors)}, {"vocabulary", saf.vocabulary}});
  REQUIRE(bundle.ok());
  const absl::Status status = LoadModel(*bundle, {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(
      absl::StrContains(status.message(), "sim_enc.SAF_module.bn.running_var has the variance"));
  REQUIRE(absl::StrContains(status.message(), "not negative"));
}

TEST_CASE("sizes that no file can fill are refused before anything is made of them") {
  const TempDir store;
  ModelBundle temde = MakeTinyBundle(store.path(), TinyTemde());
  bundle::v1::EmdeSpec* spec = temde.manifest.mutable_sgraf()->mutable_emde();
  spec->set_partition_count(256);
  spec->set_cell_count(256);
  spec->set_cell_size(256);
  REQUIRE(absl::StrContains(LoadModel(temde, {}).status().message(), "describes at least"));
  ModelBundle sgr = MakeTinyBundle(store.path(), TinySgr());
  sgr.manifest.mutable_sgraf()->set_similarity_size(4096);
  sgr.manifest.mutable_sgraf()->set_step_count(16);
  REQUIRE(absl::StrContains(LoadModel(sgr, {}).status().message(), "describes at least"));
  ModelBundle dual = MakeTinyBundle(store.path(), TinySceneText());
  dual.manifest.mutable_transformer()->set_projection_hidden_size(32768);
  REQUIRE(absl::StrContains(LoadModel(dual, {}).status().message(), "describes at least"));
}

}  // namespace
}  // namespace sightline
