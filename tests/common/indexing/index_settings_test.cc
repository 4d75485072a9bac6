#include "common/indexing/index_settings.h"

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::StatusOr<IndexWish> FromFlags(const std::vector<std::string>& args,
                                    absl::string_view prefix = "") {
  IndexSettings settings;
  Flags flags;
  AddIndexFlags(prefix, &flags, &settings);
  const auto words = flags.Parse(args);
  if (!words.ok()) return words.status();
  return WishOf(settings);
}

IndexWish FromYaml(const std::string& yaml, absl::Status* status) {
  auto file = ConfigFile::Parse(yaml, "test.yaml");
  REQUIRE(file.ok());
  IndexWish wish = ReadIndexWish(file->root(), "index_build");
  *status = file->Finish();
  return wish;
}

TEST_CASE("a kind with parameters is what is built") {
  const auto wish = FromFlags({"--kind", "hnsw", "--code", "int8", "--links", "24", "--recall",
                               "0.9", "--rows-on-disk", "--seed", "5", "--max-memory", "1000"});
  REQUIRE(wish.ok());
  CHECK(!wish->target.has_value());
  CHECK(!wish->is_empty());
  CHECK(wish->spec.kind() == "hnsw");
  CHECK(wish->spec.hnsw().code() == "int8");
  CHECK(wish->spec.hnsw().link_count() == 24);
  CHECK(wish->spec.hnsw().build_effort() == 0);  // left open
  CHECK(wish->spec.default_recall() == 0.9);
  CHECK(wish->spec.rows_on_disk());
  CHECK(wish->spec.seed() == 5);
  CHECK(wish->max_bytes == 1000);
}

TEST_CASE("what it has to be worth is a target") {
  const auto wish = FromFlags({"--recall=0.9", "--bytes-per-item=200"});
  REQUIRE(wish.ok());
  REQUIRE(wish->target.has_value());
  CHECK(wish->target->recall == 0.9);
  CHECK(wish->target->bytes_per_item == 200);
  const auto fastest = FromFlags({"--fastest", "--seed=3"});
  REQUIRE(fastest.ok());
  CHECK(fastest->target->recall == 0.95);
  CHECK(fastest->target->bytes_per_item == 0);
  CHECK(fastest->target->seed == 3);
  CHECK(wish->Text() != fastest->Text());
}

TEST_CASE("nothing said is no wish") {
  const auto wish = FromFlags({});
  REQUIRE(wish.ok());
  CHECK(wish->is_empty());
}

TEST_CASE("a prefix keeps names apart") {
  CHECK(FromFlags({"--index-kind", "hnsw", "--index-seed", "2", "--recall", "0.9"}, "index-").ok());
  CHECK(!FromFlags({"--kind", "hnsw"}, "index-").ok());
}

TEST_CASE("what does not go together is refused, with what to do") {
  struct Case {
    std::vector<std::string> args;
    const char* message;
  };
  const Case cases[] = {
      {{"--kind=nope"}, "'nope'"},
      {{"--kind=flat", "--links=16"}, "links: of another kind; leave it out"},
      {{"--kind=hnsw", "--lists=16"}, "lists: of another kind"},
      {{"--kind=flat", "--code=int8"}, "code: of kinds ivf and hnsw"},
      {{"--kind=ivf", "--code=nope"}, "code is 'nope'"},
      {{"--kind=hnsw", "--code=rabitq"}, "code is 'rabitq'"},
      {{"--kind=ivf", "--code=rows", "--refine=5"}, "refine is 5"},
      {{"--kind=ivf", "--code=int8", "--pq-parts=5"}, "pq_parts is 5"},
      {{"--kind=ivf", "--code=rows", "--rows-on-disk"}, "rows_on_disk needs a code"},
      {{"--kind=hnsw", "--rows-on-disk"}, "take code 'int8'"},
      {{"--kind=flat", "--rows-on-disk"}, "choose another kind or code"},
      {{"--recall=0.9", "--refine=3"}, "give a kind too"},
      {{"--kind=hnsw", "--fastest"}, "choose a kind"},
      {{"--kind=hnsw", "--bytes-per-item=9"}, "choose a kind"},
      {{"--fastest", "--bytes-per-item=9"}, "without a bound"},
      {{"--recall=1.5"}, "'1.5'"},
      {{"--recall=0"}, "above 0"},
      {{"--recall=nan"}, "'nan'"},
      {{"--rows-on-disk"}, "give a kind too"},
  };
  for (const Case& c : cases) {
    const absl::Status status = FromFlags(c.args).status();
    INFO(c.args.front() << ": " << status);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(absl::StrContains(status.message(), c.message));
  }
}

TEST_CASE("what a kind takes depends on how many numbers an embedding has") {
  const auto wish = FromFlags({"--kind=ivf", "--code=pq4", "--pq-parts=65"});
  REQUIRE(wish.ok());
  CHECK(CheckIndexWish(*wish, 65).ok());
  const absl::Status status = CheckIndexWish(*wish, 64);
  INFO(status);
  CHECK(absl::IsInvalidArgument(status));
  CHECK(absl::StartsWith(status.message(), "pq_parts is 65"));
  CHECK(CheckIndexWish(IndexWish(), 64).ok());
}

TEST_CASE("a configuration says the same") {
  absl::Status status;
  const IndexWish wish = FromYaml(
      "index_build: {kind: hnsw, code: int8, links: 24, recall: 0.9, rows_on_disk: true, seed: 5, "
      "max_memory: 1000}\n",
      &status);
  REQUIRE(status.ok());
  const auto flags = FromFlags({"--kind", "hnsw", "--code", "int8", "--links", "24", "--recall",
                                "0.9", "--rows-on-disk", "--seed", "5", "--max-memory", "1000"});
  CHECK(wish.Text() == flags->Text());
  CHECK(wish.max_bytes == 1000);

  CHECK(FromYaml("", &status).is_empty());
  CHECK(status.ok());
  FromYaml("index_build: {kind: nope}\n", &status);
  CHECK(absl::StrContains(status.message(), "index_build"));
  FromYaml("index_build: {links: 3}\n", &status);
  CHECK(!status.ok());
  FromYaml("index_build: {nonsense: 3}\n", &status);
  CHECK(!status.ok());
}

}  // namespace
}  // namespace sightline
