#include "common/models/init_model.h"
#include "common/models/oscar/small_manifest.h"

#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/models/model.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a bundle from nothing loads, and is the same for the same seed") {
  const TempDir first, second;
  const auto a = InitModel(first.path(), TinyManifest(), TinyVocabulary(), {});
  REQUIRE(a.ok());
  REQUIRE(a->manifest.transformer().vocabulary_size() == 36);
  REQUIRE(!a->manifest.embedding().space().empty());
  const auto b = InitModel(second.path(), TinyManifest(), TinyVocabulary(), {});
  REQUIRE(b->id == a->id);
  InitOptions other;
  other.seed = 2;
  REQUIRE(InitModel(second.path(), TinyManifest(), TinyVocabulary(), other)->id != a->id);

  const auto reopened = OpenModelBundle(a->directory, /*verify_checksums=*/true);
  REQUIRE(reopened.ok());
  const auto model = LoadModel(*reopened, {});
  REQUIRE(model.ok());
  REQUIRE((*model)->id() == a->id);
  REQUIRE((*model)->space() == a->manifest.embedding().space());
}

TEST_CASE("the demo's model stays below 30 MB with BERT's vocabulary, and loads") {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 30522; ++i) vocabulary += "w" + std::to_string(i) + "\n";
  const TempDir store;
  const auto bundle = InitModel(store.path(), SmallOscarManifest(), vocabulary, {});
  REQUIRE(bundle.ok());
  const auto bytes = FileSize(bundle->FilePath(kWeightsFile));
  REQUIRE(*bytes < 30'000'000);
  REQUIRE(*bytes > 20'000'000);
  const auto model = LoadModel(*bundle, {});
  REQUIRE(model.ok());
  const auto regions =
      (*model)->region_extractor()->Extract({RandomPixels(120, 80, 1)}, CallContext::Unbounded());
  REQUIRE(regions.ok());
  REQUIRE((*regions)[0].count == 36);
}

TEST_CASE("a vocabulary that is malformed or of another length is refused") {
  const TempDir store;
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  REQUIRE(absl::IsInvalidArgument(InitModel(store.path(), manifest, "a\nb\n", {}).status()));
  manifest.mutable_transformer()->set_vocabulary_size(35);
  const absl::Status status = InitModel(store.path(), manifest, TinyVocabulary(), {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "36"));
}

TEST_CASE("a manifest that describes no model is refused before anything is written") {
  const TempDir store;
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_head_count(0);
  REQUIRE(
      absl::IsInvalidArgument(InitModel(store.path(), manifest, TinyVocabulary(), {}).status()));
  REQUIRE(ListFilesBelow(store.path())->empty());
}

}  // namespace
}  // namespace sightline
