#include "common/generations/refusals.h"

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a refusal is remembered over restarts, with code, reason and message") {
  TempDir state;
  const absl::Status refusal = MakeError(reasons::kLengthMismatch, "file x\nhas 3 of 4 bytes");
  REQUIRE(Refusals(state.path()).Remember("images", "g1", "abc", refusal).ok());
  const Refusals again(state.path());
  const absl::Status found = again.Find("images", "g1", "abc");
  CHECK(found.code() == absl::StatusCode::kDataLoss);
  CHECK(found.message() == refusal.message());
  CHECK(HasReason(found, reasons::kLengthMismatch));
}

TEST_CASE("it holds for that generation in that state only, and can be forgotten") {
  TempDir state;
  Refusals refusals(state.path());
  REQUIRE(refusals.Remember("images", "g1", "abc", absl::DataLossError("bad")).ok());
  CHECK(!refusals.Find("images", "g1", "abc").ok());
  CHECK(refusals.Find("images", "g1", "abd").ok());
  CHECK(refusals.Find("images", "g2", "abc").ok());
  CHECK(refusals.Find("captions", "g1", "abc").ok());
  refusals.Forget("images", "g1");
  CHECK(refusals.Find("images", "g1", "abc").ok());
}

TEST_CASE("a damaged note counts as none") {
  TempDir state;
  Refusals refusals(state.path());
  REQUIRE(refusals.Remember("images", "g1", "abc", absl::DataLossError("bad")).ok());
  const auto notes = ListFilesBelow(state.path());
  REQUIRE(notes->size() == 1);
  const std::string note = state.File(notes->front());
  for (const char* text :
       {"", "images", "images\ng1\nabc\n99\n\nbad", "images\ng1\nabc\nx\n\nbad"}) {
    REQUIRE(WriteFileAtomically(note, text).ok());
    CHECK(refusals.Find("images", "g1", "abc").ok());
  }
}

TEST_CASE("without a folder nothing is remembered, and nothing fails") {
  Refusals refusals("");
  CHECK(refusals.Remember("images", "g1", "abc", absl::DataLossError("bad")).ok());
  CHECK(refusals.Find("images", "g1", "abc").ok());
}

TEST_CASE("an identity changes with any file, and when one appears or goes") {
  TempDir dir;
  const std::string a = dir.File("a"), b = dir.File("b");
  REQUIRE(WriteFileAtomically(a, "one").ok());
  const std::string before = RefusalIdentity(a, {b});
  CHECK(before == RefusalIdentity(a, {b}));
  REQUIRE(WriteFileAtomically(b, "").ok());
  const std::string with_b = RefusalIdentity(a, {b});
  CHECK(with_b != before);
  REQUIRE(WriteFileAtomically(a, "two").ok());  // as long as before, another file
  CHECK(RefusalIdentity(a, {b}) != with_b);
}

}  // namespace
}  // namespace sightline
