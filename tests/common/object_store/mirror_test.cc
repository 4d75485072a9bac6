#include "common/object_store/mirror.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/publication.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Paths = std::vector<std::string>;

struct Rig {
  explicit Rig(int64_t max_bytes = 0) {
    options.folder = folder.File("cache");
    options.max_bytes = max_bytes;
  }
  Mirror& mirror() {
    if (opened == nullptr) {
      opened = Mirror::Cache(shared, options);
      REQUIRE(opened->Open().ok());
    }
    return *opened;
  }
  std::string Path(const std::string& key) const { return JoinPath(options.folder, key); }
  bundle::v1::GenerationManifest Manifest(const std::string& name) {
    REQUIRE(mirror().FetchManifest("images", name, Unbounded()).ok());
    return *ReadGenerationManifest(options.folder, "images", name);
  }
  std::string VectorsKey(const std::string& name, int shard) {
    return absl::StrCat(GenerationPrefix("images", name),
                        Manifest(name).shards(shard).vectors().path());
  }
  absl::Status FetchVectors(const std::string& name, int shard, const Paths& in_use = {}) {
    const std::string path = Path(VectorsKey(name, shard));
    return mirror().FetchFiles(
        Manifest(name), [&] { return Paths{path}; }, [&] { return in_use; }, Unbounded());
  }

  const std::shared_ptr<MemoryObjectStore> shared = std::make_shared<MemoryObjectStore>();
  MemoryObjectStore& store = *shared;
  TempDir folder;
  MirrorOptions options;
  std::unique_ptr<Mirror> opened;
};

TEST_CASE("CURRENT in the folder follows the store, back as well as forth") {
  Rig rig;
  FakeClock clock;
  const auto fetch = [&] {
    clock.Advance(absl::Seconds(1));
    return rig.mirror().FetchCurrent("images", CallContext(&clock, absl::InfiniteFuture()));
  };
  CHECK(absl::IsNotFound(fetch()));
  for (const char* name : {"g1", "g2"}) {
    MakeRemote(&rig.store, name);
    const auto published = PublishRemote(&rig.store, "images", name, absl::Now(), Unbounded());
    REQUIRE(published.ok());
    REQUIRE(fetch().ok());
    CHECK(ManifestJson(*ReadCurrent(rig.options.folder, "images")) == ManifestJson(*published));
  }
  // Restored from a backup, and come to the same sequence by another way.
  rig.store.now += absl::Hours(1);
  auto other = *ReadPublication(&rig.store, "images", 1, Unbounded());
  other.set_sequence(2);
  rig.store.Put(CurrentKey("images", 2), ManifestJson(other));
  REQUIRE(fetch().ok());
  CHECK(ReadCurrent(rig.options.folder, "images")->generation() == "g1");
  // Restored from a backup.
  REQUIRE(rig.store.Remove(CurrentKey("images", 2), Unbounded()).ok());
  REQUIRE(fetch().ok());
  CHECK(ReadCurrent(rig.options.folder, "images")->sequence() == 1);
}

TEST_CASE("CURRENT stays what it was while the store is away, and over a restart") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  REQUIRE(PublishRemote(&rig.store, "images", "g1", absl::Now(), Unbounded()).ok());
  REQUIRE(rig.mirror().FetchCurrent("images", Unbounded()).ok());
  rig.opened.reset();
  rig.store.before = [](const std::string&, const std::string&) {
    return absl::UnavailableError("away");
  };
  CHECK(absl::IsUnavailable(rig.mirror().FetchCurrent("images", Unbounded())));
  CHECK(ReadCurrent(rig.options.folder, "images")->generation() == "g1");
}

TEST_CASE("a store that lets one wait is asked for a fifth of the time") {
  Rig rig;
  FakeClock clock;
  int lists = 0;
  rig.store.before = [&](const std::string&, const std::string&) {
    ++lists;
    clock.Advance(absl::Seconds(5));
    return absl::UnavailableError("away");
  };
  const CallContext call(&clock, absl::InfiniteFuture());
  const absl::Time begin = clock.Now();
  while (clock.Now() < begin + absl::Seconds(100)) {
    CHECK(absl::IsUnavailable(rig.mirror().FetchCurrent("images", call)));
    clock.Advance(absl::Seconds(1));
  }
  CHECK(lists == 4);
  rig.store.before = nullptr;
  MakeRemote(&rig.store, "g1");
  REQUIRE(PublishRemote(&rig.store, "images", "g1", absl::Now(), Unbounded()).ok());
  clock.Advance(absl::Seconds(20));
  CHECK(rig.mirror().FetchCurrent("images", call).ok());
}

TEST_CASE("while the store is away one index asks for all, and all are told what came of it") {
  Rig rig;
  FakeClock clock;
  const absl::Status away =
      GENERATE(absl::UnavailableError("away"), absl::DeadlineExceededError("away"));
  std::vector<std::string> asked;
  rig.store.before = [&](const std::string& operation, const std::string& key) {
    asked.push_back(operation + " " + key);
    clock.Advance(absl::Seconds(5));
    return away;
  };
  const CallContext call(&clock, absl::InfiniteFuture());
  const auto ask_all = [&](absl::StatusCode code) {
    for (int index = 0; index < 8; ++index) {
      CHECK(rig.mirror().FetchCurrent(absl::StrCat("i", index), call).code() == code);
    }
  };
  const absl::Time begin = clock.Now();
  ask_all(away.code());
  CHECK(rig.mirror().FetchManifest("i0", "g1", call).code() == away.code());
  CHECK(clock.Now() - begin == absl::Seconds(5));
  CHECK(asked.size() == 1);
  clock.Advance(absl::Seconds(20));
  ask_all(away.code());
  CHECK(asked.size() == 2);
  // It is over once one has been answered.
  clock.Advance(absl::Seconds(20));
  rig.store.before = nullptr;
  ask_all(absl::StatusCode::kNotFound);
  CHECK(HasReason(rig.mirror().FetchManifest("i0", "g1", call), reasons::kManifestMissing));
}

TEST_CASE("trouble of one index is not that of the others") {
  Rig rig;
  FakeClock clock;
  MakeRemote(&rig.store, "g1");
  REQUIRE(PublishRemote(&rig.store, "images", "g1", absl::Now(), Unbounded()).ok());
  rig.store.before = [&](const std::string&, const std::string& key) {
    clock.Advance(absl::Seconds(1));
    return key.find("captions") == key.npos ? absl::OkStatus() : absl::PermissionDeniedError("no");
  };
  const CallContext call(&clock, absl::InfiniteFuture());
  CHECK(absl::IsPermissionDenied(rig.mirror().FetchCurrent("captions", call)));
  CHECK(rig.mirror().FetchCurrent("images", call).ok());
}

// While it lives, the disk has no room for what this process writes.
class FullDisk {
 public:
  FullDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit none = {0, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  struct rlimit before_;
};

TEST_CASE("a disk without room for CURRENT is told, leaves the old one, and may have room later") {
  Rig rig;
  FakeClock clock;
  const auto fetch = [&] {
    clock.Advance(absl::Seconds(1));
    return rig.mirror().FetchCurrent("images", CallContext(&clock, absl::InfiniteFuture()));
  };
  MakeRemote(&rig.store, "g1");
  MakeRemote(&rig.store, "g2");
  REQUIRE(PublishRemote(&rig.store, "images", "g1", absl::Now(), Unbounded()).ok());
  REQUIRE(fetch().ok());
  const auto before = ContentOf(rig.options.folder);
  REQUIRE(PublishRemote(&rig.store, "images", "g2", absl::Now(), Unbounded()).ok());
  absl::Status current, manifest;
  {
    const FullDisk full;
    current = fetch();
    manifest = rig.mirror().FetchManifest("images", "g2", Unbounded());
  }
  CHECK(HasReason(current, reasons::kCacheFull));
  CHECK_THAT(std::string(current.message()), Catch::Contains("indexes/images/CURRENT"));
  CHECK(HasReason(manifest, reasons::kCacheFull));
  CHECK(ContentOf(rig.options.folder) == before);
  REQUIRE(fetch().ok());
  CHECK(ReadCurrent(rig.options.folder, "images")->generation() == "g2");
}

TEST_CASE("what was asked a moment ago is not asked again") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  REQUIRE(PublishRemote(&rig.store, "images", "g1", absl::Now(), Unbounded()).ok());
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  int lists = 0;
  rig.store.before = [&](const std::string& operation, const std::string&) {
    lists += operation == "list" ? 1 : 0;
    return absl::OkStatus();
  };
  for (int look = 0; look < 10; ++look) {
    CHECK(rig.mirror().FetchCurrent("images", call).ok());
    CHECK(rig.mirror().FetchCurrent("images", call).ok());
    clock.Advance(absl::Seconds(1));
  }
  CHECK(lists == 10);
}

TEST_CASE("a whole generation is fetched byte for byte") {
  Rig rig;
  rig.options.folder += GENERATE("", "/", "//");  // as shells complete it
  TempDir origin;
  MakeGeneration(origin.path(), "g1");
  REQUIRE(UploadGeneration(&rig.store, origin.path(), "images", "g1", Unbounded()).ok());
  REQUIRE(rig.mirror().FetchGeneration("images", "g1", Unbounded()).ok());
  const auto there = ContentOf(origin.path());
  auto fetched = ContentOf(rig.options.folder);
  CHECK(fetched.erase(".mirror") == 1);
  CHECK(fetched.erase(".mirror.lock") == 1);
  CHECK(fetched == there);
}

TEST_CASE("a file outside of the folder is an error, and none that is not there") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  const absl::Status fetched = rig.mirror().FetchFiles(
      rig.Manifest("g1"), [] { return Paths{"/elsewhere/file"}; }, [] { return Paths(); },
      Unbounded());
  CHECK(absl::IsInternal(fetched));
  CHECK_THAT(std::string(fetched.message()),
             Catch::Contains("/elsewhere/file") && Catch::Contains(rig.options.folder));
}

TEST_CASE("only what is asked for is fetched, once") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  REQUIRE(rig.FetchVectors("g1", 1).ok());
  CHECK(FileExists(rig.Path(rig.VectorsKey("g1", 1))));
  CHECK(!FileExists(rig.Path(rig.VectorsKey("g1", 0))));
  const int64_t before = rig.store.bytes_read();
  REQUIRE(rig.FetchVectors("g1", 1).ok());
  CHECK(rig.store.bytes_read() == before);
}

TEST_CASE("files that a manifest tells of are asked for once it is there") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  const auto manifest = rig.Manifest("g1");
  const std::string directory = ModelDirectory(rig.options.folder, manifest.encoder_model());
  REQUIRE(
      rig.mirror()
          .FetchFiles(
              manifest, [&] { return BundlePaths(directory); }, [] { return Paths(); }, Unbounded())
          .ok());
  CHECK(OpenModelBundle(directory, /*verify_checksums=*/true).ok());
}

TEST_CASE("a model's manifest that has not its name's hash is not kept") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  const auto manifest = rig.Manifest("g1");
  const std::string key = absl::StrCat(ModelPrefix(manifest.encoder_model()), kManifestFile);
  const std::string path = rig.Path(key);
  rig.store.Put(key, rig.store.Content()[key] + " ");
  const absl::Status fetched = rig.mirror().FetchFiles(
      manifest, [&] { return Paths{path}; }, [] { return Paths(); }, Unbounded());
  CHECK(HasReason(fetched, reasons::kFetchFailed));
  CHECK(!FileExists(path));
}

TEST_CASE("a generation that is not there, or whose manifest is none, may be there later") {
  Rig rig;
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  const auto fetch = [&] {
    clock.Advance(absl::Minutes(1));
    return rig.mirror().FetchManifest("images", "g1", call);
  };
  CHECK(HasReason(fetch(), reasons::kManifestMissing));
  MakeRemote(&rig.store, "g1");
  const std::string key = "indexes/images/generations/g1/manifest.json";
  const std::string json = rig.store.Content()[key];
  rig.store.Put(key, json.substr(0, json.size() / 2));
  CHECK(HasReason(fetch(), reasons::kManifestInvalid));
  CHECK(!FileExists(rig.Path(key)));
  rig.store.Put(key, json);
  REQUIRE(fetch().ok());
  CHECK(*ReadFile(rig.Path(key)) == json);
  REQUIRE(WriteFileAtomically(rig.Path(key), json.substr(1)).ok());  // the cache's disk
  REQUIRE(fetch().ok());
  CHECK(*ReadFile(rig.Path(key)) == json);
}

TEST_CASE("a generation that was not there is not asked for again and again") {
  Rig rig;
  FakeClock clock;
  int reads = 0;
  rig.store.before = [&](const std::string&, const std::string&) {
    ++reads;
    return absl::OkStatus();
  };
  for (int look = 0; look < 10; ++look) {
    clock.Advance(absl::Seconds(1));
    const absl::Status fetched =
        rig.mirror().FetchManifest("images", "g1", CallContext(&clock, absl::InfiniteFuture()));
    CHECK(HasReason(fetched, reasons::kManifestMissing));
    CHECK_THAT(std::string(fetched.message()),
               Catch::Contains("publish images g1 --store DIR --object-store s3://memory"));
  }
  CHECK(reads == 2);
}

TEST_CASE("an object that came damaged twice is not fetched again until it is written anew") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  const std::string key = rig.VectorsKey("g1", 0);
  const std::string sound = rig.store.Content()[key];
  std::string damaged = sound;
  damaged[damaged.size() / 2] ^= 1;
  rig.store.Put(key, damaged);
  for (int time = 0; time < 5; ++time) {
    const absl::Status fetched = rig.FetchVectors("g1", 0);
    CHECK(HasReason(fetched, reasons::kFetchFailed));
    CHECK_THAT(std::string(fetched.message()),
               Catch::Contains("--store DIR --object-store s3://memory --resend"));
    CHECK(rig.store.bytes_read() == std::min(time + 1, 2) * static_cast<int64_t>(damaged.size()));
  }
  rig.store.now += absl::Seconds(1);
  rig.store.Put(key, sound);
  REQUIRE(rig.FetchVectors("g1", 0).ok());
}

TEST_CASE("a file that the disk has damaged is discarded, one that is sound is not") {
  Rig rig;
  MakeRemote(&rig.store, "g1");
  REQUIRE(rig.FetchVectors("g1", 0).ok());
  REQUIRE(rig.FetchVectors("g1", 1).ok());
  const Paths files = {rig.Path(rig.VectorsKey("g1", 0)), rig.Path(rig.VectorsKey("g1", 1))};
  CHECK(!rig.mirror().DiscardDamaged(rig.Manifest("g1"), files, Unbounded()));
  std::string bytes = *ReadFile(files[1]);
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(files[1], bytes).ok());
  CHECK(rig.mirror().DiscardDamaged(rig.Manifest("g1"), files, Unbounded()));
  CHECK(FileExists(files[0]));
  CHECK(!FileExists(files[1]));
  REQUIRE(rig.FetchVectors("g1", 1).ok());
  CHECK(!rig.mirror().DiscardDamaged(rig.Manifest("g1"), files, Unbounded()));
}

TEST_CASE("another generation of the name that is in the folder is not taken for it") {
  Rig rig;
  MakeRemote(&rig.store, "g1", /*items=*/4);
  const std::string folder = rig.folder.File("store");
  MakeGeneration(folder, "g1", /*items=*/6);
  const auto before = ContentOf(folder);
  const auto over = Mirror::OverStore(rig.shared, folder);
  const absl::Status fetched = over->FetchGeneration("images", "g1", Unbounded());
  CHECK(absl::IsAlreadyExists(fetched));
  CHECK_THAT(std::string(fetched.message()),
             Catch::Contains(folder + " has another generation g1 of index images"));
  CHECK(ContentOf(folder) == before);
  MakeRemote(&rig.store, "g1", /*items=*/6);
  CHECK(over->FetchGeneration("images", "g1", Unbounded()).ok());
}

TEST_CASE("a generation that the folder alone has whole is there") {
  Rig rig;
  const std::string folder = rig.folder.File("store");
  MakeGeneration(folder, "g1");
  const auto before = ContentOf(folder);
  const auto over = Mirror::OverStore(rig.shared, folder);
  CHECK(over->FetchGeneration("images", "g1", Unbounded()).ok());
  CHECK(ContentOf(folder) == before);
  CHECK(absl::IsNotFound(over->FetchGeneration("images", "g2", Unbounded())));
}

int64_t BytesIn(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& [path, content] : ContentOf(folder)) {
    if (path.rfind(".mirror", 0) != 0) bytes += static_cast<int64_t>(content.size());
  }
  return bytes;
}

TEST_CASE("what nobody uses makes room, the oldest first, and the bound is kept") {
  MemoryObjectStore probe;
  MakeRemote(&probe, "g1");
  const auto content = probe.Content();
  int64_t one = 0, manifest = 0;
  for (const auto& [key, bytes] : content) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (key.find(".vectors") != std::string::npos) one = std::max(one, size);
    if (key.find("generations/g1/manifest") != std::string::npos) manifest = size;
  }
  Rig rig(/*max_bytes=*/2 * one + 4 * manifest);
  Paths paths;
  for (const char* name : {"g1", "g2", "g3"}) {
    MakeRemote(&rig.store, name);
    REQUIRE(rig.FetchVectors(name, 0).ok());
    const std::string path = rig.Path(rig.VectorsKey(name, 0));
    const struct timespec times[2] = {{1000 + static_cast<long>(paths.size()), 0},
                                      {1000 + static_cast<long>(paths.size()), 0}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    paths.push_back(path);
    CHECK(BytesIn(rig.options.folder) <= rig.options.max_bytes);
  }
  CHECK(!FileExists(paths[0]));
  CHECK(FileExists(paths[1]));
  CHECK(FileExists(paths[2]));
  // In use, the oldest is left.
  REQUIRE(rig.FetchVectors("g1", 0, {paths[1]}).ok());
  CHECK(FileExists(paths[1]));
  CHECK(!FileExists(paths[2]));
}

TEST_CASE("nothing is removed where that would not be enough") {
  Rig rig(/*max_bytes=*/40000);
  MakeRemote(&rig.store, "g1");
  REQUIRE(rig.FetchVectors("g1", 0).ok());
  const std::string in_use = rig.Path(rig.VectorsKey("g1", 0));
  const auto before = ContentOf(rig.options.folder);
  const absl::Status full = rig.FetchVectors("g1", 1, {in_use});
  CHECK(HasReason(full, reasons::kCacheFull));
  CHECK_THAT(std::string(full.message()), Catch::Contains("40000"));
  CHECK(ContentOf(rig.options.folder) == before);
}

TEST_CASE("a folder is the cache of one process and one store") {
  Rig rig;
  rig.mirror();
  CHECK(absl::IsAborted(Mirror::Cache(rig.shared, rig.options)->Open()));
  rig.opened.reset();
  CHECK(Mirror::Cache(rig.shared, rig.options)->Open().ok());
  // A bucket of that name, elsewhere.
  const auto other = std::make_shared<MemoryObjectStore>();
  other->endpoint = "https://elsewhere";
  const absl::Status refused = Mirror::Cache(other, rig.options)->Open();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("s3://memory at https://here") &&
                 Catch::Contains("s3://memory at https://elsewhere"));
}

TEST_CASE("a folder that holds a store of its own is no cache") {
  Rig rig;
  MakeGeneration(rig.options.folder, "g1");
  CHECK(absl::IsFailedPrecondition(Mirror::Cache(rig.shared, rig.options)->Open()));
  // Who removes nothing may work there.
  MakeRemote(&rig.store, "g2");
  const auto over = Mirror::OverStore(rig.shared, rig.options.folder);
  REQUIRE(over->FetchGeneration("images", "g2", Unbounded()).ok());
  CHECK(FileExists(rig.Path("indexes/images/generations/g1/manifest.json")));
}

}  // namespace
}  // namespace sightline
