#include "common/dataset/corpus.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

class GivenItems : public CorpusReader {
 public:
  explicit GivenItems(std::vector<CorpusItem> items) : items_(std::move(items)) {}
  absl::Status ListTo(ListingSink& sink) const override {
    for (const CorpusItem& item : items_) RETURN_IF_ERROR(GiveItem(item, sink));
    return absl::OkStatus();
  }

 private:
  const std::vector<CorpusItem> items_;
};

CorpusListing ListingOf(std::vector<CorpusItem> items) {
  return *GivenItems(std::move(items)).List();
}

TEST_CASE("an item id is UTF-8 without control characters, of bounded length") {
  REQUIRE(CheckItemId("stamps/animals/frog").ok());
  REQUIRE(CheckItemId("bilder/m\u00f6we.png").ok());
  REQUIRE(CheckItemId(std::string(512, 'a')).ok());

  REQUIRE(absl::IsInvalidArgument(CheckItemId("")));
  REQUIRE(absl::IsInvalidArgument(CheckItemId(std::string(513, 'a'))));
  REQUIRE(absl::IsInvalidArgument(CheckItemId("a\nb")));
  REQUIRE(absl::IsInvalidArgument(CheckItemId(std::string("a\0b", 3))));
  const absl::Status bad = CheckItemId("caf\xe9.png");
  REQUIRE(absl::IsInvalidArgument(bad));
  REQUIRE_THAT(std::string(bad.message()), Catch::Contains("caf\\xe9.png"));
}

TEST_CASE("a caption loses outer and repeated white space and nothing else") {
  REQUIRE(CleanCaption("  A\tfrog.\r\n") == "A frog.");
  REQUIRE(CleanCaption("une  m\u00e8re") == "une m\u00e8re");
  REQUIRE(CleanCaption(" \n ") == "");
  REQUIRE(CleanCaption("bad \xff byte") == "");
  REQUIRE(CleanCaption(std::string(kMaxCaptionBytes, 'x')).size() == kMaxCaptionBytes);
  REQUIRE(CleanCaption(std::string(kMaxCaptionBytes + 1, 'x')) == "");
}

TEST_CASE("caption ids name image, language and place") {
  REQUIRE(CaptionId("emoji/1f438", "en", 2) == "emoji/1f438#en-2");
}

TEST_CASE("a listing is put in bytewise order, and a second item of an id is rejected") {
  const CorpusListing listing = ListingOf(
      {{"b", "/1", {}, {}}, {"B", "/2", {}, {}}, {"a", "/3", {}, {}}, {"b", "/4", {}, {}}});
  REQUIRE(IdsOf(listing) == std::vector<std::string>{"B", "a", "b"});
  REQUIRE(listing.items[2].path == "/1");
  REQUIRE(listing.rejected.size() == 1);
  REQUIRE(listing.rejected[0].path == "/4");
  REQUIRE_THAT(listing.rejected[0].reason, Catch::Contains("/1"));
}

TEST_CASE("a picture file is read unless it is empty, too long or missing") {
  Tree tree;
  tree.Put("empty", "");
  tree.Put("five", "12345");
  REQUIRE(*ReadPictureFile(tree.Path("five"), 5) == "12345");
  REQUIRE(absl::IsInvalidArgument(ReadPictureFile(tree.Path("empty"), 5).status()));
  const absl::Status long_file = ReadPictureFile(tree.Path("five"), 4).status();
  REQUIRE(absl::IsInvalidArgument(long_file));
  REQUIRE(long_file.message() == "file of 5 bytes; the limit is 4");
  REQUIRE(absl::IsNotFound(ReadPictureFile(tree.Path("none"), 5).status()));
}

TEST_CASE("tags are bounded in length and number") {
  CorpusItem item{"a", "/a", {}, {"", std::string(257, 'x'), std::string(256, 'y')}};
  for (int i = 0; i < 1000; ++i) item.tags.push_back("tag");
  const CorpusListing listing = ListingOf({item});
  REQUIRE(listing.items[0].tags.size() == 256);
  REQUIRE(listing.items[0].tags[0] == std::string(256, 'y'));
}

TEST_CASE("a corpus is listed also where $TMPDIR is no folder") {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere", /*overwrite=*/1);
  const std::string folder = TemporaryDirectory();
  const size_t listed = ListingOf({{"a", "/a", {}, {}}}).items.size();
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), /*overwrite=*/1);
  REQUIRE(folder == "/tmp");
  REQUIRE(listed == 1);
}

}  // namespace
}  // namespace sightline
