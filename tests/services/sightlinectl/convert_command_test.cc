#include "services/sightlinectl/convert_command.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunConvert, args);
}

std::string LineOf(const Ran& ran) {
  REQUIRE(absl::EndsWith(ran.out, "\n"));
  return ran.out.substr(0, ran.out.size() - 1);
}

TEST_CASE("a checkpoint becomes a bundle, whose id alone goes to stdout") {
  Workplace place("uniter_small", 120);
  const std::string store = place.dir.File("store");
  MutableCheckpoint checkpoint("uniter_small");
  checkpoint.Erase("rank_output.");
  checkpoint.SavePickle(place.options.checkpoint);
  const Ran ran = Run({place.options.checkpoint, "--vocab", place.options.vocabulary, "--out",
                       store, "--description", "ours"});
  INFO(ran.err);
  REQUIRE(ran.status == kSuccess);
  const auto bundle = OpenModelBundle(absl::StrCat(store, "/models/", LineOf(ran)), true);
  REQUIRE(bundle.ok());
  REQUIRE(bundle->manifest.description() == "ours");
  REQUIRE(absl::StrContains(ran.err, "warning: there is no rank_output"));
  REQUIRE(absl::StrContains(ran.err, "3 layers, width 48, 4 heads"));
  REQUIRE(absl::StrContains(ran.err, "those of confidence above 0.2"));
}

TEST_CASE("a weight that is not finite is told with its checkpoint") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  checkpoint.Add("rank_output.bias", {1}, NAN);
  checkpoint.SavePickle(place.options.checkpoint);
  const Ran ran = Run({place.options.checkpoint, "--vocab", place.options.vocabulary, "--out",
                       place.dir.File("store")});
  REQUIRE(ran.status == kFailure);
  REQUIRE(absl::StrContains(ran.err, place.options.checkpoint + ": tensor rank_output.bias holds"));
}

TEST_CASE("what a model reads of an image can be said on the command line") {
  Workplace place("lightningdot_scene_text", 150);
  const auto convert = [&](std::vector<std::string> flags) {
    std::vector<std::string> args = {GoldenFolder("lightningdot_scene_text"), "--vocab",
                                     place.options.vocabulary, "--out", place.dir.File("store")};
    args.insert(args.end(), flags.begin(), flags.end());
    return Run(args);
  };
  const Ran scene =
      convert({"--confidence-floor", "0.35", "--min-regions", "4", "--scene-text", "--ocr-tokens",
               "20", "--ocr-position", "30", "--ocr-type", "1", "--lone-separator"});
  INFO(scene.err);
  REQUIRE(scene.status == kSuccess);
  REQUIRE(absl::StrContains(scene.err, "those of confidence above 0.35, at least 4"));
  REQUIRE(absl::StrContains(scene.err,
                            "up to 20 wordpieces, positions from 30, segment 1, a lone separator"));
  const Ran all = convert({"--confidence-floor", "0", "--regions", "36"});
  REQUIRE(all.status == kSuccess);
  REQUIRE_FALSE(absl::StrContains(all.err, "those of confidence"));
  REQUIRE(absl::StrContains(all.err, "36 regions of"));
  for (const char* floor : {"much", "1.5", "-0.1", "nan"}) {
    const Ran bad = convert({"--confidence-floor", floor});
    REQUIRE(bad.status == kUsageError);
    REQUIRE(absl::StrContains(bad.err, floor));
  }
  REQUIRE(convert({"--ocr-tokens", "20"}).status == kFailure);
}

TEST_CASE("two bundles become an ensemble of their store") {
  Workplace place("saf", 60);
  const std::string store = place.dir.File("store");
  std::vector<std::string> ids;
  for (const char* golden : {"saf", "sgr"}) {
    const Ran ran =
        Run({GoldenFolder(golden), "--vocab", place.options.vocabulary, "--out", store, "--half"});
    INFO(ran.err);
    REQUIRE(ran.status == kSuccess);
    ids.push_back(LineOf(ran));
  }
  const Ran ran = Run({"--ensemble", absl::StrCat(ids[0], ",", ids[1]), "--store", store});
  INFO(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(FileExists(absl::StrCat(store, "/models/", LineOf(ran), "/members/1/vocab.json")));
  REQUIRE(absl::StrContains(ran.err, "member 1 sgraf"));
}

TEST_CASE("a command that is not whole does nothing") {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {},
           {"model.pt"},
           {"model.pt", "--vocab", "v"},
           {"model.pt", "--out", "o"},
           {"a.pt", "b.pt", "--vocab", "v", "--out", "o"},
           {"--ensemble", "a,b"},
           {"model.pt", "--ensemble", "a,b", "--store", "s"},
           {"--ensemble", "a,b", "--store", "s", "--half"},
           {"--ensemble", "a,b", "--store", "s", "--vocab", "v"},
           {"--ensemble", "a,b", "--store", "s", "--family", "sgraf"},
           {"--ensemble", "a,b", "--store", "s", "--heads", "4"},
           {"--ensemble", "a,b", "--store", "s", "--score-kind", "sigmoid"},
           {"--ensemble", "a,b", "--store", "s", "--regions", "36"},
           {"--ensemble", "a,b", "--store", "s", "--scene-text"},
           {"--ensemble", "a,b", "--store", "s", "--confidence-floor", "0"},
           {"--scripts", "d", "--out", "o", "--config", "c"},
           {"--scripts", "d", "--out", "o", "--cells", "8"},
           {"--scripts", "d"},
           {"--scripts", "d", "--store", "s"},
           {"model.pt", "--scripts", "d", "--out", "o"},
           {"--scripts", "d", "--out", "o", "--half"},
           {"--scripts", "d", "--out", "o", "--description", "ours"},
       }) {
    REQUIRE(Run(args).status == kUsageError);
  }
}

TEST_CASE("what cannot be converted is told") {
  Workplace place("uniter_small", 119);
  const Ran ran = Run({GoldenFolder("uniter_small") + "/weights.pt", "--vocab",
                       place.options.vocabulary, "--out", place.dir.File("store")});
  REQUIRE(ran.status == kFailure);
  REQUIRE(absl::StrContains(ran.err, "119 tokens"));
  REQUIRE(ran.out.empty());
  REQUIRE_FALSE(FileExists(place.dir.File("store")));
}

}  // namespace
}  // namespace sightline
