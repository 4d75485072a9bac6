#include "common/dataset/open_corpus.h"

#include "common/dataset/region_file.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("kinds have names, and an unknown name lists them") {
  const std::vector<std::string> names = {"folder",  "stamps", "clipart",  "emoji",
                                          "regions", "npz",    "precomp",  "karpathy",
                                          "coco",    "flickr", "multi30k", "textcaps"};
  REQUIRE(CorpusKindNames() == names);
  for (const std::string& name : names) REQUIRE(CorpusKindName(*ParseCorpusKind(name)) == name);
  const absl::Status unknown = ParseCorpusKind("flicker").status();
  REQUIRE(absl::IsInvalidArgument(unknown));
  REQUIRE_THAT(std::string(unknown.message()),
               Catch::Contains("\"flicker\"") && Catch::Contains("clipart, emoji, regions, npz"));
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
       {CorpusKind::kFolder, CorpusKind::kRegions, CorpusKind::kNpz, CorpusKind::kPrecomp,
        CorpusKind::kKarpathy, CorpusKind::kMulti30k}) {
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

TEST_CASE("a corpus is read from text, a published set with its settings") {
  const auto folder = ParseCorpus("folder:/a,b=c:d");
  REQUIRE(folder->kind == CorpusKind::kFolder);
  REQUIRE(folder->root == "/a,b=c:d");
  REQUIRE(ParseCorpus("stamps")->root.empty());
  const auto set = ParseCorpus(
      "karpathy:/d.json,images=/i,splits=train+restval,captions_per_picture=0,"
      "regions=npz:/n,region_id=coco_{folder}_{id:012},caption_language=de,id_prefix=c/,ocr=/o");
  REQUIRE(set.ok());
  REQUIRE(set->kind == CorpusKind::kKarpathy);
  REQUIRE(set->root == "/d.json");
  REQUIRE(set->id_prefix == "c/");
  REQUIRE(set->published.images == "/i");
  REQUIRE(set->published.splits == std::vector<std::string>{"train", "restval"});
  REQUIRE(set->published.captions_per_picture == 0);
  REQUIRE(set->published.regions == "npz:/n");
  REQUIRE(set->published.region_id == "coco_{folder}_{id:012}");
  REQUIRE(set->published.caption_language == "de");
  REQUIRE(set->published.ocr == "/o");
  for (const char* text : {"karpathy:/d.json,image=/i", "coco:/d.json,captions_per_picture=-1",
                           "coco:/d.json,captions_per_picture=x", "flicker:/x", "coco:/d.json,"}) {
    CAPTURE(text);
    REQUIRE(absl::IsInvalidArgument(ParseCorpus(text).status()));
  }
}

TEST_CASE("corpora are read from a list, in which settings stay with their corpus") {
  const auto corpora =
      ParseCorpora("stamps,coco:/c.json,images=/i,splits=val,folder:/x=y,multi30k:/m");
  REQUIRE(corpora.ok());
  REQUIRE(corpora->size() == 4);
  REQUIRE((*corpora)[1].published.splits == std::vector<std::string>{"val"});
  REQUIRE((*corpora)[2].root == "/x=y");
  REQUIRE((*corpora)[3].kind == CorpusKind::kMulti30k);
  REQUIRE(absl::IsInvalidArgument(ParseCorpora("images=/i,stamps").status()));
  REQUIRE(absl::IsInvalidArgument(ParseCorpora("stamps,images").status()));
}

TEST_CASE("a published set is opened with its regions") {
  Tree tree;
  tree.Put("npz/flickr30k_000000000007.npz", SomeNpz(2, 3));
  tree.Put("d.json", R"({"images": [{"filename": "7.jpg", "split": "test", "sentences": []}]})");
  CorpusSpec spec = *ParseCorpus("karpathy:" + tree.Path("d.json") + ",id_prefix=f/,regions=npz:" +
                                 tree.Path("npz") + ",region_id=flickr30k_{id:012}");
  const auto reader = OpenCorpus(spec);
  REQUIRE(reader.ok());
  REQUIRE((*reader)->region_feature_size() == 3);
  REQUIRE(IdsOf(*(*reader)->List()) == std::vector<std::string>{"f/7"});
  spec.published.regions = "coco:/x.json";
  REQUIRE_THAT(std::string(OpenCorpus(spec).status().message()),
               Catch::Contains("themselves a published set"));
  spec.published.regions = "folder:" + tree.root();
  REQUIRE(absl::IsInvalidArgument(OpenCorpus(spec).status()));
}

}  // namespace
}  // namespace sightline
