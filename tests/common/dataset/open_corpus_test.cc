#include "common/dataset/open_corpus.h"

#include "catch2/catch.hpp"
#include "tests/common/dataset/tree.h"

namespace sightline {
namespace {

TEST_CASE("kinds have names, and an unknown name lists them") {
  for (const char* name : {"folder", "stamps", "clipart", "emoji"}) {
    REQUIRE(CorpusKindName(*ParseCorpusKind(name)) == name);
  }
  const absl::Status unknown = ParseCorpusKind("flickr").status();
  REQUIRE(absl::IsInvalidArgument(unknown));
  REQUIRE_THAT(std::string(unknown.message()),
               Catch::Contains("flickr") && Catch::Contains("clipart"));
}

TEST_CASE("a spec opens its reader with its paths") {
  Tree tree;
  tree.Put("a.png", "1");
  tree.Put("a.txt", "An A.\nde.utf8=Ein A.");
  tree.Put("a.svg", "<svg/>");
  CorpusSpec spec;
  spec.root = tree.root();
  spec.id_prefix = "p/";
  REQUIRE((*(*OpenCorpus(spec))->List()).items[0].item_id == "p/a.png");

  spec.kind = CorpusKind::kStamps;
  REQUIRE(absl::IsInvalidArgument(OpenCorpus(spec).status()));
  spec.id_prefix = "";
  spec.languages = {"de"};
  REQUIRE(CaptionsOf((*OpenCorpus(spec))->List()->items[0]) == "de:Ein A.");

  spec.kind = CorpusKind::kClipArt;
  spec.annotations = tree.root();
  REQUIRE((*OpenCorpus(spec))->List()->items[0].item_id == "clipart/a");

  spec.kind = CorpusKind::kEmoji;
  REQUIRE(!OpenCorpus(spec).ok());

  spec = CorpusSpec();
  REQUIRE(absl::IsInvalidArgument(OpenCorpus(spec).status()));
}

}  // namespace
}  // namespace sightline
