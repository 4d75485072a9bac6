#include "common/index/index_kinds.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE(
    "a manifest that names no kind is of the exact one, which keeps nothing but its vectors") {
  bundle::v1::GenerationManifest manifest;
  const auto unnamed = IndexKindOf(manifest);
  REQUIRE(unnamed.ok());
  manifest.mutable_index_spec()->set_kind("flat");
  REQUIRE(*IndexKindOf(manifest) == *unnamed);
  REQUIRE((*unnamed)->exact);
  manifest.add_shards()->mutable_vectors()->set_byte_count(1234);
  REQUIRE((*unnamed)->footprint(manifest, 0) == 0);
}

TEST_CASE("a kind opens an index over the vectors that it is given") {
  ComputePool pool(1);
  const std::vector<float> rows = {1, 0, 0, 1, 1, 1};
  const auto kind = IndexKindOf({});
  bundle::v1::GenerationManifest manifest;
  manifest.add_shards();
  const auto index =
      (*kind)->open("", manifest, 0, {rows.data(), 3, 2, 2}, &pool, CallContext::Unbounded());
  REQUIRE(index.ok());
  EmbeddingMatrix query(1, 2);
  query.mutable_row(0)[0] = 2;
  query.mutable_row(0)[1] = 1;
  const auto found = (*index)->Search(query, {1}, CallContext::Unbounded());
  REQUIRE(found.ok());
  REQUIRE((*found)[0][0].row == 2);
  REQUIRE((*found)[0][0].score == 3);
}

TEST_CASE("a kind that this program does not know is refused with those that it knows") {
  bundle::v1::GenerationManifest manifest;
  manifest.mutable_index_spec()->set_kind("newer");
  const absl::Status status = IndexKindOf(manifest).status();
  REQUIRE(HasReason(status, reasons::kUnknownIndexKind));
  REQUIRE(absl::StrContains(status.message(), "'newer'"));
  REQUIRE(absl::StrContains(status.message(), "it knows flat, "));
}

}  // namespace
}  // namespace sightline
