#include "common/dataset/precomp_reader.h"

#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;

// `images` of two regions of three numbers, which count up.
std::string Images(int64_t images) {
  std::vector<float> values;
  for (int64_t i = 0; i < images * 6; ++i) values.push_back(static_cast<float>(i));
  return Npy("<f4", {images, 2, 3}, values);
}

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "caption " + std::to_string(i) + "\n";
  return text;
}

absl::StatusOr<std::unique_ptr<CorpusReader>> Open(const std::string& root) {
  PrecompOptions options;
  options.root = root;
  return NewPrecompReader(options);
}

TEST_CASE("five captions for each image, in order, split by split") {
  Tree tree;
  tree.Put("dev_ims.npy", Images(1));
  tree.Put("dev_caps.txt", Lines(5));
  tree.Put("test_ims.npy", Images(2));
  tree.Put("test_caps.txt", Lines(10));
  const auto reader = Open(tree.root());
  REQUIRE(reader.ok());
  REQUIRE((*reader)->region_feature_size() == 3);
  const auto listing = (*reader)->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"dev/0", "test/0", "test/1"});
  REQUIRE(listing->items[2].captions.size() == 5);
  REQUIRE(listing->items[2].captions[0].text == "caption 5");
  const auto regions = (*reader)->ReadRegions(listing->items[2], kMost);
  REQUIRE(regions.ok());
  REQUIRE(regions->count == 2);
  REQUIRE(regions->features == std::vector<float>{6, 7, 8, 9, 10, 11});
  REQUIRE(regions->boxes.empty());
  REQUIRE(regions->confidences.empty());
  REQUIRE(absl::IsInvalidArgument((*reader)->ReadRegions(listing->items[2], 23).status()));

  // The published order goes on from file to file.
  REQUIRE(listing->items[0].published_place == 0);
  REQUIRE(listing->items[2].published_place == 2);

  const auto one = Open(tree.Path("test_ims.npy"));
  REQUIRE((*one)->List()->items.size() == 2);
  REQUIRE((*one)->List()->items[1].published_place == 1);
  for (const char* path : {"#0", "test_ims.npy", "test_ims.npy#2", "test_ims.npy#-1"}) {
    CorpusItem stranger;
    stranger.path = tree.Path(path);
    REQUIRE(absl::IsNotFound((*one)->ReadRegions(stranger, kMost).status()));
  }
}

TEST_CASE("rows keep the place that they have in their file, in whatever order ids list them") {
  Tree tree;
  tree.Put("testall_ims.npy", Images(12));
  tree.Put("testall_caps.txt", Lines(12));
  const auto listing = (*Open(tree.root()))->List();
  REQUIRE(listing.ok());
  REQUIRE(listing->items[2].item_id == "testall/10");
  REQUIRE(listing->items[2].published_place == 10);
  REQUIRE(listing->items[4].item_id == "testall/2");
  REQUIRE(listing->items[4].published_place == 2);
}

TEST_CASE("as many captions as images are one each, whether the last line ends or not") {
  Tree tree;
  tree.Put("train_ims.npy", Images(5));
  tree.Put("train_caps.txt", "a\nb\nc\nd\ne");
  const auto listing = (*Open(tree.root()))->List();
  REQUIRE(listing.ok());
  REQUIRE(CaptionsOf(listing->items[4]) == "en:e");
}

TEST_CASE("another number of captions is refused, a bad one is left out") {
  Tree tree;
  tree.Put("test_ims.npy", Images(2));
  const auto reader = Open(tree.root());
  REQUIRE(absl::IsNotFound((*reader)->List().status()));
  tree.Put("test_caps.txt", Lines(9));
  REQUIRE_THAT(std::string((*reader)->List().status().message()),
               Catch::Contains("9 lines for 2 images"));
  tree.Put("test_caps.txt", "good\n\xFF\xFE\n");
  const auto listing = (*reader)->List();
  REQUIRE(listing.ok());
  REQUIRE(listing->items[1].captions.empty());
  REQUIRE(listing->warnings.size() == 1);
  REQUIRE_THAT(listing->warnings[0].reason, Catch::Contains("line 2"));
}

TEST_CASE("arrays that are no images are refused when the corpus is opened") {
  const auto problem = [](const std::string& array) {
    Tree tree;
    tree.Put("test_ims.npy", array);
    const absl::Status status = Open(tree.root()).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  REQUIRE_THAT(problem(Npy("<f4", {2, 3}, {1, 2, 3, 4, 5, 6})), Catch::Contains("wanted images"));
  REQUIRE_THAT(problem(Npy("<f4", {0, 2, 3}, {})), Catch::Contains("wanted images"));
  REQUIRE_THAT(problem("junk"), Catch::Contains("not an npy"));
  const std::string whole = Images(2);
  for (size_t length = 0; length < whole.size(); ++length) {
    REQUIRE_FALSE(problem(whole.substr(0, length)).empty());
  }
  Tree tree;
  REQUIRE_THAT(std::string(Open(tree.root()).status().message()), Catch::Contains("no file"));
  REQUIRE(absl::IsInvalidArgument(Open(tree.Path("nowhere")).status()));
  tree.Put("a_ims.npy", Images(1));
  tree.Put("b_ims.npy", Npy("<f4", {1, 1, 2}, {1, 2}));
  REQUIRE_THAT(std::string(Open(tree.root()).status().message()), Catch::Contains("2 numbers"));
}

}  // namespace
}  // namespace sightline
