#include "common/rpc/status_details.h"

#include <string>

#include "common/base/error_details.h"
#include "google/rpc/error_details.pb.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// What grpc_status_test holds of gRPC's statuses is not asked again: here nothing knows of gRPC.

TEST_CASE("An error goes out and comes back with code, message, reason, field and delay") {
  const absl::Status status = WithRetryDelay(
      WithField(MakeError(reasons::kServerBusy, "64 calls are in progress", {{"calls", "64"}}),
                "queries"),
      absl::Milliseconds(1500));
  const google::rpc::Status carried = ToRpcStatus(status);
  REQUIRE(carried.details_size() == 3);
  CHECK(FromRpcStatus(carried) == status);
}

TEST_CASE("What may be tried again says when, if nobody has") {
  google::rpc::RetryInfo info;
  REQUIRE(ToRpcStatus(absl::UnavailableError("down")).details(0).UnpackTo(&info));
  CHECK(info.retry_delay().nanos() == 100'000'000);
  CHECK(ToRpcStatus(absl::NotFoundError("none")).details_size() == 0);
}

TEST_CASE("A message that were too long, or no text, is cut and cleaned before it goes out") {
  const google::rpc::Status carried =
      ToRpcStatus(absl::InternalError(std::string(5000, 'x') + "\xff"));
  CHECK(carried.message().size() <= 1000);
  CHECK(carried.details_size() == 0);
}

TEST_CASE("What is no code of an error is UNKNOWN, and details of others are left out") {
  google::rpc::Status strange;
  strange.set_message("strange");
  for (const int code : {0, -1, 17, 4711}) {
    strange.set_code(code);
    CHECK(absl::IsUnknown(FromRpcStatus(strange)));
  }
  strange.set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  google::rpc::ErrorInfo info;
  info.set_reason(reasons::kServerBusy.name);
  info.set_domain("another.example");
  strange.add_details()->PackFrom(info);
  const absl::Status read = FromRpcStatus(strange);
  CHECK(absl::IsUnavailable(read));
  CHECK_FALSE(GetReason(read).has_value());
}

}  // namespace
}  // namespace sightline
