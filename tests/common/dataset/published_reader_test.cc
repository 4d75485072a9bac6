#include "common/dataset/published_reader.h"

#include "common/dataset/folder_reader.h"
#include "common/dataset/npz_reader.h"
#include "common/dataset/region_file.h"
#include "common/dataset/region_file_reader.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;

// Three of COCO's pictures: to learn from, to choose by, and held out.
constexpr char kSet[] = R"({"images": [
  {"filepath": "train2014", "filename": "a.jpg", "cocoid": 30, "split": "restval",
   "sentences": [{"raw": "two", "sentid": 2}, {"raw": "one", "sentid": 1}, {"raw": "", "sentid": 3}]},
  {"filepath": "val2014", "filename": "b.jpg", "cocoid": 20, "split": "val",
   "sentences": [{"raw": "three", "sentid": 4}, {"raw": " ", "sentid": 5}]},
  {"filepath": "val2014", "filename": "c.jpg", "cocoid": 10, "split": "test", "sentences": []}]})";

PublishedOptions OptionsIn(Tree& tree) {
  tree.Put("coco/set.json", kSet);
  PublishedOptions options;
  options.path = tree.Path("coco/set.json");
  return options;
}

std::unique_ptr<CorpusReader> Npz(const Tree& tree, const std::string& folder) {
  FolderOptions options;
  options.root = tree.Path(folder);
  return *NewNpzReader(options);
}

TEST_CASE("pictures lie beside the file, keep their ids and the splits of their set") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  tree.Put("coco/val2014/c.jpg", "picture");
  options.id_prefix = "coco/";
  const auto reader = NewPublishedReader(options);
  REQUIRE(reader.ok());
  REQUIRE((*reader)->region_feature_size() == 0);
  const auto listing = (*reader)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"coco/10", "coco/20", "coco/30"});
  REQUIRE(listing->items[0].split == Split::kHeldOut);
  REQUIRE(listing->items[1].split == Split::kValidation);
  REQUIRE(listing->items[2].split == Split::kTrain);
  REQUIRE(listing->items[0].published_place == 2);
  REQUIRE(listing->items[2].published_place == 0);
  REQUIRE(CaptionsOf(listing->items[2]) == "en:one|en:two");
  REQUIRE(listing->items[0].path == tree.Path("coco/val2014/c.jpg"));
  REQUIRE(*(*reader)->ReadPicture(listing->items[0], kMost) == "picture");
  REQUIRE(absl::IsNotFound((*reader)->ReadPicture(listing->items[1], kMost).status()));
  REQUIRE(absl::IsFailedPrecondition((*reader)->ReadRegions(listing->items[0], kMost).status()));
  REQUIRE(!(*reader)->PictureVersion(listing->items[0]).empty());
  REQUIRE(listing->warnings.size() == 2);
  REQUIRE(listing->warnings[0].item_id == "coco/30");

  options.images = "/elsewhere";
  REQUIRE((*(*NewPublishedReader(options))->List()).items[0].path == "/elsewhere/val2014/c.jpg");
}

TEST_CASE("only pictures of the splits that are asked for are items, and only they are warned of") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  options.splits = {"restval", "test"};
  const auto listing = (*NewPublishedReader(options))->List();
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"10", "30"});
  REQUIRE(listing->rejected.empty());
  REQUIRE(listing->warnings.size() == 1);
  options.splits = {"train"};
  const absl::Status status = (*NewPublishedReader(options))->List().status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("no picture of the split \"train\"; it has those of restval, test, "
                               "val"));
}

TEST_CASE("languages and the number of captions are what is asked for") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  options.captions_per_picture = 1;
  REQUIRE(CaptionsOf((*NewPublishedReader(options))->List()->items[2]) == "en:one");
  options.caption_language = "de";
  REQUIRE(CaptionsOf((*NewPublishedReader(options))->List()->items[2]).empty());
  options.languages = {};
  REQUIRE(CaptionsOf((*NewPublishedReader(options))->List()->items[2]) == "de:one");
}

TEST_CASE("regions come from another corpus, by the names that region_id gives") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  tree.Put("npz/coco_train2014_000000000030.npz", SomeNpz(2, 4));
  tree.Put("npz/coco_val2014_000000000010.npz", SomeNpz(3, 4));
  tree.Put("npz/stranger.npz", SomeNpz(1, 4));
  tree.Put("npz/captions.jsonl",
           R"({"path": "coco_train2014_000000000030.npz", "captions": ["no"], "tags": ["sign"], )"
           R"("ocr_tokens": ["STOP"]})");
  options.region_id = "coco_{folder}_{id:012}";
  const auto reader = NewPublishedReader(options, Npz(tree, "npz"));
  REQUIRE(reader.ok());
  REQUIRE((*reader)->region_feature_size() == 4);
  const auto listing = (*reader)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"10", "30"});
  REQUIRE(listing->items[0].published_place == 2);
  REQUIRE((*reader)->ReadRegions(listing->items[0], kMost)->count == 3);
  REQUIRE((*reader)->ReadRegions(listing->items[1], kMost)->count == 2);
  REQUIRE(CaptionsOf(listing->items[1]) == "en:one|en:two");
  REQUIRE(listing->items[1].tags == std::vector<std::string>{"sign"});
  REQUIRE(listing->items[1].ocr_tokens == std::vector<std::string>{"STOP"});
  REQUIRE(listing->items[1].split == Split::kTrain);
  REQUIRE(absl::IsFailedPrecondition((*reader)->ReadPicture(listing->items[0], kMost).status()));
  REQUIRE((*reader)->PictureVersion(listing->items[0]) ==
          FileVersion(tree.Path("npz/coco_val2014_000000000010.npz")));
  REQUIRE(listing->rejected.size() == 1);
  REQUIRE(listing->rejected[0].item_id == "20");
  REQUIRE_THAT(listing->rejected[0].reason,
               Catch::Contains("has no \"coco_val2014_000000000020\""));
}

TEST_CASE("regions are told apart by their own corpus and by what gives them to pictures") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  std::vector<RegionFileItem> items = SomeRegionItems(2, 3);
  items[0].line.id = "10";
  items[1].line.id = "x10";
  const auto digest = [&](const std::string& region_id) {
    REQUIRE(WriteRegionFile(tree.Path("a.regions"), 2, Dtype::kFloat32, [&](int64_t i) {
              return items[i];
            }).ok());
    RegionFileOptions regions;
    regions.root = tree.Path("a.regions");
    options.region_id = region_id;
    return (*NewPublishedReader(options, *NewRegionFileReader(regions)))->RegionsDigest();
  };
  const std::string one = digest("{id}");
  REQUIRE(digest("{id}") == one);
  REQUIRE(digest("x{id}") != one);
  items[1].regions.features[0] += 1;
  REQUIRE(digest("{id}") != one);
  // Of npz there are no checksums, and of pictures no regions.
  tree.Put("npz/10.npz", SomeNpz(2, 4));
  REQUIRE((*NewPublishedReader(options, Npz(tree, "npz")))->RegionsDigest().empty());
  REQUIRE((*NewPublishedReader(options, nullptr))->RegionsDigest().empty());
}

TEST_CASE("when no name fits, both kinds of names are told") {
  Tree tree;
  PublishedOptions options = OptionsIn(tree);
  tree.Put("npz/x.npz", SomeNpz(2, 4));
  const absl::Status status = (*NewPublishedReader(options, Npz(tree, "npz")))->List().status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("the first is called \"30\" by region_id \"{id}\"") &&
                   Catch::Contains("the corpus of regions has \"x\""));
}

TEST_CASE("every form is read by its own function") {
  Tree tree;
  tree.Put("captions_val2014.json",
           R"({"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": []})");
  tree.Put("results.token", "a.jpg#0\tx\n");
  tree.Put("task1/image_splits/test_2016_flickr.txt", "a.jpg\n");
  tree.Put("task1/raw/test_2016_flickr.de", "ein A\n");
  tree.Put("textcaps.json", R"({"data": [{"image_id": "a", "set_name": "test"}]})");
  tree.Put("ocr.json", R"({"data": [{"image_id": "a", "ocr_tokens": ["STOP"]}]})");
  const auto first = [&](PublishedForm form, const std::string& path, const std::string& ocr = "") {
    PublishedOptions options;
    options.form = form;
    options.path = tree.Path(path);
    options.ocr = ocr;
    options.languages = {};
    return (*NewPublishedReader(options))->List()->items.at(0);
  };
  REQUIRE(first(PublishedForm::kCoco, "captions_val2014.json").split == Split::kValidation);
  REQUIRE(!first(PublishedForm::kFlickr, "results.token").split.has_value());
  const CorpusItem translated = first(PublishedForm::kMulti30k, "task1");
  REQUIRE(CaptionsOf(translated) == "de:ein A");
  REQUIRE(translated.split == Split::kHeldOut);
  REQUIRE(translated.path == tree.Path("task1/a.jpg"));
  REQUIRE(first(PublishedForm::kTextCaps, "textcaps.json", tree.Path("ocr.json")).ocr_tokens ==
          std::vector<std::string>{"STOP"});
}

TEST_CASE("options that cannot be are refused at once, a file that is not there when listed") {
  PublishedOptions options;
  options.path = "/nowhere.json";
  REQUIRE(absl::IsNotFound((*NewPublishedReader(options))->List().status()));
  options.ocr = "/ocr.json";
  REQUIRE_THAT(std::string(NewPublishedReader(options).status().message()),
               Catch::Contains("only TextCaps"));
  options.ocr = "";
  options.region_id = "{imgid}";
  REQUIRE(absl::IsInvalidArgument(NewPublishedReader(options).status()));
  options.region_id = "{id}";
  REQUIRE_THAT(
      std::string(NewPublishedReader(options, NewFolderReader(FolderOptions())).status().message()),
      Catch::Contains("corpus of pictures"));
}

}  // namespace
}  // namespace sightline
