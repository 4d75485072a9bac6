// What operators do in an object store, by the program itself: files of many parts, a store that
// stops answering in the middle of one, and two prunes at once.
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/config/exit_status.h"
#include "loadtest/fleet/process.h"
#include "tests/common/bundle/items.h"
#include "tests/common/object_store/s3_test_server.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kControl[] = "services/sightlinectl/sightlinectl_small";
constexpr int kManyMegabytes = 20;  // two parts of an upload, three pieces of a fetch

class Rig {
 public:
  Rig()
      : server_([this] {
          S3TestServerOptions options;
          options.folder = dir_.File("objects");
          return options;
        }()) {
    ::setenv("AWS_ACCESS_KEY_ID", S3TestKeys().id.c_str(), 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", S3TestKeys().secret.c_str(), 1);
  }

  std::string store() const { return dir_.File("store"); }
  std::string copy() const { return dir_.File("copy"); }
  std::string log() const { return dir_.File("log"); }
  S3TestServer& server() { return server_; }

  std::unique_ptr<Process> Start(std::vector<std::string> words) const {
    words.insert(words.begin(), kControl);
    words.insert(words.end(),
                 {"--object-store", "s3://bucket/some/folder", "--endpoint", server_.endpoint()});
    auto process = Process::Start(words, log());
    REQUIRE(process.ok());
    return *std::move(process);
  }
  int Run(const std::vector<std::string>& words) const {
    const int status = *Start(words)->Wait();
    INFO(EndOfLog(log(), 20));
    CHECK(status == kSuccess);
    return status;
  }

  // A generation of the folder whose vectors file has many megabytes, since its captions do.
  void MakeLarge(const std::string& name) const {
    bundle::v1::GenerationManifest manifest = MakeGeneration(store(), name);
    std::mt19937 random(20261126);
    std::vector<EncodedItem> items = MakeItems(kManyMegabytes);
    for (EncodedItem& item : items) {
      item.record.caption.resize(size_t{1} << 20);
      for (char& c : item.record.caption) c = static_cast<char>('a' + random() % 26);
    }
    const std::string directory = GenerationDirectory(store(), "images", name);
    const auto shard =
        WriteShard(directory, 0, 1, kTestDimension, {manifest.reranker_model()}, items);
    INFO(shard.status());
    REQUIRE(shard.ok());
    manifest.clear_shards();
    *manifest.add_shards() = *shard;
    manifest.set_item_count(kManyMegabytes);
    REQUIRE(WriteFileAtomically(JoinPath(directory, kManifestFile), ManifestJson(manifest)).ok());
  }

  // Everything of a generation that is in the object store.
  std::map<std::string, std::string> Objects(const std::string& generation) {
    std::map<std::string, std::string> objects;
    for (auto& [key, object] : server_.objects().All()) {
      const std::string path(absl::StripPrefix(key, "some/folder/"));
      if (absl::StrContains(path, absl::StrCat("generations/", generation, "/"))) {
        objects[path] = object.bytes;
      }
    }
    return objects;
  }
  // The same of a folder.
  static std::map<std::string, std::string> Files(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (auto& [path, bytes] : ContentOf(folder)) {
      if (absl::StrContains(path, "/generations/")) files[path] = bytes;
    }
    return files;
  }

 private:
  const TempDir dir_;
  S3TestServer server_;
};

TEST_CASE("a file of many parts comes there and back, through a store that breaks and stalls") {
  Rig rig;
  rig.MakeLarge("g1");
  S3Fault fault;
  fault.kind = S3Fault::kReset;
  fault.operation = "UploadPart";
  fault.skip = 1;
  rig.server().Inject(fault);
  rig.Run({"publish", "images", "g1", "--store", rig.store()});
  CHECK(rig.server().requests("UploadPart") == 3);
  CHECK(rig.server().requests("CompleteUpload") == 1);
  CHECK(rig.Objects("g1") == Rig::Files(rig.store()));

  // In the middle of a body; given up after half a minute, as long as little came of it (of more
  // after a whole one), and asked for again.
  fault.kind = S3Fault::kStall;
  fault.operation = "GetObject";
  fault.key_part = "weights.safetensors";
  fault.skip = 0;
  rig.server().Inject(fault);
  rig.Run({"fetch", "images", "--store", rig.copy()});
  CHECK(Rig::Files(rig.copy()) == Rig::Files(rig.store()));
  rig.Run({"verify", "images"});
}

TEST_CASE("two prunes at once delete what one would, and nothing else") {
  Rig rig;
  for (const char* name : {"g1", "g2", "g3", "g4"}) {
    MakeGeneration(rig.store(), name);
    rig.Run({"publish", "images", name, "--store", rig.store()});
  }
  const auto kept = rig.Objects("g4");
  rig.Run({"prune", "images", "--keep", "1", "--grace", "1ns"});
  const auto one = rig.Start({"prune", "images", "--keep", "1", "--grace", "1ns"});
  const auto other = rig.Start({"prune", "images", "--keep", "1", "--grace", "1ns"});
  CHECK(*one->Wait() == kSuccess);
  CHECK(*other->Wait() == kSuccess);
  INFO(EndOfLog(rig.log(), 20));
  for (const char* name : {"g1", "g2", "g3"}) CHECK(rig.Objects(name).empty());
  CHECK(rig.Objects("g4") == kept);
  for (const auto& [key, object] : rig.server().objects().All()) {
    CHECK_FALSE(absl::StrContains(key, "/.pruned/"));
  }
  rig.Run({"verify", "images"});
}

}  // namespace
}  // namespace sightline
