// What a store has to do for us: the test server, and a real one if SIGHTLINE_S3_ENDPOINT names it
// (tests/deploy/object_store/check.sh).  That has a bucket of the name "bucket"; keys are those of
// the environment.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/object_store/conditional_writes.h"
#include "common/object_store/s3_caller.h"
#include "common/object_store/s3_store.h"
#include "tests/common/object_store/s3_rig.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();
// The smallest that Amazon takes of a part which is not the last.
constexpr int64_t kPartBytes = 5 << 20;

// A store below a folder that no other test has.
class Rig {
 public:
  Rig() {
    const auto endpoint = ProcessEnvironment()("SIGHTLINE_S3_ENDPOINT");
    if (endpoint.has_value()) {
      environment_ = ProcessEnvironment();
      options_.endpoint = *endpoint;
    } else {
      S3TestServerOptions options;
      options.folder = dir.File("server");
      server_ = std::make_unique<S3TestServer>(options);
      environment_ = KeysOf(options.keys);
      options_.endpoint = server_->endpoint();
    }
    options_.url = absl::StrCat("s3://bucket/test-", absl::ToUnixNanos(absl::Now()));
    options_.upload.part_bytes = kPartBytes;
    auto opened = OpenS3Store(options_, environment_);
    INFO(opened.status());
    REQUIRE(opened.ok());
    store = *std::move(opened);
  }

  // As a writer does that is then killed.
  absl::Status BeginUpload(const std::string& key) {
    const S3Place place =
        *FindS3Place(options_.url, options_.endpoint, options_.region, environment_);
    auto http = std::make_unique<HttpClient>(HttpOptions());
    auto keys = *FindAwsKeys(environment_, place.region, http.get(), absl::Now);
    S3Caller caller(place, std::move(http), std::move(keys), options_.retry, absl::Now);
    return caller.Send({"POST", place.prefix + key, {{"uploads", ""}}}, kForever).status();
  }

  std::string ReadAll(const std::string& key) {
    const auto bytes = store->ReadAll(key, 100 << 20, kForever);
    return bytes.ok() ? *bytes : bytes.status().ToString();
  }

  const TempDir dir;

 private:
  S3Options options_;
  Environment environment_;
  std::unique_ptr<S3TestServer> server_;

 public:
  std::unique_ptr<ObjectStore> store;  // its connections end before the server
};

std::vector<std::string> Keys(const absl::StatusOr<std::vector<ObjectInfo>>& found) {
  if (!found.ok()) return {found.status().ToString()};
  std::vector<std::string> keys;
  for (const ObjectInfo& object : *found) keys.push_back(object.key);
  return keys;
}

TEST_CASE("What is written is read, looked at and removed") {
  Rig rig;
  REQUIRE(rig.store->Write("models/a", "0123456789", kForever).ok());
  CHECK(rig.ReadAll("models/a") == "0123456789");
  CHECK(*rig.store->Read("models/a", 3, 4, kForever) == "3456");
  CHECK(*rig.store->Read("models/a", 9, 1, kForever) == "9");
  CHECK(*rig.store->Read("models/a", 0, 10, kForever) == "0123456789");
  const auto info = rig.store->Stat("models/a", kForever);
  REQUIRE(info.ok());
  CHECK(info->key == "models/a");
  CHECK(info->byte_count == 10);
  CHECK(absl::AbsDuration(info->write_time - absl::Now()) < absl::Minutes(5));
  REQUIRE(rig.store->Write("models/a", "", kForever).ok());
  CHECK(rig.ReadAll("models/a").empty());
  REQUIRE(rig.store->Remove("models/a", kForever).ok());
  CHECK(absl::IsNotFound(rig.store->Stat("models/a", kForever).status()));
  CHECK(rig.store->Remove("models/a", kForever).ok());
}

TEST_CASE("What is not there is NOT_FOUND, with its name") {
  Rig rig;
  for (const absl::Status& status :
       {rig.store->Read("a", 0, 1, kForever).status(),
        rig.store->ReadAll("a", 1, kForever).status(), rig.store->Stat("a", kForever).status()}) {
    INFO(status);
    CHECK(absl::IsNotFound(status));
    CHECK_THAT(std::string(status.message()), Contains(rig.store->name() + "/a"));
  }
}

TEST_CASE("No more is read than there is, and no more than is allowed") {
  Rig rig;
  REQUIRE(rig.store->Write("a", "0123456789", kForever).ok());
  CHECK(absl::IsOutOfRange(rig.store->Read("a", 8, 3, kForever).status()));
  CHECK(absl::IsOutOfRange(rig.store->Read("a", 10, 1, kForever).status()));
  CHECK(rig.store->ReadAll("a", 10, kForever).ok());
  CHECK(absl::IsResourceExhausted(rig.store->ReadAll("a", 9, kForever).status()));
}

TEST_CASE("Keys of all kinds of bytes come back as they were") {
  Rig rig;
  for (const std::string key : {"a b", "a+b", "a%2Fb", "\xC3\xA9/\xE2\x82\xAC", "a&b<c>\"d\"",
                                "~-._", "x/y=1", "(1)!*'$;:@,?#"}) {
    INFO(key);
    REQUIRE(rig.store->Write(key, key, kForever).ok());
    CHECK(rig.ReadAll(key) == key);
    CHECK(Keys(rig.store->List("", "", 10, kForever)) == std::vector<std::string>{key});
    REQUIRE(rig.store->Remove(key, kForever).ok());
  }
}

TEST_CASE("A list is in order, below its prefix, behind its start, and no longer than asked for") {
  Rig rig;
  for (const char* const key : {"y", "x/9", "x/10", "x/1", "w", "x/1/a", "x/1-a", "x"}) {
    REQUIRE(rig.store->Write(key, key, kForever).ok());
  }
  const auto all = rig.store->List("", "", 100, kForever);
  CHECK(Keys(all) ==
        std::vector<std::string>{"w", "x", "x/1", "x/1-a", "x/1/a", "x/10", "x/9", "y"});
  CHECK(all->at(5).byte_count == 4);
  CHECK(absl::AbsDuration(all->at(5).write_time - absl::Now()) < absl::Minutes(5));
  CHECK(Keys(rig.store->List("x/", "x/1", 3, kForever)) ==
        std::vector<std::string>{"x/1-a", "x/1/a", "x/10"});
  CHECK(Keys(rig.store->List("", "x/10", 9, kForever)) == std::vector<std::string>{"x/9", "y"});
  CHECK(Keys(rig.store->List("z", "", 9, kForever)).empty());
}

TEST_CASE("What exists is not created again, and the probe sees it") {
  Rig rig;
  CHECK(rig.store->Create("CURRENT/1", "mine", kForever).ok());
  CHECK(absl::IsAlreadyExists(rig.store->Create("CURRENT/1", "other", kForever)));
  CHECK(absl::IsAlreadyExists(rig.store->Create("CURRENT/1", "mine", kForever)));
  CHECK(rig.ReadAll("CURRENT/1") == "mine");
  CHECK(rig.store->Stat("CURRENT/1", kForever)->sha256 == Sha256Hex("mine"));
  CHECK(CheckConditionalWrites(*rig.store, kForever).ok());
  CHECK(CheckConditionalWrites(*rig.store, kForever).ok());
}

TEST_CASE("A file comes back byte for byte, in one request and in parts") {
  Rig rig;
  for (const int64_t size : {int64_t{0}, int64_t{1000}, kPartBytes, 2 * kPartBytes + 1}) {
    INFO(size);
    std::string bytes;
    for (int64_t i = 0; static_cast<int64_t>(bytes.size()) < size; ++i) {
      absl::StrAppend(&bytes, i, ",");
    }
    bytes.resize(size);
    REQUIRE(WriteFileAtomically(rig.dir.File("file"), bytes).ok());
    const absl::Status status =
        rig.store->WriteFile("a", rig.dir.File("file"), Sha256Hex(bytes), kForever);
    INFO(status);
    REQUIRE(status.ok());
    CHECK((rig.ReadAll("a") == bytes));
    const ObjectInfo info = *rig.store->Stat("a", kForever);
    CHECK(info.byte_count == size);
    CHECK(info.sha256 == Sha256Hex(bytes));
  }
}

// That it is by age as well is in s3_upload_test.cc: moto says of all uploads that they are old.
TEST_CASE("What a killed writer left is removed below a prefix") {
  Rig rig;
  REQUIRE(rig.BeginUpload("models/a").ok());
  REQUIRE(rig.BeginUpload("models/b").ok());
  REQUIRE(rig.BeginUpload("other").ok());
  const absl::Time later = absl::Now() + absl::Hours(1);
  CHECK(*rig.store->RemoveHalfWritten("models/", later, kForever) == 2);
  CHECK(*rig.store->RemoveHalfWritten("", later, kForever) == 1);
  CHECK(*rig.store->RemoveHalfWritten("", later, kForever) == 0);
}

}  // namespace
}  // namespace sightline
