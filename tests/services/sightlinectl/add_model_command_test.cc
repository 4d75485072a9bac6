#include "services/sightlinectl/add_model_command.h"

#include <filesystem>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "services/sightlinectl/command.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

namespace fs = std::filesystem;

// A bundle in a folder called "model", as a download would leave it, and a store.
class Fixture {
 public:
  Fixture() {
    bundle::v1::ModelBundleManifest manifest;
    manifest.set_family("oscar");
    const auto written = WriteModelBundle(
        dir_.File("origin"), manifest,
        {{"weights.safetensors", "weights"}, {"vocab.txt", "[PAD]\n"}, {"extra/a", "a"}});
    REQUIRE(written.ok());
    id_ = written->id;
    fs::rename(written->directory, model());
  }

  std::string model() const { return dir_.File("model"); }
  std::string store() const { return dir_.File("store"); }
  std::string installed() const { return ModelDirectory(store(), id_); }
  const std::string& id() const { return id_; }

  absl::Status Add() const { return AddModel(model(), store()).status(); }

  // What is below the store's models, temporary folders included.
  std::vector<std::string> Models() const {
    const auto names = ListDirectory(JoinPath(store(), "models"));
    return names.ok() ? *names : std::vector<std::string>();
  }

  void Write(const std::string& name, const std::string& text) const {
    REQUIRE(WriteFileAtomically(JoinPath(model(), name), text).ok());
  }

 private:
  TempDir dir_;
  std::string id_;
};

bool Says(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  UNSCOPED_INFO(status);
  return status.code() == code && absl::StrContains(status.message(), text);
}

TEST_CASE("a bundle in a folder of any name is installed under its id, and once is enough") {
  const Fixture fixture;
  REQUIRE(fixture.Add().ok());
  REQUIRE(OpenModelBundle(fixture.installed(), /*verify_checksums=*/true).ok());
  REQUIRE(fixture.Models() == std::vector<std::string>{fixture.id()});
  REQUIRE(AddModel(fixture.model() + "/", fixture.store())->id == fixture.id());
  REQUIRE(AddModel(fixture.installed(), fixture.store())->id == fixture.id());
  REQUIRE(fixture.Models().size() == 1);
}

TEST_CASE("only what the manifest lists is copied") {
  const Fixture fixture;
  fixture.Write("README.md", "trained in May");
  REQUIRE(fixture.Add().ok());
  REQUIRE_FALSE(FileExists(JoinPath(fixture.installed(), "README.md")));
  REQUIRE(*ReadFile(JoinPath(fixture.installed(), "extra/a")) == "a");
}

TEST_CASE("what is no bundle is told from what is not there") {
  const Fixture fixture;
  TempDir empty;
  REQUIRE(Says(AddModel(empty.File("nope"), fixture.store()).status(), absl::StatusCode::kNotFound,
               "there is no "));
  REQUIRE(Says(AddModel(empty.path(), fixture.store()).status(), absl::StatusCode::kNotFound,
               "is no model bundle: it holds no manifest.json"));
  REQUIRE(Says(AddModel(JoinPath(fixture.model(), "vocab.txt"), fixture.store()).status(),
               absl::StatusCode::kFailedPrecondition, "is no folder"));
  fixture.Write("manifest.json", "{");
  REQUIRE(Says(fixture.Add(), absl::StatusCode::kDataLoss, "model/manifest.json: "));
  REQUIRE(fixture.Models().empty());
}

TEST_CASE("a damaged file is named where the user finds it, and nothing is installed") {
  const Fixture fixture;
  const auto refused = [&](const std::string& text) {
    return Says(fixture.Add(), absl::StatusCode::kDataLoss,
                absl::StrCat(fixture.model(), "/weights.safetensors ", text)) &&
           fixture.Models().empty();
  };
  fixture.Write("weights.safetensors", "w3ights");
  REQUIRE(refused("has SHA-256 "));
  fixture.Write("weights.safetensors", "weights and more");
  REQUIRE(refused("has 16 bytes, its manifest says 7"));
  REQUIRE(fs::remove(JoinPath(fixture.model(), "weights.safetensors")));
  REQUIRE(refused("is missing"));
}

TEST_CASE("a manifest of a newer format is refused as such") {
  const Fixture fixture;
  const std::string json = *ReadFile(JoinPath(fixture.model(), "manifest.json"));
  fixture.Write("manifest.json",
                absl::StrReplaceAll(json, {{"\"format_version\": 1", "\"format_version\": 2"}}));
  REQUIRE(Says(fixture.Add(), absl::StatusCode::kFailedPrecondition, "manifest.json: "));
}

TEST_CASE("a folder named by a hash must hold what it is named by") {
  const Fixture fixture;
  const std::string other = std::string(64, 'a');
  REQUIRE(MakeDirectories(fixture.store()).ok());
  fs::rename(fixture.model(), JoinPath(fixture.store(), other));
  REQUIRE(Says(AddModel(JoinPath(fixture.store(), other + "/"), fixture.store()).status(),
               absl::StatusCode::kDataLoss, "which is not its folder's name"));
}

TEST_CASE("a damaged copy in the store is told, with the way out") {
  const Fixture fixture;
  REQUIRE(fixture.Add().ok());
  REQUIRE(WriteFileAtomically(JoinPath(fixture.installed(), "vocab.txt"), "[BAD]\n").ok());
  REQUIRE(Says(fixture.Add(), absl::StatusCode::kDataLoss,
               absl::StrCat("Remove ", fixture.installed())));
  fs::remove_all(fixture.installed());
  REQUIRE(fixture.Add().ok());
}

TEST_CASE("only the id goes to stdout") {
  const Fixture fixture;
  std::ostringstream out, err;
  REQUIRE(RunCommand({"add-model", fixture.model(), "--store", fixture.store()}, {out, err}) == 0);
  REQUIRE(out.str() == fixture.id() + "\n");
  REQUIRE(err.str() == absl::StrCat("it lies in ", fixture.installed(), "\n"));
  REQUIRE(RunCommand({"add-model", "/no/model", "--store", fixture.store()}, {out, err}) == 1);
  REQUIRE(absl::StrContains(err.str(), "error: NOT_FOUND: there is no /no/model"));
}

}  // namespace
}  // namespace sightline
