#include "services/trainer/scenes_command.h"

#include <sstream>

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

class Fixture {
 public:
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return RunScenes(args, {out_, err_});
  }
  // A small set of `seed`.
  int Make(const std::string& folder, const std::string& seed) {
    return Run({"--out", dir.File(folder), "--seed", seed, "--train", "10", "--validation", "10",
                "--test-1k", "10", "--test-5k", "20", "--distractors", "50"});
  }
  std::string Sums(const std::string& folder) {
    return *ReadFile(dir.File(folder + "/SHA256SUMS"));
  }

  TempDir dir;

 protected:
  std::ostringstream out_, err_;
};

TEST_CASE_METHOD(Fixture, "scenes writes every split, and tells sums and controls") {
  REQUIRE(Make("scenes", "1") == kSuccess);
  for (const char* name :
       {"train.jsonl", "validation.jsonl", "test_1k.jsonl", "test_5k.jsonl", "distractors.jsonl"}) {
    REQUIRE(FileExists(dir.File(std::string("scenes/") + name)));
  }
  REQUIRE_THAT(out_.str(), Catch::Contains(Sums("scenes")));
  REQUIRE_THAT(out_.str(), Catch::Contains("test_5k among 50 distractors\noracle"));
  REQUIRE_THAT(out_.str(), Catch::Contains("bag, families"));
}

TEST_CASE_METHOD(Fixture, "the same seed gives the same files, another one others") {
  REQUIRE(Make("a", "1") == kSuccess);
  REQUIRE(Make("b", "1") == kSuccess);
  REQUIRE(Make("c", "2") == kSuccess);
  REQUIRE(Sums("a") == Sums("b"));
  REQUIRE(Sums("a") != Sums("c"));
}

TEST_CASE_METHOD(Fixture, "a split that is painted is a corpus, where the drawings are") {
  const int status =
      Run({"--out", dir.File("scenes"), "--train", "0", "--validation", "10", "--test-1k", "0",
           "--test-5k", "0", "--distractors", "0", "--paint", "validation", "--threads", "2"});
  if (status == kFailure) {
    // The error names the packages, and comes before anything is written.
    REQUIRE_THAT(err_.str(), Catch::Contains("openclipart-png"));
    REQUIRE_FALSE(FileExists(dir.File("scenes/validation.jsonl")));
    return;
  }
  REQUIRE(status == kSuccess);
  REQUIRE(FileExists(dir.File("scenes/validation/000009.png")));
  REQUIRE(FileExists(dir.File("scenes/validation/captions.jsonl")));
}

TEST_CASE_METHOD(Fixture, "a split that is seen is a corpus of regions, where the drawings are") {
  const int status =
      Run({"--out", dir.File("scenes"), "--train", "0", "--validation", "10", "--test-1k", "0",
           "--test-5k", "0", "--distractors", "0", "--features", "validation", "--threads", "2"});
  if (status == kFailure) {
    REQUIRE_THAT(err_.str(), Catch::Contains("openclipart-png"));
    return;
  }
  REQUIRE(status == kSuccess);
  REQUIRE(FileExists(dir.File("scenes/validation.regions")));
}

TEST_CASE_METHOD(Fixture, "mistakes of the command line are told") {
  REQUIRE(Run({}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("give --out DIR"));
  REQUIRE(Run({"--out", dir.File("scenes"), "--train", "15"}) == kFailure);
  REQUIRE_THAT(err_.str(), Catch::Contains("train is to have 15 pictures"));
  REQUIRE_FALSE(FileExists(dir.File("scenes")));
  REQUIRE(Run({"--out", dir.File("scenes"), "--paint", "train,tests"}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("--paint: there is no split 'tests'"));
  REQUIRE(Run({"--out", dir.File("scenes"), "--features", "all"}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("--features: there is no split 'all'"));
  REQUIRE(Run({"--out", dir.File("scenes"), "--train", "0", "--features", "train"}) == kFailure);
  REQUIRE_THAT(err_.str(), Catch::Contains("the split train is to have no pictures"));
  REQUIRE(Run({"--out", dir.File("scenes"), "--append-boxes"}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("say how --features are written"));
  REQUIRE_FALSE(FileExists(dir.File("scenes")));
}

}  // namespace
}  // namespace sightline
