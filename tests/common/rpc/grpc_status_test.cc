#include "common/rpc/grpc_status.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/utf8.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("Every canonical code survives the way there and back") {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "why");
    const grpc::Status wire = ToGrpcStatus(status);
    CHECK(static_cast<int>(wire.error_code()) == code);
    const absl::Status back = FromGrpcStatus(wire);
    CHECK(back.code() == status.code());
    CHECK(back.message() == status.message());
    CHECK_FALSE(StatusCodeName(status.code()).empty());
  }
}

TEST_CASE("Details are google.rpc messages that any client can read") {
  const absl::Status status =
      WithField(MakeError(reasons::kEmbeddingDimensionMismatch, "128 numbers, 256 expected",
                          {{"expectedDimension", "256"}}),
                "queries.embedding");
  google::rpc::Status details;
  REQUIRE(details.ParseFromString(ToGrpcStatus(status).error_details()));
  CHECK(details.code() == 3);
  CHECK(details.message() == "128 numbers, 256 expected");
  REQUIRE(details.details_size() == 2);
  CHECK(details.details(0).type_url() == "type.googleapis.com/google.rpc.ErrorInfo");
  google::rpc::ErrorInfo info;
  REQUIRE(details.details(0).UnpackTo(&info));
  CHECK(info.reason() == reasons::kEmbeddingDimensionMismatch.name);
  CHECK(info.domain() == "sightline");
  CHECK(info.metadata().at("expectedDimension") == "256");
  google::rpc::BadRequest bad;
  REQUIRE(details.details(1).UnpackTo(&bad));
  REQUIRE(bad.field_violations_size() == 1);
  CHECK(bad.field_violations(0).field() == "queries.embedding");
  CHECK(bad.field_violations(0).description() == "128 numbers, 256 expected");
}

TEST_CASE("What a caller may retry says when; other errors do not") {
  const auto delay = [](const absl::Status& status) {
    return GetRetryDelay(FromGrpcStatus(ToGrpcStatus(status)));
  };
  CHECK(delay(absl::ResourceExhaustedError("full")) == absl::Milliseconds(100));
  CHECK(delay(absl::UnavailableError("down")) == absl::Milliseconds(100));
  CHECK(delay(WithRetryDelay(absl::UnavailableError("down"), absl::Milliseconds(2500))) ==
        absl::Milliseconds(2500));
  CHECK_FALSE(delay(absl::NotFoundError("none")).has_value());
}

TEST_CASE("What no retry mends says nothing of one, and stays so where it is passed on") {
  const absl::Status large =
      WithRetryDelay(MakeError(reasons::kRequestTooLarge, "too large"), absl::InfiniteDuration());
  for (const absl::Status& sent : {large, FromGrpcStatus(ToGrpcStatus(large))}) {
    google::rpc::Status details;
    REQUIRE(details.ParseFromString(ToGrpcStatus(sent).error_details()));
    REQUIRE(details.details_size() == 1);
    CHECK(details.details(0).Is<google::rpc::ErrorInfo>());
  }
}

TEST_CASE("A plain error carries no details") {
  CHECK(ToGrpcStatus(absl::NotFoundError("none")).error_details().empty());
}

TEST_CASE("Bytes that are not UTF-8 and long text are made fit for the wire") {
  const std::string bad = absl::StrCat("bad \xFF\xC3", std::string(5000, 'x'));
  const absl::Status status =
      WithField(WithReason(absl::InvalidArgumentError(bad), ErrorReason{bad, {{bad, bad}}}), bad);
  const grpc::Status wire = ToGrpcStatus(status);
  CHECK(wire.error_message().size() <= 1000);
  CHECK(IsValidUtf8(wire.error_message()));
  CHECK(wire.error_details().size() <= 3000);
  const absl::Status back = FromGrpcStatus(wire);
  REQUIRE(GetReason(back).has_value());
  CHECK(IsValidUtf8(GetReason(back)->reason));
  CHECK(GetReason(back)->reason.size() <= 120);
  CHECK(GetFields(back).size() == 1);
}

TEST_CASE("Details of strangers are left out") {
  google::rpc::ErrorInfo info;
  info.set_reason("OTHER");
  info.set_domain("example.com");
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  details.add_details()->set_type_url("type.googleapis.com/unknown.Message");
  const grpc::Status foreign(grpc::StatusCode::NOT_FOUND, "none", details.SerializeAsString());
  CHECK(FromGrpcStatus(foreign) == absl::NotFoundError("none"));
  const grpc::Status garbage(grpc::StatusCode::NOT_FOUND, "none", "\xFF\xFF\xFF");
  CHECK(FromGrpcStatus(garbage) == absl::NotFoundError("none"));
}

TEST_CASE("A code that gRPC does not define becomes UNKNOWN") {
  const grpc::Status odd(static_cast<grpc::StatusCode>(20), "odd");
  CHECK(FromGrpcStatus(odd).code() == absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace sightline
