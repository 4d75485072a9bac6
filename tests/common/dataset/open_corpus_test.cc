#include "common/dataset/open_corpus.h"

#include "common/dataset/region_file.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("kinds have names, and an unknown name lists them") {
  for (const char* name : {"folder", "stamps", "clipart", "emoji", "regions", "npz", "precomp"}) {
    REQUIRE(CorpusKindName(*ParseCorpusKind(name)) == name);
  }
  const absl::Status unknown = ParseCorpusKind("flickr").status();
  REQUIRE(absl::IsInvalidArgument(unknown));
  REQUIRE_THAT(std::string(unknown.message()),
               Catch::Contains("flickr") && Catch::Contains("clipart, emoji, regions, npz"));
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

  for (const CorpusKind own :
       {CorpusKind::kFolder, CorpusKind::kRegions, CorpusKind::kNpz, CorpusKind::kPrecomp}) {
    spec = CorpusSpec();
    spec.kind = own;
    REQUIRE_THAT(std::string(OpenCorpus(spec).status().message()), Catch::Contains("needs a root"));
  }
}

TEST_CASE("corpora of regions are opened with their prefixes") {
  Tree tree;
  tree.Put("a.npz", SomeNpz(2, 3));
  tree.Put("test_ims.npy", Npy("<f4", {1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  tree.Put("test_caps.txt", "one\n");
  const std::vector<RegionFileItem> items = SomeRegionItems(1, 3);
  REQUIRE(WriteRegionFile(tree.Path("a.regions"), 1, Dtype::kFloat16, [&](int64_t) {
            return items[0];
          }).ok());
  CorpusSpec spec;
  spec.root = tree.root();
  spec.id_prefix = "p/";
  const std::pair<CorpusKind, const char*> kinds[] = {{CorpusKind::kNpz, "p/a"},
                                                      {CorpusKind::kPrecomp, "p/test/0"},
                                                      {CorpusKind::kRegions, "p/item/0"}};
  for (const auto& [kind, id] : kinds) {
    spec.kind = kind;
    const auto reader = OpenCorpus(spec);
    REQUIRE(reader.ok());
    REQUIRE((*reader)->region_feature_size() == 3);
    REQUIRE((*reader)->List()->items[0].item_id == id);
  }
}

}  // namespace
}  // namespace sightline
