#include "common/dataset/vocabulary_texts.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "common/dataset/folder_reader.h"
#include "common/dataset/splits.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"
#include "tests/support/gzip.h"

namespace sightline {
namespace {

// Counts texts, and refuses one.
class TextCounter : public VocabularyMaker {
 public:
  absl::Status Add(absl::string_view text) override {
    if (text == "bad") return absl::InvalidArgumentError("it is bad");
    ++texts[std::string(text)];
    return absl::OkStatus();
  }
  absl::Status AddAlphabet(absl::string_view) override { return absl::OkStatus(); }
  int64_t word_count() const override { return 0; }
  absl::StatusOr<MadeVocabulary> Make() const override { return MadeVocabulary(); }

  std::map<std::string, int> texts;
};

// What the source says of the split of every picture but each third one.
std::string SaidOf(int picture) {
  return picture % 3 == 0 ? "" : picture % 3 == 1 ? "train" : "held_out";
}

// Pictures with two captions each.
std::unique_ptr<CorpusReader> SomePictures(Tree* tree, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    tree->Put(absl::StrCat("p", i), "x");
    absl::StrAppend(&lines, R"({"path": "p)", i, R"(", "captions": ["one )", i, R"(", "two"])",
                    SaidOf(i).empty() ? "" : absl::StrCat(R"(, "split": ")", SaidOf(i), "\""),
                    "}\n");
  }
  tree->Put("captions.jsonl", lines);
  FolderOptions options;
  options.root = tree->root();
  return NewFolderReader(options);
}

TEST_CASE("captions are counted, without those that are held out if so asked") {
  constexpr int kPictures = 60;
  Tree tree;
  const auto corpus = SomePictures(&tree, kPictures);
  TextCounter all;
  const CallContext call = CallContext::Unbounded();
  const auto counted = AddCaptions(*corpus, /*leave_out_held_out=*/false, call, &all);
  REQUIRE(counted.ok());
  REQUIRE(counted->captions == 2 * kPictures);
  REQUIRE(counted->held_out_items == 0);
  REQUIRE(all.texts["two"] == kPictures);

  TextCounter some;
  const auto learnt = AddCaptions(*corpus, /*leave_out_held_out=*/true, call, &some);
  int held_out = 0, by_id = 0;
  for (int i = 0; i < kPictures; ++i) {
    const std::string said = SaidOf(i);
    const bool out =
        said.empty() ? SplitOfItem(absl::StrCat("p", i)) == Split::kHeldOut : said == "held_out";
    by_id += out && said.empty();
    held_out += out;
    REQUIRE(some.texts.count(absl::StrCat("one ", i)) == (out ? 0 : 1));
  }
  REQUIRE(by_id > 0);
  REQUIRE(learnt->held_out_items == held_out);
  REQUIRE(learnt->captions == 2 * (kPictures - held_out));
}

TEST_CASE("a source that fails, a caption that is refused and a call that is over end it") {
  TextCounter maker;
  FolderOptions nowhere;
  nowhere.root = "/nowhere";
  REQUIRE(absl::IsNotFound(
      AddCaptions(*NewFolderReader(nowhere), false, CallContext::Unbounded(), &maker).status()));
  Tree tree;
  tree.Put("p", "x");
  tree.Put("captions.jsonl", R"({"path": "p", "captions": ["bad"]})");
  FolderOptions options;
  options.root = tree.root();
  const auto corpus = NewFolderReader(options);
  REQUIRE_THAT(
      std::string(AddCaptions(*corpus, false, CallContext::Unbounded(), &maker).status().message()),
      Catch::Contains("p: it is bad"));
  const CallContext over(Clock::Real(), absl::InfinitePast());
  REQUIRE(absl::IsDeadlineExceeded(AddCaptions(*corpus, false, over, &maker).status()));
}

TEST_CASE("each line of a file is a text, packed or not; a bad one is named") {
  Tree tree;
  tree.Put("a.txt", "a fish\r\na bird\n");
  tree.Put("b.gz", Gzip("a fish\n"));
  tree.Put("c.txt", "fine\nbad\n");
  TextCounter maker;
  REQUIRE(*AddLines(tree.Path("a.txt"), &maker) == 2);
  REQUIRE(*AddLines(tree.Path("b.gz"), &maker) == 1);
  REQUIRE(maker.texts == std::map<std::string, int>{{"a fish", 2}, {"a bird", 1}});
  const absl::Status bad = AddLines(tree.Path("c.txt"), &maker).status();
  REQUIRE(absl::IsInvalidArgument(bad));
  REQUIRE_THAT(std::string(bad.message()), Catch::Contains("c.txt:2: it is bad"));
  REQUIRE(absl::IsNotFound(AddLines(tree.Path("none"), &maker).status()));
}

}  // namespace
}  // namespace sightline
