#include "common/base/error_details.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("All details live side by side and keep code and message") {
  absl::Status status = absl::InvalidArgumentError("wrong");
  status = WithReason(status, "BAD_VECTOR", {{"expected", "256"}, {"empty", ""}});
  status = WithField(WithField(status, "query.text"), "top_k");
  status = WithRetryDelay(status, absl::Milliseconds(1500));
  status = WithPrecondition(status, {"GENERATION", "indexes/a", "12:34"});
  status = WithPrecondition(status, {"SPACE", "", "x"});
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "wrong");
  REQUIRE(GetReason(status).has_value());
  CHECK(GetReason(status)->reason == "BAD_VECTOR");
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

TEST_CASE("OK stays OK, whatever is attached") {
  CHECK(WithReason(absl::OkStatus(), "X") == absl::OkStatus());
  CHECK(WithField(absl::OkStatus(), "x") == absl::OkStatus());
  CHECK(WithRetryDelay(absl::OkStatus(), absl::Seconds(1)) == absl::OkStatus());
  CHECK(WithPrefix(absl::OkStatus(), "x") == absl::OkStatus());
}

TEST_CASE("A second reason or delay replaces the first; negative delays are zero") {
  absl::Status status = WithReason(absl::UnavailableError("down"), "A", {{"k", "v"}});
  status = WithReason(status, "B");
  CHECK(GetReason(status)->reason == "B");
  CHECK(GetReason(status)->metadata.empty());
  status = WithRetryDelay(WithRetryDelay(status, absl::Seconds(5)), -absl::Seconds(1));
  CHECK(GetRetryDelay(status) == absl::ZeroDuration());
  status = WithRetryDelay(status, absl::InfiniteDuration());
  CHECK(GetRetryDelay(status) == absl::InfiniteDuration());
}

TEST_CASE("Any bytes survive, those of the encoding included") {
  const std::string odd("3:a\0\xFF:\n", 7);
  const absl::Status status =
      WithReason(absl::InternalError("x"), odd, {{odd, odd + odd}, {"", ":"}});
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
      WithPrefix(WithReason(absl::DataLossError("bad CRC"), "CORRUPT"), "shard 3");
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(status.message() == "shard 3: bad CRC");
  CHECK(GetReason(status)->reason == "CORRUPT");
}

}  // namespace
}  // namespace sightline
