#include "common/object_store/s3_upload.h"

#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "tests/common/object_store/s3_rig.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

// A store whose parts have ten bytes.
struct Rig {
  explicit Rig(int connections = 3)
      : server([&] {
          S3TestServerOptions options;
          options.folder = dir.File("server");
          options.page_keys = 2;
          options.now = [this] { return now; };
          return options;
        }()) {
    S3Options options = OptionsFor(server);
    options.upload = {/*part_bytes=*/10, connections};
    store = OpenFor(options, {}, [this] { return now; });
  }

  std::string File(size_t size) {
    std::string bytes;
    for (size_t i = 0; bytes.size() < size; ++i) absl::StrAppend(&bytes, i, ",");
    content = bytes.substr(0, size);
    REQUIRE(WriteFileAtomically(dir.File("file"), content).ok());
    return dir.File("file");
  }
  absl::Status Send(size_t size, const CallContext& call = kForever) {
    const std::string path = File(size);
    return store->WriteFile("a", path, Sha256Hex(content), call);
  }
  std::string Bytes() {
    TestObject object;
    return server.objects().Get(InBucket("a"), &object) ? object.bytes : "nothing";
  }
  void Inject(S3Fault::Kind kind, const char* operation, int times, int skip = 0) {
    S3Fault fault{kind, operation};
    fault.times = times;
    fault.skip = skip;
    server.Inject(fault);
  }
  void InjectAnswer(const char* operation, int status, const char* body, int times) {
    S3Fault fault{S3Fault::kAnswer, operation};
    fault.status = status;
    fault.body = body;
    fault.times = times;
    server.Inject(fault);
  }

  TempDir dir;
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  std::string content;
  S3TestServer server;
  std::unique_ptr<ObjectStore> store;
};

TEST_CASE("A file goes in one request up to a part's size, in parts above") {
  for (const size_t size : {0, 1, 9, 10, 11, 20, 21, 995}) {
    INFO(size);
    Rig rig;
    const absl::Status status = rig.Send(size);
    INFO(status);
    REQUIRE(status.ok());
    CHECK(rig.Bytes() == rig.content);
    CHECK(rig.server.requests("PutObject") == (size <= 10 ? 1 : 0));
    CHECK(rig.server.requests("UploadPart") ==
          (size <= 10 ? 0 : static_cast<int>((size + 9) / 10)));
    CHECK(rig.server.objects().Uploads().empty());
  }
}

TEST_CASE("A file of more parts than S3 allows goes in bigger ones") {
  CHECK(PartBytes(11, 10) == 10);
  CHECK(PartBytes(90'000, 10) == 10);
  CHECK(PartBytes(90'001, 10) == 11);
  CHECK(PartBytes(int64_t{5} << 40, 16 << 20) == 610'839'794);
}

TEST_CASE("A file takes the place of what was there") {
  Rig rig;
  REQUIRE(rig.store->Write("a", "before", kForever).ok());
  REQUIRE(rig.Send(35).ok());
  CHECK(rig.Bytes() == rig.content);
}

TEST_CASE("Every step of an upload that may fail is tried again") {
  for (const S3Fault::Kind kind :
       {S3Fault::kAnswer, S3Fault::kReset, S3Fault::kResetAfter, S3Fault::kDamage}) {
    for (const char* const operation : {"CreateUpload", "UploadPart", "CompleteUpload"}) {
      INFO(kind << " " << operation);
      Rig rig;
      rig.Inject(kind, operation, 2, 0);
      const absl::Status status = rig.Send(95);
      INFO(status);
      CHECK(status.ok());
      CHECK(rig.Bytes() == rig.content);
    }
  }
}

TEST_CASE("An upload that was completed by an attempt that seemed to fail is complete") {
  Rig rig;
  rig.Inject(S3Fault::kResetAfter, "CompleteUpload", 1);
  REQUIRE(rig.Send(95).ok());
  CHECK(rig.server.requests("HeadObject") == 1);
  CHECK(rig.Bytes() == rig.content);
}

TEST_CASE("An object of another is not taken for the upload's") {
  Rig rig;
  REQUIRE(rig.Send(96).ok());
  // The first attempt fails, and the upload is gone then.
  rig.InjectAnswer("CompleteUpload", 500, "", 1);
  rig.InjectAnswer("CompleteUpload", 404, "<Error><Code>NoSuchUpload</Code></Error>", 1);
  const absl::Status status = rig.Send(95);
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("removed as half written"));
}

TEST_CASE("An error within the success of the end is an error") {
  Rig rig;
  rig.InjectAnswer("CompleteUpload", 200, "<Error><Code>InternalError</Code></Error>", 2);
  CHECK(rig.Send(95).ok());
  for (const char* const body :
       {"<Error><Code>InvalidPart</Code></Error>", "", "<html/>", "<CompleteMultipart"}) {
    INFO(body);
    Rig other;
    other.InjectAnswer("CompleteUpload", 200, body, -1);
    CHECK_FALSE(other.Send(95).ok());
    CHECK(other.Bytes() == "nothing");
    CHECK(other.server.objects().Uploads().empty());
  }
}

TEST_CASE("After trouble that stays nothing is left of an upload") {
  for (const char* const operation : {"UploadPart", "CompleteUpload"}) {
    INFO(operation);
    Rig rig;
    rig.Inject(S3Fault::kAnswer, operation, -1);
    CHECK(absl::IsUnavailable(rig.Send(95)));
    CHECK(rig.server.objects().Uploads().empty());
    CHECK(rig.Bytes() == "nothing");
  }
}

TEST_CASE("A call that is cancelled leaves nothing of its upload") {
  Rig rig;
  rig.Inject(S3Fault::kStall, "UploadPart", 1, 4);
  const CallContext call = CallContext::Unbounded();
  Background<absl::Status> status([&] { return rig.Send(95, call); });
  AwaitUntil([&] { return rig.server.requests("UploadPart") >= 5; });
  call.cancellation()->Cancel();
  const absl::Status ended = status.Get();
  CHECK((ended.ok() || absl::IsCancelled(ended)));
  CHECK(rig.server.objects().Uploads().empty());
}

TEST_CASE("A file that cannot be read is an error") {
  Rig rig;
  CHECK(absl::IsNotFound(rig.store->WriteFile("a", rig.dir.File("none"), Sha256Hex(""), kForever)));
  CHECK(rig.server.requests("PutObject") == 0);
}

TEST_CASE("A file of another content than was said becomes no object") {
  for (const size_t size : {10, 95}) {
    INFO(size);
    Rig rig;
    const std::string path = rig.File(size);
    const absl::Status status = rig.store->WriteFile("a", path, std::string(64, 'a'), kForever);
    CHECK(absl::IsDataLoss(status));
    CHECK_THAT(std::string(status.message()), Contains(path) && Contains(Sha256Hex(rig.content)));
    CHECK(rig.server.objects().Uploads().empty());
    CHECK(rig.Bytes() == "nothing");
  }
}

TEST_CASE("A file that changes while it is sent is an error, and nothing is left") {
  Rig rig(/*connections=*/1);
  const std::string path = rig.File(95);
  rig.Inject(S3Fault::kStall, "UploadPart", 1);
  FakeClock clock;
  Background<absl::Status> status([&] {
    return rig.store->WriteFile("a", path, Sha256Hex(rig.content),
                                CallContext(&clock, absl::InfiniteFuture()));
  });
  AwaitUntil([&] { return rig.server.requests("UploadPart") > 0; });
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(50).put('!').flush();
  clock.Advance(absl::Minutes(1));
  CHECK(absl::IsDataLoss(status.Get()));
  CHECK(rig.server.objects().Uploads().empty());
  CHECK(rig.Bytes() == "nothing");
}

TEST_CASE("A file is read once, and counts for the progress of who sends it") {
  for (const size_t size : {10, 95}) {
    Rig rig;
    const auto length = static_cast<int64_t>(size);
    // As if it were longer: what is read again would count too.
    ReadProgress progress({{rig.File(size), 10 * length}});
    const ReadProgress::Scope scope(&progress);
    REQUIRE(rig.Send(size).ok());
    CHECK(progress.bytes().done == length);
  }
}

TEST_CASE("Uploads that were cut off are removed by age and prefix") {
  Rig rig;
  const absl::Time start = rig.now;
  for (int i = 0; i < 5; ++i) {
    rig.server.objects().Begin({InBucket(absl::StrCat("old/", i)), "", start, {}});
  }
  rig.server.objects().Begin({InBucket("old/new"), "", start + absl::Hours(2), {}});
  rig.server.objects().Begin({InBucket("other"), "", start, {}});
  const auto removed = rig.store->RemoveHalfWritten("old/", start + absl::Hours(1), kForever);
  INFO(removed.status());
  REQUIRE(removed.ok());
  CHECK(*removed == 5);
  CHECK(rig.server.objects().Uploads().size() == 2);
  CHECK(*rig.store->RemoveHalfWritten("old/", start + absl::Hours(1), kForever) == 0);
  CHECK(*rig.store->RemoveHalfWritten("", start + absl::Hours(3), kForever) == 2);
}

TEST_CASE("An upload that another removes at the same moment is not counted") {
  Rig rig;
  rig.server.objects().Begin({InBucket("a"), "", rig.now, {}});
  rig.InjectAnswer("AbortUpload", 404, "<Error><Code>NoSuchUpload</Code></Error>", 1);
  CHECK(*rig.store->RemoveHalfWritten("", rig.now + absl::Hours(1), kForever) == 0);
}

TEST_CASE("A list of uploads without end is refused") {
  Rig rig;
  rig.InjectAnswer("ListUploads", 200,
                   "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                   "<NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker>"
                   "</ListMultipartUploadsResult>",
                   -1);
  CHECK(
      absl::IsFailedPrecondition(rig.store->RemoveHalfWritten("", absl::Now(), kForever).status()));
}

}  // namespace
}  // namespace sightline
