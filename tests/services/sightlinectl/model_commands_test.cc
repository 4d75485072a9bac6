// Vocabularies and models, made by the commands as they are typed.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "services/sightlinectl/command.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunCommand, args);
}

TEST_CASE("a vocabulary is made of text files, and damage in them has a line") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  const Ran ran = Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const std::vector<std::string> tokens =
      absl::StrSplit(*ReadFile(dir.File("v.txt")), '\n', absl::SkipEmpty());
  REQUIRE(tokens[0] == "[PAD]");
  REQUIRE(std::count(tokens.begin(), tokens.end(), "fish") == 1);
  REQUIRE(absl::StrContains(ran.err, absl::StrCat("wrote ", tokens.size(), " tokens")));

  REQUIRE(WriteFileAtomically(dir.File("b.txt"), "fine\nbad \xFF\n").ok());
  for (const char* kind : {"clip_bpe", "sentencepiece", "word_list"}) {
    CAPTURE(kind);
    REQUIRE(Run({"make-vocabulary", "--kind", kind, "--min-count", "1", "--size", "600", "--text",
                 dir.File("a.txt"), "--out", dir.File(kind)})
                .status == 0);
    REQUIRE(FileExists(dir.File(kind)));
  }
  const Ran bad = Run({"make-vocabulary", "--text", dir.File("b.txt"), "--out", dir.File("w.txt")});
  REQUIRE(bad.status == 1);
  REQUIRE(absl::StrContains(bad.err, "b.txt:2: "));
  REQUIRE_FALSE(FileExists(dir.File("w.txt")));
}

TEST_CASE("a model is initialised, described by its id, and the same again for the same seed") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  REQUIRE(
      Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")}).status ==
      0);
  const auto init = [&](const char* seed) {
    return Run(
        {"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt"), "--seed", seed});
  };
  const Ran first = init("1");
  INFO(first.err);
  REQUIRE(first.status == 0);
  REQUIRE(first.out.size() == 65);
  REQUIRE(init("1").out == first.out);
  REQUIRE(init("2").out != first.out);
  const Ran described =
      Run({"describe", first.out.substr(0, 64), "--store", dir.path(), "--verify"});
  INFO(described.err);
  REQUIRE(described.status == 0);
  REQUIRE(absl::StrContains(described.out, "family          oscar"));
  REQUIRE(absl::StrContains(described.out, "verified"));
}

TEST_CASE("a model begins with another one's vocabulary and weights") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  REQUIRE(
      Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")}).status ==
      0);
  const Ran first = Run({"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt")});
  REQUIRE(first.status == 0);
  const std::string id = first.out.substr(0, 64);
  // All weights are taken, so that the seed changes nothing.
  const Ran same = Run({"init-model", "--store", dir.path(), "--weights-of", id, "--seed", "2"});
  INFO(same.err);
  REQUIRE(same.out == first.out);
  REQUIRE(absl::StrContains(same.err, "drawn: none"));
  REQUIRE(Run({"init-model", "--store", dir.path(), "--weights-of", id, "--vocabulary",
               dir.File("v.txt")})
              .status == 2);
  REQUIRE(Run({"init-model", "--store", dir.path(), "--weights-of", dir.File("none")}).status == 1);
  const Ran misnamed = Run({"init-model", "--store", dir.path(), "--weights-of", id + ",zzz.=b."});
  REQUIRE(misnamed.status == 1);
  REQUIRE(absl::StrContains(misnamed.err, "no tensor whose name begins with \"zzz.\""));
  const Ran malformed = Run({"init-model", "--store", dir.path(), "--weights-of", id + ",bert"});
  REQUIRE(malformed.status == 2);
  REQUIRE(
      absl::StrContains(malformed.err, "--weights-of " + id + ",bert: \"bert\" is not OLD=NEW"));
}

TEST_CASE("a model begins with weights of several others, by names that are given") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  REQUIRE(
      Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")}).status ==
      0);
  const auto init = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"init-model", "--store", dir.path(), "--vocabulary",
                                     dir.File("v.txt")};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  };
  const Ran first = init({});
  const std::string folder = dir.File("models/" + first.out.substr(0, 64));
  const Ran same = init({"--seed", "2", "--weights-from", folder});
  INFO(same.err);
  REQUIRE(same.status == 0);
  REQUIRE(same.out == first.out);
  REQUIRE(absl::StrContains(same.err, "drawn: none"));
  // What another name hides is the other source's.
  const Ran second = init({"--seed", "3"});
  const std::string other = dir.File("models/" + second.out.substr(0, 64));
  const Ran mixed =
      init({"--weights-from", folder + ",bert.encoder.=hidden.", "--weights-from", other});
  REQUIRE(mixed.status == 0);
  REQUIRE(absl::StrContains(mixed.err, "drawn: none"));
  REQUIRE(mixed.out != first.out);
  REQUIRE(mixed.out != second.out);

  const Ran misnamed = init({"--weights-from", folder + ",elsewhere.=here."});
  REQUIRE(misnamed.status == 1);
  REQUIRE(absl::StrContains(misnamed.err, "no tensor whose name begins with \"elsewhere.\""));
  const Ran malformed = init({"--weights-from", folder + ",bert"});
  REQUIRE(malformed.status == 2);
  REQUIRE(absl::StrContains(malformed.err, "\"bert\" is not OLD=NEW"));
  const Ran nothing = init({"--weights-from", folder + ",=x."});
  REQUIRE(nothing.status == 1);
  REQUIRE(absl::StrContains(nothing.err, "has no tensor of a name and a shape"));
  REQUIRE(Run({"init-model", "--store", dir.path(), "--weights-of", first.out.substr(0, 64),
               "--weights-from", folder})
              .status == 2);
}

TEST_CASE("a configuration that is no manifest is refused by its path") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("c.json"), "{\"layers\": 3}").ok());
  REQUIRE(WriteFileAtomically(dir.File("v.txt"), "[PAD]\n").ok());
  const Ran ran = Run({"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt"),
                       "--config", dir.File("c.json")});
  REQUIRE(ran.status == 1);
  REQUIRE(absl::StrContains(ran.err, "c.json is not the JSON of a ModelBundleManifest"));
}

}  // namespace
}  // namespace sightline
