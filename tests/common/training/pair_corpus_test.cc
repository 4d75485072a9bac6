#include "common/training/pair_corpus.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/dataset/npz_reader.h"
#include "common/dataset/region_file.h"
#include "common/dataset/region_file_reader.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

RegionSet OneRegion(float value) {
  RegionSet regions;
  regions.count = 1;
  regions.feature_size = 2;
  regions.features = {value, value};
  return regions;
}

std::vector<std::unique_ptr<CorpusReader>> Just(std::unique_ptr<CorpusReader> corpus) {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  return corpora;
}

std::unique_ptr<MadeUpCorpus> Some() {
  auto corpus = std::make_unique<MadeUpCorpus>(2);
  CorpusItem spoken = MadeUpItem("c", {"a bird", "the bird in a tree"});
  spoken.captions.insert(spoken.captions.begin(), {"de", "ein Vogel"});
  spoken.tags = {"bird"};
  spoken.ocr_tokens = {"STOP"};
  corpus->Add(spoken, OneRegion(3));
  corpus->Add(MadeUpItem("a", {"A red fish.", "a fish"}), OneRegion(1));
  corpus->Add(MadeUpItem("b", {}), OneRegion(2));
  corpus->Add(MadeUpItem("d", {"a  Red fish!"}), {});
  return corpus;
}

std::string Refusal(std::vector<std::unique_ptr<CorpusReader>> corpora,
                    const PairCorpusOptions& options = {}) {
  const auto opened = PairCorpus::Open(std::move(corpora), options);
  REQUIRE(opened.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(opened.status().message());
}

TEST_CASE("pictures without captions are kept for those who look for them among others") {
  PairCorpusOptions options;
  options.keeps_captionless = true;
  const auto pairs = *PairCorpus::Open(Just(Some()), options);
  REQUIRE(pairs->picture_count() == 4);
  REQUIRE(pairs->item_id(1) == "b");
  REQUIRE(pairs->caption_count(1) == 0);
  REQUIRE(pairs->first_caption(1) == 2);
  REQUIRE(pairs->item_id(pairs->picture_of(2)) == "c");
  REQUIRE(pairs->caption_count() == 5);
  REQUIRE(pairs->ReadPicture(1)->regions.features == std::vector<float>{2, 2});
  options.languages = {"fr"};
  REQUIRE(
      Refusal(Just(Some()), options) ==
      "no picture has a caption that is taken: of 4 pictures 4 are of the splits that are asked "
      "for, and the languages of captions that are taken are fr");
  options.wanted = [](const CorpusItem& item) { return item.item_id == "b"; };
  REQUIRE(Refusal(Just(Some()), options).find("of 4 pictures 1 are of the splits") !=
          std::string::npos);
}

TEST_CASE("regions of one of the kinds that a model takes are told of") {
  const auto pairs = *PairCorpus::Open(Just(Some()), {});
  REQUIRE(pairs->NoteOfWidth({2}).empty());
  REQUIRE(pairs->NoteOfWidth({2, 8}) == "2 numbers a region, the box's 6 put behind them");
  REQUIRE(pairs->NoteOfWidth({-4, 2}) == "2 numbers a region, the box's 6 taken to be among them");
}

TEST_CASE("pictures come by their ids, with their captions in the wanted languages") {
  const auto pairs = *PairCorpus::Open(Just(Some()), {});
  REQUIRE(pairs->picture_count() == 3);
  REQUIRE(pairs->caption_count() == 5);
  REQUIRE(pairs->item_id(0) == "a");
  REQUIRE(pairs->item_id(1) == "c");
  REQUIRE(pairs->first_caption(1) == 2);
  REQUIRE(pairs->caption_count(1) == 2);
  REQUIRE(pairs->caption(2) == "a bird");
  REQUIRE(pairs->picture_of(3) == 1);

  PairCorpusOptions options;
  options.languages = {"de"};
  const auto german = *PairCorpus::Open(Just(Some()), options);
  REQUIRE(german->picture_count() == 1);
  REQUIRE(german->caption(0) == "ein Vogel");
}

TEST_CASE("what is left out, less than it should be, or in no caption is noted") {
  REQUIRE((*PairCorpus::Open(Just(Some()), {}))->Notes().empty());
  auto corpus = Some();
  corpus->Reject({"x", "x.npz", "x.npz is not there"});
  corpus->Reject({"", "y.npz", "y.npz is too long"});
  corpus->Warn({"a", "a.npz", "an empty caption was left out"});
  PairCorpusOptions options;
  options.languages = {"en", "dde"};
  const auto pairs = *PairCorpus::Open(Just(std::move(corpus)), options);
  REQUIRE(pairs->picture_count() == 3);
  REQUIRE(pairs->Notes() ==
          std::vector<std::string>{
              "2 items of a corpus were left out; the first: x: x.npz is not there",
              "1 items of a corpus have less than they should; the first: a: an empty caption was "
              "left out",
              "no caption is in the language 'dde'"});
}

TEST_CASE("captions in which there is nothing to see are left out, and so are refused ones") {
  const auto open = [](const PairCorpusOptions& options) {
    auto corpus = std::make_unique<MadeUpCorpus>(2);
    corpus->Add(MadeUpItem("a", {" \t", "a fish", "\u00a0\u200b"}), OneRegion(1));
    corpus->Add(MadeUpItem("b", {"\n"}), OneRegion(2));
    corpus->Add(MadeUpItem("c", {"a very red fish", "?", "\u00e9", "\U0001f41f"}), OneRegion(3));
    return *PairCorpus::Open(Just(std::move(corpus)), options);
  };
  const auto pairs = open({});
  REQUIRE(pairs->picture_count() == 2);
  REQUIRE(pairs->caption_count(0) == 1);
  REQUIRE(pairs->caption_count(1) == 4);
  REQUIRE(pairs->Notes() == std::vector<std::string>{"captions without a visible character were "
                                                     "left out, 3 of them; the first is of a"});
  PairCorpusOptions options;
  options.refuses = [](const std::string& caption) { return caption.size() > 6; };
  options.refused = "long captions";
  options.captions_per_picture = 2;
  const auto some = open(options);
  // What is left out takes nobody's place.
  REQUIRE(some->caption_count(1) == 2);
  REQUIRE(some->caption(1) == "?");
  options.refuses = [](const std::string&) { return true; };
  auto none = std::make_unique<MadeUpCorpus>(2);
  none->Add(MadeUpItem("a", {"a fish"}), OneRegion(1));
  REQUIRE(absl::StrContains(Refusal(Just(std::move(none)), options),
                            "; long captions were left out, 1 of them; the first is of a"));
  REQUIRE(some->Notes().back() == "long captions were left out, 1 of them; the first is of c");
}

TEST_CASE("as many captions of a picture as are wanted are taken, of the pictures that are") {
  PairCorpusOptions options;
  options.captions_per_picture = 1;
  options.wanted = [](const CorpusItem& item) { return item.item_id != "d"; };
  const auto pairs = *PairCorpus::Open(Just(Some()), options);
  REQUIRE(pairs->picture_count() == 2);
  REQUIRE(pairs->caption_count() == 2);
  REQUIRE(pairs->caption(0) == "A red fish.");
  options.languages = {"en", "de"};
  const auto both = *PairCorpus::Open(Just(Some()), options);
  REQUIRE(both->caption_count(1) == 2);
  REQUIRE(both->caption(1) == "ein Vogel");
  REQUIRE(both->caption(2) == "a bird");
}

TEST_CASE("a caption may be right for its picture, and for one that has the same words") {
  const auto pairs = *PairCorpus::Open(Just(Some()), {});
  REQUIRE(pairs->MayBeRight(0, 0));
  REQUIRE(pairs->MayBeRight(0, 2));
  REQUIRE_FALSE(pairs->MayBeRight(1, 2));
  REQUIRE_FALSE(pairs->MayBeRight(0, 1));
  REQUIRE(pairs->MayBeRight(4, 0));
}

TEST_CASE("a picture is read with its regions, tags and words") {
  const auto pairs = *PairCorpus::Open(Just(Some()), {});
  const auto image = pairs->ReadPicture(1);
  REQUIRE(image.ok());
  REQUIRE(image->regions.features[0] == 3);
  REQUIRE(image->tags == std::vector<std::string>{"bird"});
  REQUIRE(image->ocr_tokens == std::vector<std::string>{"STOP"});
  const absl::Status none = pairs->ReadPicture(2).status();
  REQUIRE(none.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StartsWith(none.message(), "d: "));
}

TEST_CASE("where something may be right for everything, nothing can be told apart") {
  const auto open = [](const std::vector<std::vector<std::string>>& captions) {
    auto corpus = std::make_unique<MadeUpCorpus>(2);
    for (size_t i = 0; i < captions.size(); ++i) {
      corpus->Add(MadeUpItem(std::to_string(i), captions[i]));
    }
    return *PairCorpus::Open(Just(std::move(corpus)), {});
  };
  REQUIRE(
      open({{"a fish", "a red fish"}, {"a bird", "a red fish"}, {"a tree"}})->CheckTellable().ok());
  const absl::Status of_all = open({{"a fish"}, {"A fish", "a bird"}})->CheckTellable();
  REQUIRE(of_all.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(of_all.message(), "\"a fish\" may be right for all 2 pictures"));
  const absl::Status of_picture =
      open({{"a fish", "a bird"}, {"a bird"}, {"a fish"}})->CheckTellable();
  REQUIRE(absl::StrContains(of_picture.message(), "all captions may be right for 0"));
}

TEST_CASE("a corpus in which nothing is wrong for anything is told from one in which little is") {
  const auto check = [](const std::vector<std::vector<std::string>>& captions) {
    auto corpus = std::make_unique<MadeUpCorpus>(2);
    for (size_t i = 0; i < captions.size(); ++i) {
      corpus->Add(MadeUpItem(std::to_string(i), captions[i]));
    }
    return (*PairCorpus::Open(Just(std::move(corpus)), {}))->CheckAnyWrong(/*corpus=*/0);
  };
  REQUIRE(check({{"a fish"}, {"a bird"}}).ok());
  REQUIRE(check({{"a fish"}, {"a fish", "a bird"}}).ok());
  REQUIRE(check({{"a fish", "a bird"}, {"a fish"}}).ok());
  REQUIRE(absl::StrContains(check({{"a fish"}, {"A fish!", "a fish"}}).message(),
                            "all are said of 0, \"a fish\" among them"));
  REQUIRE_FALSE(check({{"a fish", "a bird"}}).ok());
  REQUIRE_FALSE(check({{"a fish", "a bird"}, {"a bird", "A fish", "a bird."}}).ok());
  REQUIRE(check({{"a fish", "a bird"}, {"a bird", "a fish"}, {"a fish", "a tree"}}).ok());
}

TEST_CASE("whether anything is wrong is asked of one corpus or of all") {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  for (const std::string id : {"a", "b"}) {
    auto corpus = std::make_unique<MadeUpCorpus>(2);
    corpus->Add(MadeUpItem(id + "1", {"a fish"}));
    corpus->Add(MadeUpItem(id + "2", {id == "a" ? "a fish" : "a bird"}));
    corpora.push_back(std::move(corpus));
  }
  const auto pairs = *PairCorpus::Open(std::move(corpora), {});
  REQUIRE(pairs->CheckAnyWrong(0).ok());
  REQUIRE(pairs->CheckAnyWrong(2).ok());
  REQUIRE(absl::StrContains(pairs->CheckAnyWrong(1).message(), "of corpus 1, so there is nothing"));
}

TEST_CASE("a digest is of ids and captions") {
  const auto digest = [](const std::string& id, const std::vector<std::string>& captions) {
    auto corpus = std::make_unique<MadeUpCorpus>(2);
    corpus->Add(MadeUpItem(id, captions));
    return (*PairCorpus::Open(Just(std::move(corpus)), {}))->Digest();
  };
  REQUIRE(digest("a", {"b", "c"}) == digest("a", {"b", "c"}));
  REQUIRE(digest("a", {"b", "c"}) != digest("a", {"c", "b"}));
  REQUIRE(digest("a", {"b", "c"}) != digest("a", {"b c"}));
  REQUIRE(digest("a", {"b"}) != digest("b", {"b"}));
}

// Of pictures in files of their own, or whose source keeps a checksum.
class SourceCorpus : public MadeUpCorpus {
 public:
  using MadeUpCorpus::MadeUpCorpus;
  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t most) const override {
    ++read;
    return MadeUpCorpus::ReadRegions(item, most);
  }
  std::string RegionsDigest() const override { return sum; }

  std::string sum;
  mutable int read = 0;
};

RegionSet BoxedRegion() {
  RegionSet regions = OneRegion(1);
  regions.boxes = {0, 0, 0.5f, 0.5f};
  regions.box_sizes = {0.5f, 0.5f};
  regions.confidences = {0.75f};
  return regions;
}

TEST_CASE("a digest is of regions, boxes, soft labels and languages") {
  const auto digest = [](const RegionSet& regions, std::vector<float> labels,
                         const std::string& language) {
    auto corpus = std::make_unique<MadeUpCorpus>(2, 2);
    CorpusItem item = MadeUpItem("a", {"b"});
    item.captions[0].language = language;
    corpus->Add(item, regions, std::move(labels));
    PairCorpusOptions options;
    options.languages = {};
    return (*PairCorpus::Open(Just(std::move(corpus)), options))->Digest();
  };
  const std::vector<float> labels = {0.5f, 0.5f};
  const std::string one = digest(BoxedRegion(), labels, "en");
  REQUIRE(digest(BoxedRegion(), labels, "en") == one);
  REQUIRE(digest(BoxedRegion(), labels, "de") != one);
  REQUIRE(digest(BoxedRegion(), {0.25f, 0.75f}, "en") != one);
  // None at all, which whoever learns from it is told of.
  REQUIRE(digest({}, labels, "en") != one);
  std::vector<RegionSet> others(5, BoxedRegion());
  others[0].features[1] = 2;
  others[1].boxes[3] = 0.25f;
  others[2].box_sizes[0] = 0.25f;
  others[3].confidences[0] = 0.5f;
  others[4].confidences.clear();
  for (size_t i = 0; i < others.size(); ++i) {
    INFO(i);
    REQUIRE(digest(others[i], labels, "en") != one);
  }
}

TEST_CASE("a digest takes a source's own checksum, and else reads a hundred pictures at most") {
  const auto open = [](const std::string& sum, float last) {
    auto corpus = std::make_unique<SourceCorpus>(2);
    corpus->sum = sum;
    for (int i = 0; i < 1000; ++i) {
      corpus->Add(MadeUpItem(std::to_string(1000 + i), {"a"}), OneRegion(i == 999 ? last : 1));
    }
    const SourceCorpus& source = *corpus;
    const auto pairs = *PairCorpus::Open(Just(std::move(corpus)), {});
    return std::make_pair(pairs->Digest(), source.read);
  };
  REQUIRE(open("", 1).second == 100);
  REQUIRE(open("x", 1).second == 0);
  REQUIRE(open("x", 1).first != open("y", 1).first);
  REQUIRE(open("x", 1).first != open("", 1).first);
  // As the header says: one among many that was replaced may go unseen.
  REQUIRE(open("", 1).first == open("", 2).first);
}

TEST_CASE("a digest knows the sizes of files that hold one picture each") {
  Tree tree;
  tree.Put("captions.jsonl", R"({"path": "1000.npz", "captions": ["a"]})");
  // The last one is not read.
  for (int i = 0; i <= 100; ++i) tree.Put(absl::StrCat(1000 + i, ".npz"), SomeNpz(1, 4));
  const auto digest = [&](int regions_of_last) {
    tree.Put("1100.npz", SomeNpz(regions_of_last, 4));
    FolderOptions folder;
    folder.root = tree.root();
    PairCorpusOptions options;
    options.keeps_captionless = true;
    return (*PairCorpus::Open(Just(*NewNpzReader(folder)), options))->Digest();
  };
  const std::string one = digest(1);
  REQUIRE(digest(2) != one);
  REQUIRE(digest(1) == one);
}

TEST_CASE("a digest of a region file is of all that it holds, wherever it lies") {
  Tree tree;
  const auto digest = [&](const std::string& name, const std::vector<RegionFileItem>& items) {
    const std::string path = tree.Path(name);
    const auto count = static_cast<int64_t>(items.size());
    REQUIRE(
        WriteRegionFile(path, count, Dtype::kFloat32, [&](int64_t i) { return items[i]; }).ok());
    RegionFileOptions options;
    options.root = path;
    return (*PairCorpus::Open(Just(*NewRegionFileReader(options)), {}))->Digest();
  };
  std::vector<RegionFileItem> items = SomeRegionItems(200, 2);
  const std::string first = digest("a.regions", items);
  REQUIRE(digest("b.regions", items) == first);
  items[151].regions.features[7] += 0.5f;
  REQUIRE(digest("a.regions", items) != first);
}

TEST_CASE("what cannot be learnt from is refused, and says why") {
  REQUIRE(absl::StrContains(Refusal(Just(std::make_unique<MadeUpCorpus>(0))), "import-regions"));
  REQUIRE(absl::StrContains(Refusal(Just(std::make_unique<MadeUpCorpus>(2))), "no picture"));
  PairCorpusOptions options;
  options.languages = {"fr"};
  REQUIRE(absl::StrContains(Refusal(Just(Some()), options), "languages"));
  auto twice = Just(Some());
  twice.push_back(Some());
  const std::string of_twins = Refusal(std::move(twice));
  REQUIRE(absl::StrContains(of_twins, "two corpora have a picture a"));
  auto widths = Just(Some());
  widths.push_back(std::make_unique<MadeUpCorpus>(3));
  const std::string of_widths = Refusal(std::move(widths));
  REQUIRE(absl::StrContains(of_widths, "regions of 2 numbers, another of 3"));
}

TEST_CASE("soft labels are given where those corpora that have them have as many classes") {
  const auto labelled = [](const std::string& id, int classes) {
    auto corpus = std::make_unique<MadeUpCorpus>(2, classes);
    corpus->Add(MadeUpItem(id, {"a fish"}), OneRegion(1), std::vector<float>(classes, 0.5f));
    return corpus;
  };
  const auto open = [&](int classes, int others_classes) {
    std::vector<std::unique_ptr<CorpusReader>> corpora;
    corpora.push_back(labelled("a", classes));
    corpora.push_back(labelled("b", others_classes));
    return *PairCorpus::Open(std::move(corpora), {});
  };
  const auto both = open(2, 2);
  REQUIRE(both->soft_label_count() == 2);
  REQUIRE(*both->ReadSoftLabels(1) == std::vector<float>{0.5f, 0.5f});
  REQUIRE(open(2, 0)->soft_label_count() == 2);
  const auto second = open(0, 2);
  REQUIRE(second->soft_label_count() == 2);
  REQUIRE(!second->HasSoftLabels(0));
  REQUIRE(second->HasSoftLabels(1));
  REQUIRE(open(0, 0)->soft_label_count() == 0);
  REQUIRE(open(2, 3)->soft_label_count() == 0);
}

}  // namespace
}  // namespace sightline
