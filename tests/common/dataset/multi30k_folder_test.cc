#include "common/dataset/multi30k_folder.h"

#include "tests/common/dataset/published_text.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"
#include "tests/support/gzip.h"

namespace sightline {
namespace {

std::string ErrorOf(const Tree& tree) {
  const absl::Status status = ReadMulti30kFolder(tree.root(), 5).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("task 1: a caption a language, packed or not, in the order of the list") {
  Tree tree;
  tree.Put("image_splits/train.txt", "10.jpg\n20.jpg\n");
  tree.Put("image_splits/test_2017_mscoco.txt", "COCO_val2014_000000000042.jpg#5\n");
  tree.Put("raw/train.en", "one\ntwo\n");
  tree.Put("raw/train.de.gz", Gzip("eins\nzwei\n"));
  tree.Put("raw/test_2017_mscoco.en", "coco");
  tree.Put("raw/README", "no captions");
  tree.Put("raw/a.b.en", "no captions\n");
  tree.Put("tok/train.lc.norm.tok.en", "not read\n");
  const auto set = ReadMulti30kFolder(tree.root(), 5);
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) ==
          "COCO_val2014_000000000042 COCO_val2014_000000000042.jpg test_2017_mscoco: en:coco\n"
          "10 10.jpg train: de:eins|en:one\n"
          "20 20.jpg train: de:zwei|en:two\n");
  REQUIRE(set->warnings.empty());
}

TEST_CASE("task 2: five captions a language, in the order of their files' numbers") {
  Tree tree;
  tree.Put("image_splits/val_images.txt", "10.jpg\n");
  for (const std::string number : {"10", "2", "1", "3"}) {
    tree.Put("raw/val." + number + ".en", "c" + number + "\n");
  }
  tree.Put("raw/val.1.de", "d1\n");
  const auto set = ReadMulti30kFolder(tree.root(), 3);
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) == "10 10.jpg val: de:d1|en:c1|en:c2|en:c3\n");
}

TEST_CASE("captions without a list are warned of") {
  Tree tree;
  tree.Put("image_splits/val.txt", "10.jpg\n");
  tree.Put("raw/val.en", "x\n");
  tree.Put("raw/train.en", "x\n");
  const auto set = ReadMulti30kFolder(tree.root(), 5);
  REQUIRE(set->warnings.size() == 1);
  REQUIRE_THAT(set->warnings[0].path, Catch::Contains("raw/train.en"));
  REQUIRE_THAT(set->warnings[0].reason, Catch::Contains("no list"));
}

TEST_CASE("lines that do not fit the list, and lists that are none, are refused") {
  Tree tree;
  tree.Put("image_splits/val.txt", "10.jpg\n20.jpg\n");
  tree.Put("raw/val.en", "x\n");
  REQUIRE_THAT(ErrorOf(tree), Catch::Contains("raw/val.en has 1 lines; the list of its pictures "
                                              "has 2"));
  tree.Put("image_splits/val_images.txt", "10.jpg\n");
  REQUIRE_THAT(ErrorOf(tree), Catch::Contains("two lists of the split val"));

  Tree twice;
  twice.Put("image_splits/val.txt", "10.jpg\n10.jpg\n");
  twice.Put("raw/val.en", "x\ny\n");
  REQUIRE_THAT(ErrorOf(twice), Catch::Contains("val.txt: line 2") && Catch::Contains("twice"));

  Tree unknown;
  unknown.Put("image_splits/dev.txt", "10.jpg\n");
  unknown.Put("raw/val.en", "x\n");
  REQUIRE_THAT(ErrorOf(unknown), Catch::Contains("the split is \"dev\""));

  Tree outside;
  outside.Put("image_splits/val.txt", "../../10.jpg\n");
  REQUIRE_THAT(ErrorOf(outside), Catch::Contains("line 1: the picture's file"));

  Tree none;
  none.Put("image_splits/readme", "");
  REQUIRE_THAT(ErrorOf(none), Catch::Contains("has no list of pictures"));
  REQUIRE(absl::IsNotFound(ReadMulti30kFolder("/nowhere", 5).status()));
}

}  // namespace
}  // namespace sightline
