#include "common/base/error_details.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("All details live side by side and keep code and message") {
  absl::Status status = absl::InvalidArgumentError("wrong");
  status = WithReason(status, reasons::kInvalidField, {{"expected", "256"}, {"empty", ""}});
  status = WithField(WithField(status, "query.text"), "top_k");
  status = WithRetryDelay(status, absl::Milliseconds(1500));
  status = WithPrecondition(status, {"GENERATION", "indexes/a", "12:34"});
  status = WithPrecondition(status, {"SPACE", "", "x"});
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "wrong");
  REQUIRE(HasReason(status, reasons::kInvalidField));
  CHECK(GetReason(status)->metadata ==
        std::map<std::string, std::string>{{"expected", "256"}, {"empty", ""}});
  CHECK(GetFields(status) == std::vector<std::string>{"query.text", "top_k"});
  CHECK(GetRetryDelay(status) == absl::Milliseconds(1500));
  const std::vector<PreconditionViolation> violations = GetPreconditions(status);
  REQUIRE(violations.size() == 2);
  CHECK(violations[0].type == "GENERATION");
  CHECK(violations[0].subject == "indexes/a");
  CHECK(violations[0].description == "12:34");
  CHECK(violations[1].subject.empty());
}

TEST_CASE("A status without details has none") {
  const absl::Status status = absl::NotFoundError("none");
  CHECK_FALSE(GetReason(status).has_value());
  CHECK(GetFields(status).empty());
  CHECK_FALSE(GetRetryDelay(status).has_value());
  CHECK(GetPreconditions(status).empty());
}

TEST_CASE("An error that is made of a reason has its code, name and metadata") {
  const absl::Status status =
      MakeError(reasons::kItemNotFound, "there is none", {{"item", "pictures/1"}});
  CHECK(absl::IsNotFound(status));
  CHECK(status.message() == "there is none");
  REQUIRE(GetReason(status).has_value());
  CHECK(GetReason(status)->reason == reasons::kItemNotFound.name);
  CHECK(GetReason(status)->metadata.at("item") == "pictures/1");
  CHECK(HasReason(status, reasons::kItemNotFound));
  CHECK_FALSE(HasReason(status, reasons::kUnknownIndex));
  CHECK_FALSE(HasReason(absl::NotFoundError("there is none"), reasons::kItemNotFound));
}

TEST_CASE("A reason that is given to an error leaves its code, as one of another release does") {
  const absl::Status known =
      WithReason(absl::UnimplementedError("no such call"), reasons::kWrongServer);
  CHECK(absl::IsUnimplemented(known));
  CHECK(HasReason(known, reasons::kWrongServer));
  const absl::Status newer =
      WithReason(absl::AbortedError("x"), ErrorReason{"OF_ANOTHER_RELEASE", {{"k", "v"}}});
  CHECK(absl::IsAborted(newer));
  CHECK(GetReason(newer)->reason == "OF_ANOTHER_RELEASE");
}

TEST_CASE("OK stays OK, whatever is attached") {
  CHECK(WithReason(absl::OkStatus(), reasons::kReadFailed) == absl::OkStatus());
  CHECK(WithField(absl::OkStatus(), "x") == absl::OkStatus());
  CHECK(WithRetryDelay(absl::OkStatus(), absl::Seconds(1)) == absl::OkStatus());
  CHECK(WithPrefix(absl::OkStatus(), "x") == absl::OkStatus());
}

TEST_CASE("A second reason or delay replaces the first; negative delays are zero") {
  absl::Status status = MakeError(reasons::kNoReplica, "down", {{"k", "v"}});
  status = WithReason(status, reasons::kNoShardAnswered);
  CHECK(HasReason(status, reasons::kNoShardAnswered));
  CHECK(GetReason(status)->metadata.empty());
  status = WithRetryDelay(WithRetryDelay(status, absl::Seconds(5)), -absl::Seconds(1));
  CHECK(GetRetryDelay(status) == absl::ZeroDuration());
  status = WithRetryDelay(status, absl::InfiniteDuration());
  CHECK(GetRetryDelay(status) == absl::InfiniteDuration());
}

TEST_CASE("Any bytes survive, those of the encoding included") {
  const std::string odd("3:a\0\xFF:\n", 7);
  const absl::Status status =
      WithReason(absl::InternalError("x"), ErrorReason{odd, {{odd, odd + odd}, {"", ":"}}});
  CHECK(GetReason(status)->reason == odd);
  CHECK(GetReason(status)->metadata.at(odd) == odd + odd);
  CHECK(GetReason(status)->metadata.at("") == ":");
}

TEST_CASE("Payloads that somebody else wrote are not misread") {
  for (const char* text : {"5:ab", ":", "x:", "-1:a", "99999999999999999999:a", "1:a1"}) {
    absl::Status status = absl::InternalError("x");
    status.SetPayload("sightline/reason", absl::Cord(text));
    CHECK_FALSE(GetReason(status).has_value());
  }
}

TEST_CASE("A prefix changes the message alone") {
  const absl::Status status =
      WithPrefix(MakeError(reasons::kChecksumMismatch, "bad CRC"), "shard 3");
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(status.message() == "shard 3: bad CRC");
  CHECK(HasReason(status, reasons::kChecksumMismatch));
}

}  // namespace
}  // namespace sightline
