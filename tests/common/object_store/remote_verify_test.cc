#include "common/object_store/remote_verify.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/read_progress.h"
#include "common/object_store/visit_objects.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

struct Rig {
  Rig() {
    for (int i = 0; i < 5; ++i) {
      const std::string key = absl::StrCat("a/", i);
      const std::string bytes(1000 * i, static_cast<char>('a' + i));
      store.Put(key, bytes, Sha256Hex(bytes));
      expected.push_back({key, static_cast<int64_t>(bytes.size()), Sha256Hex(bytes)});
    }
    options.piece_bytes = 300;
  }
  absl::Status Verify() { return VerifyObjects(&store, expected, options, kForever); }

  MemoryObjectStore store;
  std::vector<ExpectedFile> expected;
  FetchOptions options;
};

TEST_CASE("what is whole is read once, to its last byte, and counted") {
  Rig rig;
  ReadProgress progress({{"a/3", 3000}, {"a/4", 4000}});
  const ReadProgress::Scope scope(&progress);
  CHECK(rig.Verify().ok());
  CHECK(rig.store.bytes_read() == 10'000);
  CHECK(progress.bytes().done == 7000);
}

TEST_CASE("all that is damaged is named, whatever became of it") {
  Rig rig;
  rig.store.Put("a/1", std::string(999, 'b'));
  rig.store.Put("a/3", std::string(2999, 'd') + "x");
  REQUIRE(rig.store.Remove("a/4", kForever).ok());
  const absl::Status status = rig.Verify();
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(std::string(status.message()),
             Contains("3 of 5 objects are damaged") && Contains("a/1 has 999 of 1000 bytes") &&
                 Contains("a/3 has the SHA-256") && Contains("a/4 is missing"));
}

TEST_CASE("of much that is damaged ten are named") {
  Rig rig;
  for (int i = 5; i < 30; ++i) rig.expected.push_back({absl::StrCat("a/", i), 1, Sha256Hex("")});
  const std::string message(rig.Verify().message());
  CHECK_THAT(message, Contains("25 of 30") && Contains("a/14 ") && !Contains("a/15 "));
}

TEST_CASE("a store that does not answer is no damage") {
  Rig rig;
  rig.store.before = [](const std::string& operation, const std::string& key) {
    return operation == "read" && key == "a/2" ? absl::UnavailableError("away") : absl::OkStatus();
  };
  CHECK(absl::IsUnavailable(rig.Verify()));
}

TEST_CASE("folders are listed, each once, and not the objects beside or below them") {
  MemoryObjectStore store;
  for (const char* key : {"a/b", "i/", "i/a-b/x", "i/a/x", "i/a/y/z", "i/a0/x", "i/b", "j/c/x"}) {
    store.Put(key, "");
  }
  const auto folders = ListFolders(&store, "i/", kForever);
  REQUIRE(folders.ok());
  CHECK(*folders == std::vector<std::string>{"a-b", "a", "a0"});
  CHECK(ListFolders(&store, "k/", kForever)->empty());
}

}  // namespace
}  // namespace sightline
