#include "services/corpus_encoder/quarantine.h"

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string Lines(const std::vector<CorpusProblem>& problems) {
  const TempDir dir;
  Quarantine quarantine(dir.path());
  for (const CorpusProblem& problem : problems) REQUIRE(quarantine.Add(problem).ok());
  REQUIRE(quarantine.size() == static_cast<int64_t>(problems.size()));
  REQUIRE(quarantine.WriteTo(dir.File("ledger")).ok());
  return *ReadFile(dir.File("ledger"));
}

TEST_CASE("the ledger is ordered by id, whatever order things went wrong in") {
  const CorpusProblem a{"a", "/a", "x"}, b{"b", "/b", "y \"quoted\"\n"}, a2{"a", "/b", "x"};
  const std::string lines = Lines({b, a2, a});
  REQUIRE(lines ==
          "{\"item_id\":\"a\",\"path\":\"/a\",\"reason\":\"x\"}\n"
          "{\"item_id\":\"a\",\"path\":\"/b\",\"reason\":\"x\"}\n"
          "{\"item_id\":\"b\",\"path\":\"/b\",\"reason\":\"y \\\"quoted\\\"\\n\"}\n");
  REQUIRE(Lines({a, a2, b}) == lines);
  REQUIRE(Lines({}) == "");
  REQUIRE(Lines({{"caf\xe9", "", ""}}).find("caf\uFFFD") != std::string::npos);
}

TEST_CASE("a ledger holds what others hold") {
  const TempDir dir;
  Quarantine first(dir.path()), second(dir.path());
  REQUIRE(first.Add({"b", "", "y"}).ok());
  REQUIRE(second.Add({"a", "", "x"}).ok());
  REQUIRE(first.AddAll(second).ok());
  std::string ids;
  REQUIRE(first
              .VisitAll([&](const CorpusProblem& problem) {
                ids += problem.item_id;
                return absl::OkStatus();
              })
              .ok());
  REQUIRE(ids == "ab");
}

TEST_CASE("warnings keep their order") {
  const TempDir dir;
  auto warnings = Warnings::Create(dir.path());
  REQUIRE(warnings.ok());
  REQUIRE(warnings->Add({"b", "", "y"}).ok());
  REQUIRE(warnings->Add({"a", "", "x"}).ok());
  REQUIRE(warnings->Finish().ok());
  REQUIRE(warnings->size() == 2);
  REQUIRE(warnings->WriteTo(dir.File("w")).ok());
  REQUIRE(*ReadFile(dir.File("w")) ==
          "{\"item_id\":\"b\",\"path\":\"\",\"reason\":\"y\"}\n"
          "{\"item_id\":\"a\",\"path\":\"\",\"reason\":\"x\"}\n");
}

TEST_CASE("more than the share is refused with numbers and examples") {
  const TempDir dir;
  Quarantine two(dir.path()), none(dir.path());
  REQUIRE(two.Add({"a", "/a", "x"}).ok());
  REQUIRE(two.Add({"b", "/b", "y"}).ok());
  REQUIRE(CheckQuarantineShare("pictures", two, 20, 0.1).ok());
  REQUIRE(CheckQuarantineShare("pictures", none, 0, 0).ok());
  const absl::Status status = CheckQuarantineShare("pictures", two, 19, 0.1);
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("2 of 19 pictures") && Catch::Contains("a: x; b: y"));
}

}  // namespace
}  // namespace sightline
