#include "common/object_store/conditional_writes.h"

#include "tests/common/object_store/s3_rig.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

const CallContext kForever = CallContext::Unbounded();

struct Rig {
  TempDir dir;
  S3TestServer server{[this] {
    S3TestServerOptions options;
    options.folder = dir.path();
    return options;
  }()};
  std::unique_ptr<ObjectStore> store = OpenFor(OptionsFor(server));
};

TEST_CASE("A store that refuses to create what exists is good, the first time and later") {
  Rig rig;
  CHECK(CheckConditionalWrites(*rig.store, kForever).ok());
  CHECK(rig.server.requests("PutObject") == 2);
  CHECK(CheckConditionalWrites(*rig.store, kForever).ok());
  CHECK(rig.server.requests("PutObject") == 3);
}

TEST_CASE("A store that ignores If-None-Match is refused with the danger") {
  Rig rig;
  S3Fault fault{S3Fault::kIgnoreIfNoneMatch, "PutObject"};
  fault.times = -1;
  rig.server.Inject(fault);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = CheckConditionalWrites(*rig.store, kForever);
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()),
               Contains("s3://bucket/some/folder") && Contains("ignores If-None-Match"));
  }
}

TEST_CASE("A store that does not know the header is refused as well") {
  Rig rig;
  S3Fault fault{S3Fault::kAnswer, "PutObject"};
  fault.times = -1;
  fault.status = 501;
  fault.body = "<Error><Code>NotImplemented</Code></Error>";
  rig.server.Inject(fault);
  CHECK(absl::IsFailedPrecondition(CheckConditionalWrites(*rig.store, kForever)));
}

TEST_CASE("An attempt that seemed to fail hides nothing") {
  Rig rig;
  S3Fault lost{S3Fault::kResetAfter, "PutObject"};
  lost.times = 2;
  rig.server.Inject(lost);
  CHECK(CheckConditionalWrites(*rig.store, kForever).ok());
  Rig later;
  lost.skip = 1;
  later.server.Inject(lost);
  CHECK(CheckConditionalWrites(*later.store, kForever).ok());
  Rig ignoring;
  lost.skip = 0;
  ignoring.server.Inject(lost);
  S3Fault fault{S3Fault::kIgnoreIfNoneMatch, "PutObject"};
  fault.times = -1;
  ignoring.server.Inject(fault);
  CHECK(absl::IsFailedPrecondition(CheckConditionalWrites(*ignoring.store, kForever)));
}

TEST_CASE("Trouble of the store is told as itself") {
  Rig rig;
  S3Fault fault{S3Fault::kAnswer, "PutObject"};
  fault.times = -1;
  rig.server.Inject(fault);
  CHECK(absl::IsUnavailable(CheckConditionalWrites(*rig.store, kForever)));
}

}  // namespace
}  // namespace sightline
