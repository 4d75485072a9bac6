#include "common/base/status_within.h"

#include <memory>
#include <utility>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("an error says where it arose and stays of its kind") {
  const absl::Status status = Within("a.json", absl::NotFoundError("it is gone"));
  REQUIRE(status == absl::NotFoundError("a.json: it is gone"));
  const absl::StatusOr<int> result =
      Within("line 3", absl::StatusOr<int>(absl::DataLossError("no number")));
  REQUIRE(result.status() == absl::DataLossError("line 3: no number"));
}

TEST_CASE("what is well passes as it is, also what cannot be copied") {
  REQUIRE(Within("a.json", absl::OkStatus()).ok());
  absl::StatusOr<std::unique_ptr<int>> made = std::make_unique<int>(7);
  made = Within("a.json", std::move(made));
  REQUIRE(made.ok());
  REQUIRE(**made == 7);
}

}  // namespace
}  // namespace sightline
