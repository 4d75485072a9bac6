#include "common/object_store/s3_store.h"

#include <httplib.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/exit_status.h"
#include "tests/common/object_store/s3_rig.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

struct Rig {
  explicit Rig(int page_keys = 1000)
      : server([&] {
          S3TestServerOptions options;
          options.folder = dir.path();
          options.page_keys = page_keys;
          return options;
        }()),
        store(OpenFor(OptionsFor(server))) {}

  // Puts an object there past the store.
  void Put(const std::string& key, const std::string& bytes) {
    server.objects().Put(InBucket(key), {"", absl::FromUnixSeconds(1'700'000'000), bytes}, false);
  }
  std::string Bytes(const std::string& key) {
    TestObject object;
    return server.objects().Get(InBucket(key), &object) ? object.bytes : "nothing";
  }
  std::string ReadAll(const std::string& key) {
    const auto bytes = store->ReadAll(key, 100, kForever);
    return bytes.ok() ? *bytes : bytes.status().ToString();
  }

  TempDir dir;
  S3TestServer server;
  std::unique_ptr<ObjectStore> store;
};

S3Fault Fault(S3Fault::Kind kind, const char* operation, int times = 1) {
  S3Fault fault{kind, operation};
  fault.times = times;
  return fault;
}

S3Fault Answering(const char* operation, int status, absl::string_view body, int times = 1) {
  S3Fault fault = Fault(S3Fault::kAnswer, operation, times);
  fault.status = status;
  fault.body = std::string(body);
  return fault;
}

S3Fault AnsweringCode(const char* operation, int status, absl::string_view code, int times = 1) {
  return Answering(operation, status, absl::StrCat("<Error><Code>", code, "</Code></Error>"),
                   times);
}

std::vector<std::string> Keys(const absl::StatusOr<std::vector<ObjectInfo>>& found) {
  if (!found.ok()) return {found.status().ToString()};
  std::vector<std::string> keys;
  for (const ObjectInfo& object : *found) keys.push_back(object.key);
  return keys;
}

// --- what it does, beside s3_conformance_test.cc ---

TEST_CASE("Objects lie below the store's folder") {
  Rig rig;
  CHECK(rig.store->name() == "s3://bucket/some/folder");
  REQUIRE(rig.store->Write("models/a", "bytes", kForever).ok());
  CHECK(rig.Bytes("models/a") == "bytes");
}

TEST_CASE("A store is told from one of its name at another endpoint") {
  Rig rig, other;
  CHECK(rig.store->name() == other.store->name());
  CHECK(rig.store->identity() != other.store->identity());
  CHECK(rig.store->identity() == OpenFor(OptionsFor(rig.server))->identity());
}

TEST_CASE("A range behind an object's end, or across it, is OUT_OF_RANGE, and not tried again") {
  Rig rig;
  rig.Put("a", "0123456789");
  CHECK(absl::IsOutOfRange(rig.store->Read("a", 8, 3, kForever).status()));
  CHECK(absl::IsOutOfRange(rig.store->Read("a", 10, 1, kForever).status()));
  CHECK(rig.server.requests("GetObject") == 2);
}

TEST_CASE("A list is in order, below its prefix, behind its start, and no longer than asked for") {
  Rig rig(/*page_keys=*/3);
  for (int i = 0; i < 10; ++i) rig.Put(absl::StrCat("x/", i), std::string(i, '.'));
  rig.Put("w", "");
  rig.Put("y", "");
  const auto all = rig.store->List("x/", "", 1'000'000, kForever);
  REQUIRE(all.ok());
  REQUIRE(all->size() == 10);
  CHECK(all->at(7).key == "x/7");
  CHECK(all->at(7).byte_count == 7);
  CHECK(all->at(7).write_time == absl::FromUnixSeconds(1'700'000'000));
  CHECK(rig.server.requests("ListObjects") == 4);
  CHECK(Keys(rig.store->List("x/", "x/3", 5, kForever)) ==
        std::vector<std::string>{"x/4", "x/5", "x/6", "x/7", "x/8"});
  CHECK(Keys(rig.store->List("", "x/8", 9, kForever)) == std::vector<std::string>{"x/9", "y"});
  CHECK(Keys(rig.store->List("z", "", 9, kForever)).empty());
}

TEST_CASE("Of many who create one key at the same moment, one has") {
  Rig rig;
  std::atomic<int> created{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const absl::Status status = rig.store->Create("a", absl::StrCat(t), kForever);
      created += status.ok() ? 1 : 0;
      refused += absl::IsAlreadyExists(status) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(created == 1);
  CHECK(refused == 7);
}

// --- trouble that passes ---

TEST_CASE("What may pass is tried again") {
  for (const S3Fault::Kind kind : {S3Fault::kAnswer, S3Fault::kReset, S3Fault::kResetAfter}) {
    INFO(kind);
    Rig rig;
    rig.server.Inject(Fault(kind, ""));
    CHECK(rig.store->Write("a", "bytes", kForever).ok());
    for (const char* const operation :
         {"GetObject", "HeadObject", "PutObject", "ListObjects", "DeleteObject"}) {
      rig.server.Inject(Fault(kind, operation, 2));
    }
    CHECK(rig.store->Write("b", "bytes", kForever).ok());
    CHECK(*rig.store->Read("a", 0, 5, kForever) == "bytes");
    CHECK(rig.ReadAll("a") == "bytes");
    CHECK(rig.store->Stat("a", kForever).ok());
    CHECK(Keys(rig.store->List("", "", 9, kForever)) == std::vector<std::string>{"a", "b"});
    CHECK(rig.store->Remove("a", kForever).ok());
    CHECK(rig.Bytes("a") == "nothing");
  }
}

TEST_CASE("An answer that breaks off, or is of another range, is asked for again") {
  Rig rig;
  rig.Put("a", "0123456789");
  rig.server.Inject(Fault(S3Fault::kTruncate, "GetObject", 2));
  CHECK(*rig.store->Read("a", 2, 6, kForever) == "234567");
  rig.server.Inject(Fault(S3Fault::kTruncate, "GetObject", 2));
  CHECK(rig.ReadAll("a") == "0123456789");
  rig.server.Inject(Fault(S3Fault::kWrongRange, "GetObject", 2));
  CHECK(*rig.store->Read("a", 2, 6, kForever) == "234567");
  rig.server.Inject(Answering("GetObject", 200, "0123456789", 2));  // a server without ranges
  CHECK(*rig.store->Read("a", 2, 6, kForever) == "234567");
  rig.server.Inject(Answering("GetObject", 206, "012345", 2));  // of which bytes it says not
  CHECK(*rig.store->Read("a", 2, 6, kForever) == "234567");
  rig.server.Inject(Fault(S3Fault::kTruncate, "ListObjects", 2));
  CHECK(Keys(rig.store->List("", "", 9, kForever)) == std::vector<std::string>{"a"});
}

TEST_CASE("What the store says has been damaged on its way is sent again") {
  Rig rig;
  rig.server.Inject(Fault(S3Fault::kDamage, "PutObject", 2));
  CHECK(rig.store->Write("a", "bytes", kForever).ok());
  CHECK(rig.Bytes("a") == "bytes");
}

TEST_CASE("Trouble that stays is UNAVAILABLE after so many attempts, with the store's words") {
  Rig rig;
  rig.server.Inject(AnsweringCode("", 503, "SlowDown", -1));
  const absl::Status status = rig.store->Write("a", "bytes", kForever);
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("s3://bucket/some/folder/a: write") &&
                                                Contains("503 SlowDown") &&
                                                Contains("(attempt 4)"));
  CHECK(rig.server.requests("PutObject") == 4);
}

TEST_CASE("A store that is not there is UNAVAILABLE") {
  std::string endpoint;
  {
    Rig rig;
    endpoint = rig.server.endpoint();
  }
  S3Options options;
  options.url = "s3://bucket";
  options.endpoint = endpoint;
  options.retry.first_wait = absl::ZeroDuration();
  CHECK(absl::IsUnavailable(OpenFor(options)->Stat("a", kForever).status()));
}

TEST_CASE("A transfer that stands still is given up and begun anew") {
  Rig rig;
  rig.Put("a", "0123456789");
  rig.server.Inject(Fault(S3Fault::kStall, "GetObject"));
  FakeClock clock;
  Background<std::string> bytes(
      [&] { return *rig.store->ReadAll("a", 100, CallContext(&clock, absl::InfiniteFuture())); });
  AwaitUntil([&] { return rig.server.requests("GetObject") == 1; });
  clock.Advance(absl::Minutes(1));
  CHECK(bytes.Get() == "0123456789");
  CHECK(rig.server.requests("GetObject") == 2);
}

TEST_CASE("The call's deadline and its cancellation end a transfer that stands still") {
  for (const bool cancelled : {true, false}) {
    Rig rig;
    rig.Put("a", "0123456789");
    rig.server.Inject(Fault(S3Fault::kStall, "GetObject"));
    FakeClock clock;
    const CallContext call(&clock, clock.Now() + absl::Seconds(5));
    Background<absl::Status> status([&] { return rig.store->ReadAll("a", 100, call).status(); });
    AwaitUntil([&] { return rig.server.requests("GetObject") == 1; });
    if (cancelled) {
      call.cancellation()->Cancel();
    } else {
      clock.Advance(absl::Seconds(5));
    }
    CHECK(status.Get().code() ==
          (cancelled ? absl::StatusCode::kCancelled : absl::StatusCode::kDeadlineExceeded));
    CHECK(rig.server.requests("GetObject") == 1);
  }
}

// --- Create, of which one cannot know ---

TEST_CASE("An object that was created by an attempt that seemed to fail is one's own") {
  Rig rig;
  rig.server.Inject(Fault(S3Fault::kResetAfter, "PutObject"));
  CHECK(rig.store->Create("a", "mine", kForever).ok());
  CHECK(rig.Bytes("a") == "mine");
}

TEST_CASE("After an attempt that failed, what another created is another's") {
  for (const std::string other : {"other", "min", "mine, and more"}) {
    Rig rig;
    rig.Put("a", other);
    rig.server.Inject(Fault(S3Fault::kReset, "PutObject"));
    CHECK(absl::IsAlreadyExists(rig.store->Create("a", "mine", kForever)));
    CHECK(rig.Bytes("a") == other);
  }
}

TEST_CASE("If it cannot be read whose object it is, that is an error and no ALREADY_EXISTS") {
  Rig rig;
  rig.server.Inject(Fault(S3Fault::kResetAfter, "PutObject"));
  rig.server.Inject(AnsweringCode("GetObject", 403, "AccessDenied", -1));
  CHECK(absl::IsPermissionDenied(rig.store->Create("a", "mine", kForever)));
}

TEST_CASE("A conflict of two who create is tried again") {
  Rig rig;
  rig.server.Inject(AnsweringCode("PutObject", 409, "ConditionalRequestConflict", 2));
  CHECK(rig.store->Create("a", "mine", kForever).ok());
}

// --- trouble that stays ---

TEST_CASE("What does not pass is not tried again") {
  const struct {
    int status;
    const char* name;
    absl::StatusCode code;
  } cases[] = {{403, "AccessDenied", absl::StatusCode::kPermissionDenied},
               {403, "SignatureDoesNotMatch", absl::StatusCode::kUnauthenticated},
               {404, "NoSuchBucket", absl::StatusCode::kFailedPrecondition},
               {400, "InvalidRequest", absl::StatusCode::kFailedPrecondition},
               {507, "XMinioStorageFull", absl::StatusCode::kResourceExhausted}};
  for (const auto& one : cases) {
    INFO(one.name);
    Rig rig;
    rig.server.Inject(AnsweringCode("", one.status, one.name, -1));
    const absl::Status status = rig.store->Write("a", "bytes", kForever);
    CHECK(status.code() == one.code);
    CHECK_THAT(std::string(status.message()), Contains(one.name));
    CHECK(rig.server.requests("PutObject") == 1);
  }
}

TEST_CASE("An object that is too long is so at any later time") {
  Rig rig;
  rig.Put("a", "0123456789");
  const absl::Status status = rig.store->ReadAll("a", 9, kForever).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()), Contains("/a: read: "));
  CHECK(ExitStatusOf(status) == kFailure);
}

TEST_CASE("The server believes nobody else's keys, region or clock, and each is told") {
  Rig rig;
  const S3Options options = OptionsFor(rig.server);
  S3TestKeys wrong;
  wrong.secret = "wrong";
  CHECK(absl::IsUnauthenticated(OpenFor(options, wrong)->Write("a", "", kForever)));
  wrong.id = "stranger";
  CHECK(absl::IsUnauthenticated(OpenFor(options, wrong)->Write("a", "", kForever)));
  S3Options elsewhere = options;
  elsewhere.region = "eu-west-1";
  const absl::Status moved = OpenFor(elsewhere)->Write("a", "", kForever);
  CHECK(absl::IsFailedPrecondition(moved));
  CHECK_THAT(std::string(moved.message()), Contains("the bucket is in region us-east-1"));
  const auto late = OpenFor(options, {}, [] { return absl::Now() - absl::Hours(1); });
  const absl::Status skewed = late->Write("a", "", kForever);
  CHECK(absl::IsFailedPrecondition(skewed));
  CHECK_THAT(std::string(skewed.message()), Contains("clock"));
}

TEST_CASE("A session's token goes with each request") {
  TempDir dir;
  S3TestServerOptions options;
  options.folder = dir.path();
  options.keys.session_token = "a session";
  S3TestServer server(options);
  CHECK(OpenFor(OptionsFor(server), options.keys)->Write("a", "", kForever).ok());
  CHECK(absl::IsUnauthenticated(OpenFor(OptionsFor(server))->Write("a", "", kForever)));
}

TEST_CASE("No message has a secret") {
  Rig rig;
  rig.server.Inject(AnsweringCode("", 403, "SignatureDoesNotMatch", -1));
  const absl::Status status = rig.store->Write("a", "bytes", kForever);
  CHECK_THAT(std::string(status.message()), !Contains(S3TestKeys().secret));
}

TEST_CASE("A list that is hostile is refused and ends") {
  const std::string head =
      "<ListBucketResult><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>on</NextContinuationToken>";
  const auto object = [](absl::string_view key) {
    return absl::StrCat("<Contents><Key>", key,
                        "</Key><Size>1</Size><LastModified>"
                        "2026-01-02T03:04:05Z</LastModified></Contents>");
  };
  const std::string end = "</ListBucketResult>";
  for (const std::string& body :
       {head + end,                                                      // pages without keys
        head + object("some/folder/x") + end,                            // one page for ever
        head + object("some/folder/x") + object("some/folder/w") + end,  // out of order
        head + object("elsewhere") + end,                                // not below the prefix
        head + object("some/folder") + end}) {
    Rig rig;
    rig.server.Inject(Answering("ListObjects", 200, body, -1));
    CHECK(absl::IsFailedPrecondition(rig.store->List("", "", 1'000'000, kForever).status()));
  }
  for (const std::string& body :
       {std::string("<html/>"), std::string(5'500'000, ' '),
        std::string("<ListBucketResult><Contents/></ListBucketResult>")}) {
    Rig rig;
    rig.server.Inject(Answering("ListObjects", 200, body, -1));
    CHECK_FALSE(rig.store->List("", "", 10, kForever).ok());
  }
}

TEST_CASE("An object that stands for the store's folder is none of the store's") {
  Rig rig;
  rig.Put("", "");
  rig.Put("a", "");
  CHECK(Keys(rig.store->List("", "", 10, kForever)) == std::vector<std::string>{"a"});
}

TEST_CASE("A HEAD without length or time is no answer") {
  Rig rig;
  rig.server.Inject(Answering("HeadObject", 200, "", -1));
  CHECK(absl::IsUnavailable(rig.store->Stat("a", kForever).status()));
}

TEST_CASE("Objects survive a server that is started anew") {
  TempDir dir;
  S3TestServerOptions options;
  options.folder = dir.path();
  {
    S3TestServer server(options);
    REQUIRE(OpenFor(OptionsFor(server))->Write("a", "bytes", kForever).ok());
  }
  S3TestServer server(options);
  CHECK(*OpenFor(OptionsFor(server))->ReadAll("a", 9, kForever) == "bytes");
}

TEST_CASE("The test server is told of faults over the wire as well") {
  Rig rig;
  httplib::Client control(rig.server.endpoint());
  const auto told = control.Post("/_fault", httplib::Params{{"kind", "answer"},
                                                            {"operation", "PutObject"},
                                                            {"key_part", "b"},
                                                            {"times", "2"},
                                                            {"skip", "1"},
                                                            {"status", "507"},
                                                            {"body", ""}});
  REQUIRE(told);
  CHECK(told->status == 200);
  CHECK(control.Post("/_fault", httplib::Params{{"kind", "none"}})->status == 400);
  CHECK(rig.store->Write("a", "", kForever).ok());
  CHECK(rig.store->Write("b", "", kForever).ok());
  CHECK_FALSE(rig.store->Write("b", "", kForever).ok());
  CHECK(rig.store->Write("a", "", kForever).ok());
}

TEST_CASE("Options that are wrong are refused before anything is sent") {
  S3Options options;
  options.url = "bucket";
  CHECK(absl::IsInvalidArgument(OpenS3Store(options, KeysOf({})).status()));
  options.url = "s3://bucket";
  CHECK(absl::IsFailedPrecondition(OpenS3Store(options, Variables({})).status()));
}

}  // namespace
}  // namespace sightline
