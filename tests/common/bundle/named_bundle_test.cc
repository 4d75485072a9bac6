#include "common/bundle/named_bundle.h"

#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

ModelBundle WrittenTo(const TempDir& store) {
  const auto written = WriteModelBundle(store.path(), SoundModelManifest(),
                                        {{"vocab.txt", "[PAD]\n"}, {"weights.safetensors", "w"}});
  REQUIRE(written.ok());
  return *written;
}

TEST_CASE("a bundle is opened by its id and by its folder, and checked") {
  TempDir store;
  const ModelBundle bundle = WrittenTo(store);
  REQUIRE(OpenNamedBundle(store.path(), bundle.id)->id == bundle.id);
  REQUIRE(OpenNamedBundle("elsewhere", bundle.directory)->id == bundle.id);
  REQUIRE(WriteFileAtomically(bundle.FilePath("weights.safetensors"), "x").ok());
  REQUIRE(absl::IsDataLoss(OpenNamedBundle(store.path(), bundle.id).status()));
  REQUIRE(absl::IsDataLoss(OpenNamedBundle("elsewhere", bundle.directory).status()));
}

TEST_CASE("what is neither in the store nor a folder is told as that") {
  TempDir store;
  const std::string id(64, 'a');
  const absl::Status no_id = OpenNamedBundle(store.path(), id).status();
  REQUIRE(absl::IsNotFound(no_id));
  REQUIRE(absl::StrContains(no_id.message(), "has no model bundle " + id));
  for (const bool verify : {false, true}) {
    REQUIRE(OpenStoredBundle(store.path(), id, verify).status() == no_id);
  }
  REQUIRE(WriteFileAtomically(store.File("file"), "x").ok());
  const absl::Status file = OpenNamedBundle(store.File("file"), id).status();
  REQUIRE(absl::IsInvalidArgument(file));
  REQUIRE(absl::StrContains(file.message(), "file is no folder; give the one that has models/"));
  const absl::Status no_folder = OpenNamedBundle(store.path(), "deadbeef").status();
  REQUIRE(absl::IsNotFound(no_folder));
  REQUIRE(absl::StrContains(no_folder.message(), "'deadbeef' is no folder that is there"));
}

TEST_CASE("what cannot be looked at is not said to be away") {
  TempDir store;
  const std::string circle = store.File("circle");
  REQUIRE(::symlink(circle.c_str(), circle.c_str()) == 0);
  REQUIRE(absl::IsFailedPrecondition(OpenNamedBundle(store.path(), circle).status()));
  REQUIRE(MakeDirectories(store.File("models")).ok());
  const std::string id(64, 'b');
  REQUIRE(::symlink(id.c_str(), store.File("models/" + id).c_str()) == 0);
  REQUIRE(absl::IsFailedPrecondition(OpenNamedBundle(store.path(), id).status()));
}

}  // namespace
}  // namespace sightline
