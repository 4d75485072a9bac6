// A follower whose folder is filled from an object store.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/object_store/mirror.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_prune.h"
#include "common/object_store/remote_publication.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/captured_log.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct RemoteRig : Rig {
  explicit RemoteRig(int64_t max_bytes = 0) : bound(max_bytes) { Restart(); }
  void Restart() {
    follower.reset();
    source.reset();  // its lock
    MirrorOptions options;
    options.folder = store.path();
    options.max_bytes = bound;
    source = Mirror::Cache(remote, options);
    REQUIRE(source->Open().ok());
    Rig::Restart();
  }
  void PublishRemotely(const std::string& generation) {
    REQUIRE(PublishRemote(remote.get(), "images", generation, clock.Now(), Unbounded()).ok());
  }
  void MakeRemotely(const std::string& generation) {
    MakeRemote(remote.get(), generation);
    PublishRemotely(generation);
  }
  std::string VectorsKey(const std::string& generation) {
    return GenerationPrefix("images", generation) + "shards/00000-of-00002.vectors";
  }
  std::string VectorsPath(const std::string& generation) {
    return JoinPath(store.path(), VectorsKey(generation));
  }
  void Damage(const std::string& generation) {
    std::string bytes = remote->Content()[VectorsKey(generation)];
    bytes[bytes.size() / 2] ^= 1;
    remote->Put(VectorsKey(generation), bytes);
  }
  void TakeAway() {
    remote->before = [](const std::string&, const std::string&) {
      return absl::UnavailableError("the object store is away");
    };
  }

  const int64_t bound;
  const std::shared_ptr<MemoryObjectStore> remote = std::make_shared<MemoryObjectStore>();
};

TEST_CASE("what an object store publishes is fetched and held, and no more than that") {
  RemoteRig rig;
  rig.Pass();
  CHECK(rig.State("g1") == "");
  rig.MakeRemotely("g1");
  rig.Pass(absl::Seconds(1));
  CHECK(rig.State("g1") == "READY");
  CHECK(*ReadFile(rig.VectorsPath("g1")) == rig.remote->Content()[rig.VectorsKey("g1")]);
  CHECK(!FileExists(
      JoinPath(rig.store.path(), "indexes/images/generations/g1/shards/00001-of-00002.vectors")));
  rig.MakeRemotely("g2");
  rig.Pass(absl::Seconds(1));
  CHECK(rig.State("g2") == "READY");
  REQUIRE(RollBackRemote(rig.remote.get(), "images", rig.clock.Now(), Unbounded()).ok());
  rig.Pass(absl::Seconds(1));
  CHECK(rig.Get("g1")->sequence == 3);
}

TEST_CASE("while the object store is away what is held is served on, also by a new start") {
  RemoteRig rig;
  rig.MakeRemotely("g1");
  rig.Pass();
  rig.TakeAway();
  rig.Pass(absl::Minutes(10));
  CHECK(rig.Ready("g1"));
  rig.Restart();
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"desired\"} -1") !=
        std::string::npos);
  rig.remote->before = nullptr;
  rig.MakeRemotely("g2");
  rig.Pass(absl::Seconds(1));
  CHECK(rig.Ready("g2"));
}

TEST_CASE("a fetch that fails is tried again after a second, two, and so on, and goes on") {
  RemoteRig rig;
  rig.MakeRemotely("g1");
  rig.remote->before = [&](const std::string& operation, const std::string& key) {
    return operation == "read" && key == rig.VectorsKey("g1") ? absl::UnavailableError("away")
                                                              : absl::OkStatus();
  };
  rig.Pass();
  CHECK(rig.State("g1") == "UNAVAILABLE");
  rig.remote->before = nullptr;
  rig.Pass(absl::Milliseconds(900));
  CHECK(rig.State("g1") == "UNAVAILABLE");
  rig.Pass(absl::Milliseconds(100));
  CHECK(rig.State("g1") == "READY");
}

TEST_CASE("whatever the object store answers is asked again") {
  RemoteRig rig;
  rig.MakeRemotely("g1");
  const auto code = GENERATE(absl::StatusCode::kFailedPrecondition, absl::StatusCode::kNotFound,
                             absl::StatusCode::kUnimplemented, absl::StatusCode::kInvalidArgument,
                             absl::StatusCode::kPermissionDenied, absl::StatusCode::kInternal,
                             absl::StatusCode::kDataLoss, absl::StatusCode::kOutOfRange);
  const char* const operation = GENERATE("read", "stat", "list");
  CAPTURE(absl::StatusCodeToString(code), operation);
  rig.remote->before = [&](const std::string& asked, const std::string&) {
    return asked == operation ? absl::Status(code, "a bad moment") : absl::OkStatus();
  };
  for (int look = 0; look < 3; ++look) rig.Pass(absl::Minutes(1));
  rig.Restart();  // what is remembered of refusals is no hindrance either
  rig.Pass(absl::Minutes(1));
  rig.remote->before = nullptr;
  rig.Pass(absl::Minutes(2));
  CHECK(rig.State("g1") == "READY");
}

TEST_CASE("an ancestor is fetched and served when what is published stays damaged") {
  RemoteRig rig;
  rig.MakeRemotely("g1");
  rig.MakeRemotely("g2");
  rig.Damage("g2");
  for (int look = 0; look < 20; ++look) rig.Pass(absl::Seconds(1));
  CHECK(rig.State("g2") == reasons::kFetchFailed.name);
  CHECK(rig.State("g1") == "READY");
  rig.remote->now += absl::Seconds(1);
  MemoryObjectStore sound;
  MakeRemote(&sound, "g2");
  rig.remote->Put(rig.VectorsKey("g2"), sound.Content()[rig.VectorsKey("g2")]);
  rig.Pass(absl::Minutes(2));
  CHECK(rig.State("g2") == "READY");
}

TEST_CASE("an ancestor that was pruned is left out") {
  RemoteRig rig;
  for (const char* name : {"g1", "g2", "g3"}) rig.MakeRemotely(name);
  for (const std::string& key : rig.remote->Keys(GenerationPrefix("images", "g2"))) {
    REQUIRE(rig.remote->Remove(key, Unbounded()).ok());
  }
  rig.Damage("g3");
  for (int look = 0; look < 20; ++look) rig.Pass(absl::Seconds(1));
  CHECK(rig.State("g2") == "");
  CHECK(rig.State("g1") == "READY");
}

TEST_CASE("a file that the cache's disk has damaged is fetched anew") {
  const absl::Status damaged = MakeError(reasons::kChecksumMismatch, "copy it again");
  RemoteRig rig;
  rig.MakeRemotely("g1");
  const bool while_serving = GENERATE(true, false);
  if (while_serving) {
    rig.Pass();
    REQUIRE(rig.Ready("g1"));
  } else {
    rig.host.load["g1"] = damaged;
  }
  const std::string path = rig.VectorsPath("g1");
  const std::string sound = rig.remote->Content()[rig.VectorsKey("g1")];
  if (!while_serving) rig.Pass();  // the host finds fault with a sound file
  if (!while_serving) CHECK(rig.State("g1") == reasons::kChecksumMismatch.name);
  std::string bytes = sound;
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  CapturedLog log;
  if (while_serving) {
    rig.Fail("g1", damaged);
    rig.Pass();
  } else {
    rig.Pass(absl::Seconds(1));  // another file by now: another try
    CHECK(rig.State("g1") == reasons::kFetchFailed.name);
    CHECK(!FileExists(path));
    rig.host.load.clear();
    rig.Pass(absl::Minutes(1));
  }
  CHECK(rig.State("g1") == "READY");
  CHECK(*ReadFile(path) == sound);
  // What is mended is no error, and asks nothing of anybody.
  const std::vector<std::string> lines = log.Take();
  int warnings = 0;
  for (const std::string& line : lines) {
    INFO(line);
    CHECK_THAT(line, !Catch::Contains("ERROR") && !Catch::Contains("copy it again"));
    warnings += line.find("WARNING") != line.npos ? 1 : 0;
  }
  CHECK(warnings == 2);
}

TEST_CASE(
    "what is damaged in the object store as well is refused, after it was tried to be mended") {
  RemoteRig rig;
  rig.MakeRemotely("g1");
  rig.Pass();
  REQUIRE(rig.Ready("g1"));
  rig.Damage("g1");
  REQUIRE(WriteFileAtomically(rig.VectorsPath("g1"), "damaged").ok());
  CapturedLog log;
  rig.Fail("g1", kDamaged);
  rig.Pass();
  rig.Pass(absl::Minutes(1));
  CHECK(log.Take("generation refused").size() == 1);
  CHECK(rig.State("g1") == reasons::kFetchFailed.name);
}

TEST_CASE("the manifest of what waits for another try stays when another index needs room") {
  const auto make_captions = [](ObjectStore* store) {
    const TempDir folder;
    auto manifest = MakeGeneration(folder.path(), "c1");
    manifest.set_index("captions");
    const std::string images = GenerationDirectory(folder.path(), "images", "c1");
    const std::string captions = GenerationDirectory(folder.path(), "captions", "c1");
    REQUIRE(
        MakeDirectories(JoinPath(IndexDirectory(folder.path(), "captions"), "generations")).ok());
    REQUIRE(::rename(images.c_str(), captions.c_str()) == 0);
    REQUIRE(WriteFileAtomically(JoinPath(captions, kManifestFile), ManifestJson(manifest)).ok());
    REQUIRE(UploadGeneration(store, folder.path(), "captions", "c1", Unbounded()).ok());
  };
  // Room for what is served of both, for all manifests, and for nothing else.
  MemoryObjectStore probe;
  MakeRemote(&probe, "g1");
  make_captions(&probe);
  int64_t room = 0;
  for (const auto& [key, bytes] : probe.Content()) {
    const bool is_manifest = key.find("/manifest.json") != key.npos && key[0] == 'i';
    const bool is_vectors = key.find("00000-of-00002.vectors") != key.npos;
    if (is_manifest || is_vectors) room += static_cast<int64_t>(bytes.size());
    if (key == "indexes/images/generations/g1/manifest.json") room += bytes.size();  // g2's
  }
  RemoteRig rig(room);
  rig.indexes = {"images", "captions"};
  rig.Restart();
  rig.MakeRemotely("g1");
  rig.Pass();
  REQUIRE(rig.Ready("g1"));
  rig.MakeRemotely("g2");
  rig.remote->before = [&](const std::string& operation, const std::string& key) {
    return operation == "read" && key == rig.VectorsKey("g2") ? absl::UnavailableError("away")
                                                              : absl::OkStatus();
  };
  rig.Pass(absl::Seconds(1));
  REQUIRE(rig.State("g2") == "UNAVAILABLE");
  // The oldest, and something newer that nobody needs.
  const std::string manifest =
      JoinPath(GenerationDirectory(rig.store.path(), "images", "g2"), kManifestFile);
  const struct timespec times[2] = {{1000, 0}, {1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, manifest.c_str(), times, 0) == 0);
  REQUIRE(WriteFileAtomically(JoinPath(rig.store.path(), "indexes/images/generations/unused"),
                              "some bytes")
              .ok());
  make_captions(rig.remote.get());
  REQUIRE(PublishRemote(rig.remote.get(), "captions", "c1", rig.clock.Now(), Unbounded()).ok());
  rig.Pass(absl::Milliseconds(300));
  REQUIRE(rig.State("c1", "captions") == "READY");
  CHECK(FileExists(manifest));
  rig.remote->before = nullptr;
  rig.Pass(absl::Milliseconds(300));  // before its next try
  rig.Pass(absl::Minutes(1));
  rig.Pass(absl::Minutes(1));
  CHECK(rig.State("g2") == reasons::kCacheFull.name);  // and not that it has no manifest
}

TEST_CASE("a bounded cache keeps what is served and lets go of what is not") {
  MemoryObjectStore probe;
  MakeRemote(&probe, "g1");
  int64_t vectors = 0, others = 0;
  for (const auto& [key, bytes] : probe.Content()) {
    if (key.find("00000-of-00002.vectors") != std::string::npos) vectors = bytes.size();
    if (key.find("g1/manifest.json") != std::string::npos) others += 8 * bytes.size();
  }
  RemoteRig rig(2 * vectors + others);
  for (const char* name : {"g1", "g2", "g3", "g4"}) {
    rig.MakeRemotely(name);
    rig.Pass(absl::Minutes(1));
    INFO(name);
    CHECK(rig.State(name) == "READY");
    rig.Pass(absl::Minutes(1));  // the one before goes
    CHECK(FileExists(rig.VectorsPath(name)));
  }
  CHECK(!FileExists(rig.VectorsPath("g1")));
  CHECK(!FileExists(rig.VectorsPath("g2")));
}

TEST_CASE("a cache that is too small for a swap says so and serves what it has") {
  MemoryObjectStore probe;
  MakeRemote(&probe, "g1");
  int64_t vectors = 0;
  for (const auto& [key, bytes] : probe.Content()) {
    if (key.find("00000-of-00002.vectors") != std::string::npos) vectors = bytes.size();
  }
  RemoteRig rig(vectors * 3 / 2);
  rig.MakeRemotely("g1");
  rig.Pass();
  rig.MakeRemotely("g2");
  rig.Pass(absl::Minutes(1));
  CHECK(rig.State("g2") == reasons::kCacheFull.name);
  CHECK(rig.Ready("g1"));
}

}  // namespace
}  // namespace sightline
