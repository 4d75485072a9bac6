#include "common/bundle/generation.h"
#include "common/bundle/publication.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/files.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

TEST_CASE("a generation is written, read and found at its place") {
  TempDir store;
  const auto written = WriteTestGeneration(store.path(), "g1", 40, 3);
  INFO(written.status());
  REQUIRE(written.ok());
  const auto read = ReadGenerationManifest(store.path(), "images", "g1");
  REQUIRE(read->SerializeAsString() == written->SerializeAsString());
  REQUIRE(*ListFilesBelow(store.path()) ==
          std::vector<std::string>{
              "indexes/images/generations/g1/manifest.json",
              "indexes/images/generations/g1/shards/00000-of-00003.features",
              "indexes/images/generations/g1/shards/00000-of-00003.vectors",
              "indexes/images/generations/g1/shards/00001-of-00003.features",
              "indexes/images/generations/g1/shards/00001-of-00003.vectors",
              "indexes/images/generations/g1/shards/00002-of-00003.features",
              "indexes/images/generations/g1/shards/00002-of-00003.vectors",
          });
  int64_t items = 0;
  for (int shard = 0; shard < 3; ++shard) {
    const auto vectors =
        ShardVectors::Open(JoinPath(GenerationDirectory(store.path(), "images", "g1"),
                                    read->shards(shard).vectors().path()),
                           read->shards(shard), kTestDimension);
    REQUIRE(vectors.ok());
    for (int64_t row = 0; row < (*vectors)->size(); ++row) {
      REQUIRE(ShardOf((*vectors)->item_id(row), 3) == shard);
    }
    items += (*vectors)->size();
  }
  REQUIRE(items == 40);
}

TEST_CASE("a model's folder is named by its digest") {
  REQUIRE(ModelDirectory("/store", "abc") == "/store/models/abc");
}

TEST_CASE("every publication counts, a rollback too") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 5, 1).ok());
  REQUIRE(WriteTestGeneration(store.path(), "g2", 5, 1).ok());
  REQUIRE(absl::IsNotFound(ReadCurrent(store.path(), "images").status()));
  int64_t sequence = 0;
  for (const char* generation : {"g1", "g2", "g1", "g1"}) {
    const auto published = PublishGeneration(store.path(), "images", generation);
    INFO(published.status());
    REQUIRE(published.ok());
    REQUIRE(published->sequence() == ++sequence);
    const auto current = ReadCurrent(store.path(), "images");
    REQUIRE(current->generation() == generation);
    REQUIRE(current->sequence() == sequence);
  }
}

TEST_CASE("publishers that race never share a number") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 5, 1).ok());
  std::vector<std::vector<int64_t>> taken(3);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (auto& numbers : taken) {
    threads.emplace_back([&] {
      while (numbers.size() < 10) {
        const auto published = PublishGeneration(store.path(), "images", "g1");
        if (published.ok()) {
          numbers.push_back(published->sequence());
        } else if (!absl::IsAborted(published.status())) {
          ++failures;
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(failures == 0);
  std::set<int64_t> all;
  for (const auto& numbers : taken) all.insert(numbers.begin(), numbers.end());
  REQUIRE(all.size() == 30);
  REQUIRE(ReadCurrent(store.path(), "images")->sequence() == 30);
}

TEST_CASE("what is not whole is not published, and the present generation stays") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "good", 5, 1).ok());
  REQUIRE(PublishGeneration(store.path(), "images", "good").ok());
  const auto refused = [&](const std::string& generation, const std::string& why) {
    const auto status = PublishGeneration(store.path(), "images", generation).status();
    INFO(status);
    REQUIRE(absl::IsFailedPrecondition(status));
    REQUIRE(std::string(status.message()).find(why) != std::string::npos);
    REQUIRE(ReadCurrent(store.path(), "images")->generation() == "good");
    REQUIRE(ReadCurrent(store.path(), "images")->sequence() == 1);
  };
  refused("never-written", "No such file");

  REQUIRE(WriteTestGeneration(store.path(), "short", 5, 1).ok());
  const std::string features =
      store.File("indexes/images/generations/short/shards/00000-of-00001.features");
  const std::string bytes = *ReadFile(features);
  Overwrite(features, bytes.substr(1));
  refused("short", "bytes");
  REQUIRE(::unlink(features.c_str()) == 0);
  refused("short", "features");

  REQUIRE(WriteTestGeneration(store.path(), "newer", 5, 1).ok());
  const std::string manifest = store.File("indexes/images/generations/newer/manifest.json");
  std::string json = *ReadFile(manifest);
  json.replace(json.find("\"format_version\": 1"), 19, "\"format_version\": 2");
  Overwrite(manifest, json);
  refused("newer", "update the program");
  REQUIRE(
      absl::IsFailedPrecondition(ReadGenerationManifest(store.path(), "images", "newer").status()));
  Overwrite(manifest, "{");
  refused("newer", "JSON");
}

TEST_CASE("a manifest in another's place is refused") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 5, 1).ok());
  const std::string json = *ReadFile(store.File("indexes/images/generations/g1/manifest.json"));
  REQUIRE(MakeDirectories(store.File("indexes/images/generations/g2")).ok());
  REQUIRE(MakeDirectories(store.File("indexes/captions/generations/g1")).ok());
  Overwrite(store.File("indexes/images/generations/g2/manifest.json"), json);
  Overwrite(store.File("indexes/captions/generations/g1/manifest.json"), json);
  REQUIRE(absl::IsDataLoss(ReadGenerationManifest(store.path(), "images", "g2").status()));
  REQUIRE(absl::IsDataLoss(ReadGenerationManifest(store.path(), "captions", "g1").status()));
}

TEST_CASE("a malformed CURRENT is refused, and not overwritten") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 5, 1).ok());
  Overwrite(store.File("indexes/images/CURRENT"), "g1\n");
  REQUIRE(absl::IsDataLoss(ReadCurrent(store.path(), "images").status()));
  REQUIRE(absl::IsDataLoss(PublishGeneration(store.path(), "images", "g1").status()));
  REQUIRE(*ReadFile(store.File("indexes/images/CURRENT")) == "g1\n");
}

TEST_CASE("names that are none get nowhere near the disk") {
  TempDir store;
  for (const char* name : {"", "..", "../images", "a/b", "A", ".hidden", "a\nb"}) {
    CAPTURE(name);
    REQUIRE(absl::IsInvalidArgument(ReadCurrent(store.path(), name).status()));
    REQUIRE(absl::IsInvalidArgument(ReadGenerationManifest(store.path(), name, "g1").status()));
    REQUIRE(absl::IsInvalidArgument(ReadGenerationManifest(store.path(), "i", name).status()));
    REQUIRE(absl::IsInvalidArgument(PublishGeneration(store.path(), name, "g1").status()));
    REQUIRE(absl::IsInvalidArgument(PublishGeneration(store.path(), "i", name).status()));
    GenerationManifest manifest = SoundGenerationManifest();
    manifest.set_index(name);
    REQUIRE(absl::IsInvalidArgument(WriteGenerationManifest(store.path(), manifest)));
  }
  REQUIRE(ListDirectory(store.path())->empty());
}

TEST_CASE("a generation never changes once its manifest is there") {
  TempDir store;
  GenerationManifest manifest = SoundGenerationManifest();
  manifest.clear_format_version();  // filled in
  REQUIRE(WriteGenerationManifest(store.path(), manifest).ok());
  REQUIRE(WriteGenerationManifest(store.path(), manifest).ok());
  manifest.set_create_time("2024-05-01T00:00:00Z");
  REQUIRE(absl::IsAlreadyExists(WriteGenerationManifest(store.path(), manifest)));
  REQUIRE(ReadGenerationManifest(store.path(), "images", "g-1")->create_time().empty());
}

}  // namespace
}  // namespace sightline
