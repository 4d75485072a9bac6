#include "common/object_store/upload.h"

#include <set>
#include <string>

#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

absl::Status Upload(MemoryObjectStore& store, const TempDir& folder) {
  return UploadGeneration(&store, folder.path(), "images", "g1", Unbounded());
}

TEST_CASE("a generation arrives byte for byte, with its models and what lies beside it") {
  MemoryObjectStore store;
  const TempDir folder;
  MakeGeneration(folder.path(), "g1");
  const std::string half = "indexes/images/generations/g1/half";
  for (const char* suffix : {".tmp", "+part"}) {
    REQUIRE(WriteFileAtomically(folder.File(half + suffix), "half").ok());
  }
  REQUIRE(Upload(store, folder).ok());
  auto there = ContentOf(folder.path());
  for (const char* suffix : {".tmp", "+part"}) CHECK(there.erase(half + suffix) == 1);
  CHECK(store.Content() == there);
}

TEST_CASE("manifests come last, so that what is not whole is nothing") {
  MemoryObjectStore store;
  const TempDir folder;
  MakeGeneration(folder.path(), "g1");
  std::vector<std::string> written;
  store.before = [&](const std::string& operation, const std::string& key) {
    if (operation == "write" || operation == "create") written.push_back(key);
    return absl::OkStatus();
  };
  REQUIRE(Upload(store, folder).ok());
  CHECK(written.back() == "indexes/images/generations/g1/manifest.json");
  for (const std::string& key : written) {
    const std::string directory = key.substr(0, key.rfind('/') + 1);
    if (directory.rfind("models/", 0) != 0) continue;
    const auto last = std::find_if(written.rbegin(), written.rend(), [&](const std::string& other) {
      return other.rfind(directory, 0) == 0;
    });
    CHECK(*last == directory + "manifest.json");
  }
}

TEST_CASE("an upload that is cut off anywhere is finished by the next, which sends the rest") {
  const TempDir folder;
  MakeGeneration(folder.path(), "g1");
  MemoryObjectStore whole;
  REQUIRE(Upload(whole, folder).ok());
  bool cut = true;
  for (int allowed = 0; cut; ++allowed) {
    INFO(allowed);
    MemoryObjectStore store;
    int operations = 0;
    std::multiset<std::string> sent;
    store.before = [&](const std::string& operation, const std::string& key) {
      if (operations++ >= allowed) return absl::UnavailableError("cut off");
      if (operation == "write") sent.insert(key);
      return absl::OkStatus();
    };
    cut = !Upload(store, folder).ok();
    operations = -1000;
    REQUIRE(Upload(store, folder).ok());
    CHECK(store.Content() == whole.Content());
    for (const std::string& key : sent) CHECK(sent.count(key) == 1);
  }
}

TEST_CASE("a file that is not what the manifest says is not sent") {
  MemoryObjectStore store;
  const TempDir folder;
  const auto manifest = MakeGeneration(folder.path(), "g1");
  const std::string path =
      folder.File("indexes/images/generations/g1/" + manifest.shards(1).vectors().path());
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  const absl::Status uploaded = Upload(store, folder);
  CHECK(absl::IsDataLoss(uploaded));
  CHECK_THAT(std::string(uploaded.message()), Catch::Contains(path));
  CHECK(store.Keys("indexes/images/generations/g1/manifest.json").empty());
}

TEST_CASE("another generation of the name is left once it was published, and replaced before") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1", /*items=*/6);
  const auto before = store.Content();
  const TempDir folder;
  MakeGeneration(folder.path(), "g1", /*items=*/4);
  const bool published = GENERATE(false, true);
  if (published) {
    REQUIRE(PublishRemote(&store, "images", "g1", absl::Now(), Unbounded()).ok());
    CHECK(absl::IsAlreadyExists(Upload(store, folder)));
    for (const auto& [key, bytes] : before) CHECK(store.Content()[key] == bytes);
  } else {
    REQUIRE(Upload(store, folder).ok());
    CHECK(store.Content() == ContentOf(folder.path()));
  }
}

TEST_CASE("what the store has damaged, manifests too, is whole once it was sent again") {
  MemoryObjectStore store;
  const TempDir folder;
  MakeGeneration(folder.path(), "g1");
  REQUIRE(Upload(store, folder).ok());
  REQUIRE(PublishRemote(&store, "images", "g1", absl::Now(), Unbounded()).ok());
  const auto whole = store.Content();
  for (const auto& [key, bytes] : whole) {
    if (key.find("CURRENT/") != std::string::npos) continue;
    INFO(key);
    store.Put(key, "!" + bytes.substr(1), Sha256Hex(bytes));
    const absl::Status sent =
        UploadGeneration(&store, folder.path(), "images", "g1", Unbounded(), /*resend=*/true);
    INFO(sent);
    CHECK(sent.ok());
    CHECK(store.Content() == whole);
  }
}

TEST_CASE("a manifest that the store has damaged is sent again also if it is still one") {
  MemoryObjectStore store;
  const TempDir folder;
  MakeGeneration(folder.path(), "g1");
  REQUIRE(Upload(store, folder).ok());
  REQUIRE(PublishRemote(&store, "images", "g1", absl::Now(), Unbounded()).ok());
  const auto whole = store.Content();
  const std::string key = "indexes/images/generations/g1/manifest.json";
  const std::string told = store.Stat(key, Unbounded())->sha256;
  CHECK(told == Sha256Hex(whole.at(key)));
  std::string damaged = whole.at(key);
  char& digit = damaged[damaged.find("\"sha256\"") + 15];
  digit = digit == '0' ? '1' : '0';
  store.Put(key, damaged, told);
  REQUIRE(ReadRemoteManifest(&store, "images", "g1", Unbounded()).ok());
  const auto upload = [&](bool resend) {
    return UploadGeneration(&store, folder.path(), "images", "g1", Unbounded(), resend);
  };
  const absl::Status refused = upload(/*resend=*/false);
  CHECK(absl::IsAlreadyExists(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("--resend it"));
  CHECK(upload(/*resend=*/true).ok());
  CHECK(store.Content() == whole);

  // Of one that was written without its SHA-256 nobody knows.
  store.Put(key, damaged);
  const absl::Status unknown = upload(/*resend=*/true);
  CHECK(absl::IsAlreadyExists(unknown));
  CHECK_THAT(std::string(unknown.message()), Catch::Contains("remove s3://memory/" + key));
  REQUIRE(store.Remove(key, Unbounded()).ok());
  CHECK(upload(/*resend=*/false).ok());
  CHECK(store.Content() == whole);
}

TEST_CASE("a model that is not in the folder is said to be missing, before anything is sent") {
  MemoryObjectStore store;
  const TempDir folder;
  auto manifest = WriteTestGeneration(folder.path(), "g1", 4, 1);
  REQUIRE(manifest.ok());
  CHECK(absl::IsNotFound(Upload(store, folder)));
  CHECK(store.Keys().empty());
}

}  // namespace
}  // namespace sightline
