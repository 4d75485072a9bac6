#include "common/evaluation/evaluation_pool.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Ints = std::vector<int>;

// Each image has as many captions in each language.
MatrixItems Items(int images, int captions, const std::vector<std::string>& languages = {"en"}) {
  MatrixItems items;
  for (int i = 0; i < images; ++i) {
    items.images.push_back(absl::StrCat("i", i));
    items.families.push_back(i);
    for (const std::string& language : languages) {
      for (int c = 0; c < captions; ++c) {
        items.captions.push_back({absl::StrCat("i", i, "#", language, "-", c + 1), i, language});
      }
    }
  }
  items.family_count = images;
  return items;
}

std::vector<EvaluationPool> Pools(const std::string& protocol, const MatrixItems& items,
                                  absl::string_view file = "") {
  const auto parsed = ParseProtocol(protocol);
  REQUIRE(parsed.ok());
  const auto pools = MakePools(*parsed, items, file);
  INFO(pools.status());
  REQUIRE(pools.ok());
  return *pools;
}

std::string ProblemOf(const std::string& protocol, const MatrixItems& items,
                      absl::string_view file = "") {
  const auto parsed = ParseProtocol(protocol);
  if (!parsed.ok()) return std::string(parsed.status().message());
  const absl::Status status = MakePools(*parsed, items, file).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("the whole pool has every image and caption") {
  const EvaluationPool pool = Pools("whole", Items(3, 2))[0];
  REQUIRE(pool.images == Ints{0, 1, 2});
  REQUIRE(pool.captions == Ints{0, 1, 2, 3, 4, 5});
  REQUIRE(pool.image_queries == pool.images);
  REQUIRE(pool.caption_queries == pool.captions);
}

TEST_CASE("an image without captions is a candidate and asks nothing") {
  MatrixItems items = Items(2, 1);
  items.images.push_back("bare");
  items.families.push_back(items.family_count++);
  const EvaluationPool pool = Pools("whole", items)[0];
  REQUIRE(pool.images == Ints{0, 1, 2});
  REQUIRE(pool.image_queries == Ints{0, 1});
}

TEST_CASE("COCO 1k by folds are SGRAF's slices") {
  const auto pools = Pools("coco_1k_folds", Items(5000, 5));
  REQUIRE(pools.size() == 5);
  for (int fold = 0; fold < 5; ++fold) {
    REQUIRE(pools[fold].images.size() == 1000);
    REQUIRE(pools[fold].captions.size() == 5000);
    // sims[i * 5000 : (i + 1) * 5000] of the captions, every fifth of the images' copies.
    for (int c = 0; c < 5000; ++c) REQUIRE(pools[fold].captions[c] == fold * 5000 + c);
    for (int i = 0; i < 1000; ++i) REQUIRE(pools[fold].images[i] == (fold * 5000 + 5 * i) / 5);
    REQUIRE(pools[fold].image_queries == pools[fold].images);
    REQUIRE(pools[fold].caption_queries == pools[fold].captions);
  }
  REQUIRE(Pools("coco_5k", Items(5000, 5))[0].caption_queries.size() == 25'000);
  REQUIRE(Pools("flickr_1k", Items(1000, 5))[0].caption_queries.size() == 5000);
}

TEST_CASE("folds go by the published order, whatever that of the rows is") {
  // Rows in the order of ids as texts: i0, i1, i10, i11, i2, ...
  MatrixItems items = Items(12, 1);
  items.places = {0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto pools = Pools("folds:3", items);
  REQUIRE(pools[0].images == Ints{0, 1, 4, 5});
  REQUIRE(pools[1].images == Ints{6, 7, 8, 9});
  REQUIRE(pools[2].images == Ints{2, 3, 10, 11});
  REQUIRE(pools[2].caption_queries == pools[2].images);
  REQUIRE(PoolsNote(*ParseProtocol("folds:3"), items).empty());
  // Places of a part of a set have gaps.
  for (int64_t& place : items.places) place = 7 * place + 100;
  REQUIRE(Pools("folds:3", items)[2].images == pools[2].images);
  items.places.clear();
  REQUIRE(Pools("folds:3", items)[0].images == Ints{0, 1, 2, 3});
  REQUIRE(absl::StrContains(PoolsNote(*ParseProtocol("folds:3"), items),
                            "folds:3: no \"place\" of images is known"));
  REQUIRE(PoolsNote(*ParseProtocol("whole"), items).empty());
}

TEST_CASE("a list takes the listed images and their captions alone, in the order of rows") {
  const EvaluationPool pool = Pools("list:f", Items(4, 2), "i3\ni1\n")[0];
  REQUIRE(pool.images == Ints{1, 3});
  REQUIRE(pool.captions == Ints{2, 3, 6, 7});
  REQUIRE(pool.image_queries == Ints{1, 3});
  REQUIRE(pool.caption_queries == pool.captions);
}

TEST_CASE("distractors are found and ask nothing") {
  const EvaluationPool pool = Pools("distractors:f", Items(4, 2), "i2")[0];
  REQUIRE(pool.images == Ints{0, 1, 2, 3});
  REQUIRE(pool.captions.size() == 8);
  REQUIRE(pool.image_queries == Ints{2});
  REQUIRE(pool.caption_queries == Ints{4, 5});
}

TEST_CASE("captions that are named ask, and their images, among all") {
  const EvaluationPool pool = Pools("captions:f", Items(4, 2), "i3#en-2\ni1#en-1\tx\ni3#en-1\n")[0];
  REQUIRE(pool.images == Ints{0, 1, 2, 3});
  REQUIRE(pool.captions == Ints{0, 1, 2, 4, 5, 6, 7});  // 3 is right for i1, and not named
  REQUIRE(pool.caption_queries == Ints{2, 6, 7});
  REQUIRE(pool.image_queries == Ints{1, 3});
  REQUIRE(ProblemOf("captions:f", Items(2, 1), "i0#en-1\ni1") ==
          "line 2: caption 'i1' is no column of the matrix");
  REQUIRE(ProblemOf("captions:f", Items(2, 1), "i0#en-1\ni0#en-1") ==
          "line 2: caption 'i0#en-1' stands there twice");
  REQUIRE(ProblemOf("captions:f", Items(2, 1), "\n") ==
          "captions:f: no caption is left to ask with");
}

TEST_CASE("captions that share so many words ask, and their images, among all") {
  MatrixItems items = Items(3, 2);
  const int shared[] = {0, 2, 1, 0, 1, 1};
  for (int c = 0; c < 6; ++c) items.captions[c].shared_words = shared[c];
  const EvaluationPool none = Pools("shared_words:0", items)[0];
  REQUIRE(none.caption_queries == Ints{0, 3});
  REQUIRE(none.image_queries == Ints{0, 1});
  REQUIRE(none.images == Ints{0, 1, 2});
  REQUIRE(none.captions == Ints{0, 3, 4, 5});
  REQUIRE(Pools("shared_words:1", items)[0].caption_queries == Ints{2, 4, 5});
  REQUIRE(ProblemOf("shared_words:3", items) == "shared_words:3: no caption is left to ask with");
  REQUIRE(absl::StrContains(ProblemOf("shared_words:0", Items(2, 1)),
                            "no caption says how many \"shared_words\""));
}

TEST_CASE("a language has its captions alone, against all images") {
  MatrixItems items = Items(3, 1, {"de", "en"});
  items.captions.pop_back();  // i2 in English
  const EvaluationPool whole = Pools("whole", items)[0];
  const auto english = InLanguage(whole, items, "en");
  REQUIRE(english.ok());
  REQUIRE(english->captions == Ints{1, 3});
  REQUIRE(english->caption_queries == Ints{1, 3});
  REQUIRE(english->images == Ints{0, 1, 2});
  REQUIRE(english->image_queries == Ints{0, 1});
  REQUIRE(items.Languages() == std::vector<std::string>{"de", "en"});
  const auto none = InLanguage(whole, items, "fr");
  REQUIRE(none.status().message() == "language 'fr': no caption is left to ask with");
}

TEST_CASE("a protocol that the items do not fit is refused") {
  REQUIRE(ProblemOf("coco_5k", Items(4, 5)) ==
          "coco_5k is about 5000 images with 25000 captions, not 4 with 20");
  REQUIRE(absl::StrContains(ProblemOf("coco_1k_folds", Items(5000, 4)), "not 5000 with 20000"));
  REQUIRE(absl::StrContains(ProblemOf("flickr_1k", Items(1001, 5)), "not 1001"));
  REQUIRE(absl::StrContains(ProblemOf("folds:3", Items(4, 1)), "4 images do not make 3 folds"));
  REQUIRE(ProblemOf("list:f", Items(4, 1), "i1\ni9") ==
          "line 2: image 'i9' is no row of the matrix");
  MatrixItems bare = Items(2, 1);
  bare.captions.pop_back();
  REQUIRE(absl::StrContains(ProblemOf("list:f", bare, "i1"), "no caption"));
  REQUIRE(absl::StrContains(ProblemOf("folds:2", bare), "no caption"));
  for (const char* name :
       {"", "coco", "folds:0", "folds:x", "folds:1001", "list:", "distractors:", "captions:",
        "pools:", "shared_words:", "shared_words:-1", "shared_words:1001"}) {
    REQUIRE(absl::StrContains(ProblemOf(name, bare), "is none of whole"));
  }
}

TEST_CASE("lists have an id a line, before a tab") {
  REQUIRE(Pools("list:f", Items(4, 1), "i3\r\n\ni0\tx\n")[0].images == Ints{0, 3});
  REQUIRE(ProblemOf("list:f", Items(4, 1), "i1\ni2\ni1\n") ==
          "line 3: image 'i1' stands there twice");
  REQUIRE(ProblemOf("distractors:f", Items(4, 1), "\n") ==
          "distractors:f: no caption is left to ask with");
  REQUIRE(absl::StrContains(ProblemOf("list:f", Items(4, 1), std::string(2000, 'x')),
                            "line 1: an id has 2000 bytes"));
}

TEST_CASE("pools are those that the lines of a file name, and may share an image") {
  const auto pools = Pools("pools:f", Items(5, 2), "i3\ti1\r\n\ni1\ti4\ti0\n");
  REQUIRE(pools.size() == 2);
  REQUIRE(pools[0].images == Ints{1, 3});
  REQUIRE(pools[0].captions == Ints{2, 3, 6, 7});
  REQUIRE(pools[0].image_queries == pools[0].images);
  REQUIRE(pools[0].caption_queries == pools[0].captions);
  REQUIRE(pools[1].images == Ints{0, 1, 4});
  REQUIRE(ProblemOf("pools:f", Items(5, 1), "i1\ti2\ni1\ti1\n") ==
          "line 2: image 'i1' stands there twice");
  REQUIRE(ProblemOf("pools:f", Items(5, 1), "i1\ti7") ==
          "line 1: image 'i7' is no row of the matrix");
  REQUIRE(ProblemOf("pools:f", Items(5, 1), "\n") == "pools:f names no image");
  MatrixItems bare = Items(2, 1);
  bare.captions.pop_back();
  REQUIRE(ProblemOf("pools:f", bare, "i0\ni1") ==
          "pools:f, line 2: no caption is left to ask with");
}

TEST_CASE("a protocol's file is read, and named in what is wrong with it") {
  const TempDir dir;
  const std::string file = dir.File("pools.tsv");
  REQUIRE(WriteFileAtomically(file, "i0\ti2\n").ok());
  const auto pools = ReadPools(*ParseProtocol("pools:" + file), Items(3, 1));
  REQUIRE(pools.ok());
  REQUIRE(pools->front().images == Ints{0, 2});
  REQUIRE(WriteFileAtomically(file, "i9\n").ok());
  REQUIRE(ReadPools(*ParseProtocol("list:" + file), Items(3, 1)).status().message() ==
          file + ": line 1: image 'i9' is no row of the matrix");
  REQUIRE(absl::IsNotFound(
      ReadPools(*ParseProtocol("list:" + dir.File("none")), Items(3, 1)).status()));
}

TEST_CASE("rows and columns are read line by line") {
  const auto items = ParseMatrixItems(
      "{\"image\":\"a\",\"family\":\"f\"}\n"
      "{\"image\":\"b\"}\n"
      "{\"caption\":\"a1\",\"image\":\"a\",\"language\":\"en\"}\n"
      "{\"image\":\"c\",\"family\":\"f\",\"width\":3}\n"
      "{\"caption\":\"c1\",\"image\":\"c\",\"language\":\"de\"}\n");
  REQUIRE(items.ok());
  REQUIRE(items->images == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(items->families == Ints{0, 1, 0});
  REQUIRE(items->family_count == 2);
  REQUIRE(items->captions.size() == 2);
  REQUIRE(items->captions[1].id == "c1");
  REQUIRE(items->captions[1].image == 2);
  REQUIRE(items->captions[1].language == "de");
}

TEST_CASE("places, families and counts of words are written as they are read") {
  MatrixItems items = Items(4, 1);
  items.families = {0, 1, 0, 1};
  items.family_count = 2;
  items.places = {30, 10, 20, 0};
  items.captions[2].shared_words = 0;
  const std::string text = FormatMatrixItems(items);
  REQUIRE(absl::StartsWith(text,
                           "{\"family\":\"i0\",\"image\":\"i0\",\"place\":30}\n"
                           "{\"family\":\"i1\",\"image\":\"i1\",\"place\":10}\n"));
  const auto read = ParseMatrixItems(text);
  REQUIRE(read.ok());
  REQUIRE(read->families == items.families);
  REQUIRE(read->places == items.places);
  REQUIRE(read->captions[2].shared_words == 0);
  REQUIRE(!read->captions[1].shared_words.has_value());
  REQUIRE(absl::StartsWith(FormatMatrixItems(Items(1, 1)), "{\"image\":\"i0\"}\n"));
}

TEST_CASE("a list makes families of the images that it names") {
  MatrixItems items = Items(5, 1);
  REQUIRE(TakeFamilies("i3\tb\n\ni1\tb\r\nelsewhere\tb\ni4\tc\n", &items).ok());
  REQUIRE(items.families == Ints{0, 1, 2, 1, 3});
  REQUIRE(items.family_count == 4);
  const auto problem = [&](const std::string& text) {
    const absl::Status status = TakeFamilies(text, &items);
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  REQUIRE(absl::StartsWith(problem("i1\tb\ni2\n"), "line 2: is not an image's id, a tab and"));
  REQUIRE(absl::StartsWith(problem("i1\tb\tc"), "line 1: is not an image's id"));
  REQUIRE(absl::StartsWith(problem("\tb"), "line 1: is not an image's id"));
  REQUIRE(absl::StartsWith(problem("i1\t" + std::string(2000, 'x')), "line 1: is not"));
  REQUIRE(problem("i1\tb\ni1\tb") == "line 2: image 'i1' stands in the file twice");
  REQUIRE(problem("j1\tb") == "names none of the 5 images, the first of which is 'i0'");
}

TEST_CASE("rows and columns that lie are refused by line") {
  const auto problem = [](const std::string& text) {
    const absl::Status status = ParseMatrixItems(text).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  const std::string image = "{\"image\":\"a\"}\n";
  const std::string caption = "{\"caption\":\"c\",\"image\":\"a\",\"language\":\"en\"}\n";
  REQUIRE(problem("") == "names 0 images and 0 captions; both have to be there");
  REQUIRE(problem(image) == "names 1 images and 0 captions; both have to be there");
  REQUIRE(problem(image + image + caption) == "line 2: image 'a' stands in the file twice");
  const std::string placed = "{\"image\":\"b\",\"place\":5}\n";
  REQUIRE(problem(image + placed + caption) ==
          "gives 1 of 2 images a \"place\"; all must have one, or none");
  REQUIRE(problem(placed + "{\"image\":\"a\",\"place\":5}\n" + caption) ==
          "line 2: place '5' stands in the file twice");
  for (const char* number : {"-1", "0.5", "\"1\"", "18446744073709551615"}) {
    REQUIRE(absl::StrContains(problem(absl::StrCat("{\"image\":\"a\",\"place\":", number, "}")),
                              "line 1: \"place\" is no whole number from 0"));
    REQUIRE(absl::StrContains(
        problem(absl::StrCat(image, "{\"caption\":\"c\",\"image\":\"a\",\"language\":\"en\",",
                             "\"shared_words\":", number, "}")),
        "line 2: \"shared_words\" is no whole number from 0"));
  }
  REQUIRE(problem(image + caption + caption) == "line 3: caption 'c' stands in the file twice");
  REQUIRE(problem(caption + image) ==
          "line 1: caption 'c' is of image 'a', which does not stand above it");
  REQUIRE(
      absl::StrContains(problem(image + "{\"caption\":\"c\",\"image\":\"a\"}"), "\"language\""));
  REQUIRE(absl::StrContains(
      problem(image + "{\"caption\":\"c\",\"image\":\"a\",\"language\":\"e\\u001bn\"}"),
      "\"language\" is e\\x1bn, which cannot be printed"));
  REQUIRE(absl::StrContains(problem("{\"image\":7}"), "must be a string"));
  REQUIRE(absl::StrContains(problem("[]"), "line 1"));
}

}  // namespace
}  // namespace sightline
