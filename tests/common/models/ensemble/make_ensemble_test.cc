#include "common/models/ensemble/make_ensemble.h"

#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/model_probes.h"
#include "common/models/model.h"
#include "tests/common/bundle/probes.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/common/models/torchscript/tiny_scripts.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// The id of a golden checkpoint's bundle below `store`.
std::string Member(const TempDir& store, const std::string& golden, int words,
                   const std::string& use = "") {
  Workplace place(golden, words);
  place.options.checkpoint = GoldenFolder(golden);
  place.options.use = use;
  const auto bundle = WriteConversion(store.path(), place.MustConvert(), {});
  REQUIRE(bundle.ok());
  return bundle->id;
}

TEST_CASE("an ensemble holds its members whole") {
  TempDir store;
  const std::string saf = Member(store, "saf", 60);
  const std::string sgr = Member(store, "sgr", 60);
  const auto ensemble = MakeEnsemble(store.path(), {saf, sgr}, store.path(), "");
  INFO(ensemble.status());
  REQUIRE(ensemble.ok());
  const auto& manifest = ensemble->manifest;
  REQUIRE(manifest.family() == "ensemble");
  REQUIRE(manifest.cross_encoder().score_kind() == "sigmoid");
  REQUIRE_FALSE(manifest.has_tokenizer());
  REQUIRE_FALSE(manifest.has_embedding());
  REQUIRE(manifest.members_size() == 2);
  REQUIRE(manifest.files_size() == 4);
  REQUIRE(manifest.members(0).sgraf().module() == bundle::v1::SgrafSpec::SAF);
  REQUIRE(manifest.members(1).sgraf().module() == bundle::v1::SgrafSpec::SGR);
  REQUIRE(manifest.members(1).files_size() == 0);
  REQUIRE(manifest.members(1).format_version() == 0);
  for (const char* name : {"weights.safetensors", "vocab.json"}) {
    const std::string original = store.File("models/" + sgr + "/" + name);
    REQUIRE(*ReadFile(ensemble->FilePath(std::string("members/1/") + name)) == *ReadFile(original));
  }
  REQUIRE(OpenModelBundle(ensemble->directory, /*verify_checksums=*/true).ok());
}

TEST_CASE("what members were compared on stays behind") {
  TempDir store;
  std::vector<std::string> ids;
  for (const char* golden : {"saf", "sgr"}) {
    const std::string id = Member(store, golden, 60);
    const auto member = OpenModelBundle(store.File("models/" + id), /*verify_checksums=*/false);
    const auto with = WithProbes(*member, SoundProbes(), store.path());
    REQUIRE(with.ok());
    ids.push_back(with->id);
  }
  const auto ensemble = MakeEnsemble(store.path(), ids, store.path(), "");
  REQUIRE(ensemble.ok());
  REQUIRE(ensemble->manifest.files_size() == 4);
  const auto with = WithProbes(*ensemble, SoundProbes(), store.path());
  REQUIRE(with->manifest.files_size() == 5);
  REQUIRE(LoadModel(*with, {}).ok());
}

TEST_CASE("a joint model is a member as the cross-encoder that it is") {
  TempDir store;
  const std::string joint = Member(store, "oscar", 150, "joint");
  const std::string cross = Member(store, "oscar_ln", 150);
  const auto ensemble = MakeEnsemble(store.path(), {joint, cross}, store.path(), "two");
  REQUIRE(ensemble.ok());
  REQUIRE_FALSE(ensemble->manifest.members(0).has_embedding());
  REQUIRE(ensemble->manifest.description() == "two");
  REQUIRE(LoadModel(*ensemble, {}).ok());
}

TEST_CASE("a script is a member without the modules that embed") {
  TempDir store;
  TinyScripts scripts;
  scripts.manifest.mutable_torch_script()->clear_region_extractor();
  scripts.manifest.mutable_torch_script()->clear_pixels();
  std::vector<std::string> ids;
  for (const char* description : {"one", "another"}) {
    scripts.manifest.set_description(description);
    const auto bundle = scripts.Bundle(store.path());
    REQUIRE(bundle.ok());
    ids.push_back(bundle->id);
  }
  const auto ensemble = MakeEnsemble(store.path(), ids, store.path(), "");
  INFO(ensemble.status());
  REQUIRE(ensemble.ok());
  REQUIRE(ensemble->manifest.files_size() == 4);
  REQUIRE(FileExists(ensemble->FilePath("members/1/cross.pt")));
  REQUIRE(FileExists(ensemble->FilePath("members/1/merges.txt")));
  REQUIRE(LoadModel(*ensemble, {}).ok());
}

TEST_CASE("what has no mean is no ensemble") {
  TempDir store;
  const std::string saf = Member(store, "saf", 60);
  const std::string sgr = Member(store, "sgr", 60);
  const std::string encoder = Member(store, "vldeformer", 150);
  const auto ensemble = MakeEnsemble(store.path(), {saf, sgr}, store.path(), "");
  const auto error_of = [&](const std::vector<std::string>& members) {
    const absl::Status error = MakeEnsemble(store.path(), members, store.path(), "").status();
    REQUIRE_FALSE(error.ok());
    return std::string(error.message());
  };
  REQUIRE(absl::StrContains(error_of({saf}), "2 to 8"));
  REQUIRE(absl::StrContains(error_of({saf, saf}), "twice"));
  REQUIRE(absl::StrContains(error_of({saf, "sgr"}), "hex digits"));
  REQUIRE(absl::StrContains(error_of({saf, encoder}), "no cross-encoder"));
  REQUIRE(absl::StrContains(error_of({encoder, saf}), "no cross-encoder"));
  REQUIRE(absl::StrContains(error_of({saf, ensemble->id}), "ensemble itself"));
  REQUIRE(absl::StrContains(error_of({saf, std::string(64, 'a')}), std::string(64, 'a')));
  const std::string wide = Member(store, "oscar", 150);
  REQUIRE(absl::StrContains(error_of({saf, wide}), "different widths: 40, 64 or 70"));
}

}  // namespace
}  // namespace sightline
