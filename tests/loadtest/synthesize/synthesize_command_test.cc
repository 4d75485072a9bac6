#include "loadtest/synthesize/synthesize_command.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "loadtest/synthesize/vector_shape.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunSynthesize(args, {out, err}, /*terminal=*/true, CallContext::Unbounded());
  return {status, out.str(), err.str()};
}

TEST_CASE("flags make a generation, and the report tells what it is") {
  TempDir store;
  const Ran ran = Run({"--store",      store.path(), "--index",    "pictures", "--items",   "300",
                       "--dimension",  "16",         "--shards",   "2",        "--seed",    "5",
                       "--spectrum",   "0",          "--clusters", "4",        "--threads", "2",
                       "--generation", "mine"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(absl::StrContains(ran.out, "generation mine, 300 items x 16 in 2 shards"));
  REQUIRE(absl::StrContains(ran.out, "effective dimension 16.0, 4 clusters, seed 5"));
  REQUIRE(absl::StrContains(ran.out, "items/s"));
  REQUIRE(absl::StrContains(ran.out, "\npublished"));
  REQUIRE(absl::StrContains(ran.err, "write"));
  REQUIRE(ReadCurrent(store.path(), "pictures")->generation() == "mine");
  REQUIRE(ReadGenerationManifest(store.path(), "pictures", "mine")->shards_size() == 2);
}

TEST_CASE("the shape comes from a file, if one is given") {
  TempDir store;
  const std::vector<std::string> made = {"--store", store.path(),  "--index", "pictures", "--items",
                                         "3",       "--dimension", "40",      "--shape"};
  const auto with = [&made](const std::string& path) {
    std::vector<std::string> args = made;
    args.push_back(path);
    return Run(args);
  };
  const std::string shape = VectorShapeJson(PowerShape(0, 0.5));
  const std::string file = store.File("shape.json");
  REQUIRE(WriteFileAtomically(file, absl::StrCat("{\"shape\": ", shape, "}")).ok());
  const Ran ran = with(file);
  CAPTURE(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(absl::StrContains(ran.out, "effective dimension 40.0"));

  REQUIRE(WriteFileAtomically(file, shape).ok());
  REQUIRE(with(file).status == kUsageError);
  REQUIRE(absl::StrContains(with(file).err, "no JSON with an object 'shape'"));
  REQUIRE(with(store.File("nowhere")).status == kFailure);
}

TEST_CASE("with --no-publish CURRENT is left alone") {
  TempDir store;
  const Ran ran = Run({"--store", store.path(), "--index", "pictures", "--items", "3",
                       "--dimension", "4", "--no-publish"});
  REQUIRE(ran.status == kSuccess);
  REQUIRE(absl::StrContains(ran.out, "not published"));
  REQUIRE(absl::IsNotFound(ReadCurrent(store.path(), "pictures").status()));
}

TEST_CASE("a wrong command line is told and nothing is done") {
  TempDir store;
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"--items is missing", {"--index", "i", "--dimension", "4"}},
      {"--spectrum '-1'", {"--index", "i", "--items", "4", "--spectrum", "-1"}},
      {"--spectrum 'nan'", {"--index", "i", "--items", "4", "--spectrum", "nan"}},
      {"--spectrum 'steep'", {"--index", "i", "--items", "4", "--spectrum", "steep"}},
      {"unknown argument 'word'", {"--index", "i", "--items", "4", "word"}},
      {"--item", {"--index", "i", "--item", "4"}},
      {"give --dimension", {"--index", "i", "--items", "4"}},
      {"leave them or --like out",
       {"--index", "i", "--items", "4", "--like", "s", "--clusters", "2"}},
  };
  for (const auto& [problem, flags] : wrong) {
    std::vector<std::string> args = {"--store", store.path()};
    args.insert(args.end(), flags.begin(), flags.end());
    const Ran ran = Run(args);
    CAPTURE(problem, ran.err);
    REQUIRE(ran.status == kUsageError);
    REQUIRE(absl::StrContains(ran.err, problem));
    REQUIRE(ListDirectory(store.path())->empty());
  }
}

TEST_CASE("a store to grow from that is not there is a failure") {
  TempDir store;
  const Ran ran = Run(
      {"--store", store.path(), "--index", "i", "--items", "4", "--like", store.File("nowhere")});
  REQUIRE(ran.status == kFailure);
  REQUIRE(absl::StrContains(ran.err, "nowhere"));
  REQUIRE(ListDirectory(store.path())->empty());
}

TEST_CASE("a bundle that is not there is a failure, with how to make one") {
  TempDir store;
  const Ran ran = Run({"--store", store.path(), "--index", "i", "--items", "4", "--encoder-model",
                       std::string(64, 'a')});
  REQUIRE(ran.status == kFailure);
  REQUIRE(absl::StrContains(ran.err, "sightlinectl init-model"));
}

}  // namespace
}  // namespace sightline
