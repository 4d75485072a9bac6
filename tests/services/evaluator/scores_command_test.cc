// Matrices that `scores` writes, as typed, and the tables that `tables` makes of them.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/dataset/function_words.h"
#include "common/dataset/region_file.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/score_file.h"
#include "services/evaluator/commands.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kPictures = 30;

class Fixture {
 public:
  Fixture() {
    for (const TinyFamily& family : TinyFamilies()) {
      if (family.manifest.family() != "oscar" || !family.manifest.has_embedding()) continue;
      const auto pairs = MadeUpPairs(family, kPictures);
      model = MakeTinyBundle(dir.File("store"), family).id;
      feature_size = family.manifest.transformer().region_feature_size();
      WriteRegions(*pairs);
      return;
    }
    FAIL("no joint oscar");
  }

  int Run(const std::string& command, const std::vector<std::string>& more) {
    out_.str("");
    err_.str("");
    std::vector<std::string> args = {command};
    args.insert(args.end(), more.begin(), more.end());
    return RunEvaluator(args, {out_, err_});
  }
  int Scores(const std::string& by, const std::vector<std::string>& more = {}) {
    return ScoresOf("regions:" + dir.File("made.regions"), by, more);
  }
  int ScoresOf(const std::string& corpus, const std::string& by,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {
        "--store", dir.File("store"),     "--model",   model, "--corpus", corpus, "--by", by,
        "--out",   dir.File(by + ".npy"), "--threads", "2"};
    args.insert(args.end(), more.begin(), more.end());
    return Run("scores", args);
  }
  nlohmann::json Sidecar(const std::string& by) const {
    return nlohmann::json::parse(*ReadFile(dir.File(by + ".npy.json")));
  }
  void RemovePairs() const { std::remove(dir.File("pairs.jsonl").c_str()); }
  MatrixItems Items() const {
    const auto items = ParseMatrixItems(*ReadFile(dir.File("pairs.jsonl")));
    REQUIRE(items.ok());
    return *items;
  }
  // In the order of the matrix's rows.
  std::string Image(int row) const { return images_[row]; }
  // What a picture's caption shares with its text.
  std::string Shared(const std::string& image) const { return shared_.at(image); }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  TempDir dir;
  std::string model;
  int feature_size = 0;  // of a region with its box

 private:
  void WriteRegions(const PairCorpus& pairs) {
    const absl::Status written =
        WriteRegionFile(dir.File("made.regions"), kPictures, Dtype::kFloat32, [&](int64_t place) {
          RegionFileItem item;
          images_.push_back(pairs.item_id(place));
          item.line.id = images_.back();
          // The last one is a distractor.
          if (place + 1 < kPictures) item.line.captions = {{"en", pairs.caption(place)}};
          item.line.ocr_tokens = ShownWords(pairs, place);
          const std::string& caption = pairs.caption(place);
          shared_[item.line.id] = place < kPictures / 3       ? ""
                                  : place < 2 * kPictures / 3 ? caption.substr(0, caption.find(' '))
                                                              : caption;
          item.line.split = place % 3 == 0 ? Split::kHeldOut : Split::kTrain;
          item.regions = pairs.ReadPicture(place)->regions;
          return absl::StatusOr<RegionFileItem>(std::move(item));
        });
    INFO(written.ToString());
    REQUIRE(written.ok());
  }

  // None in the first third of pictures, the caption's first word in the second, all in the third.
  static std::vector<std::string> ShownWords(const PairCorpus& pairs, int64_t place) {
    const std::string& caption = pairs.caption(place);
    if (place < kPictures / 3) return {};
    if (place < 2 * kPictures / 3) {
      return {absl::AsciiStrToUpper(caption.substr(0, caption.find(' '))) + "!", "1999"};
    }
    return {caption, caption};
  }

  std::vector<std::string> images_;
  std::map<std::string, std::string> shared_;
  std::ostringstream out_, err_;
};

// The number behind the last slash of each image's id.
std::vector<int> NumbersOf(const MatrixItems& items) {
  std::vector<int> numbers;
  for (const std::string& image : items.images) {
    int& number = numbers.emplace_back();
    REQUIRE(absl::SimpleAtoi(image.substr(image.rfind('/') + 1), &number));
  }
  return numbers;
}

TEST_CASE_METHOD(Fixture, "a joint model's matrices make the tables of BE, Coop and CE") {
  REQUIRE(Scores("embeddings") == kSuccess);
  REQUIRE(absl::StrContains(out(), "30 pictures, 29 captions\n870 pairs by embeddings"));
  REQUIRE(Sidecar("embeddings")["seconds_per_query"].get<double>() > 0);
  REQUIRE(Scores("pairs") == kSuccess);
  REQUIRE(Sidecar("pairs")["pairs_scored"] == 870);
  REQUIRE(Sidecar("pairs")["score_kind"] == "softmax_match");
  REQUIRE(Sidecar("pairs")["model"] == model);
  REQUIRE(Sidecar("pairs")["seconds_per_query"].get<double>() > 0);
  REQUIRE(!Sidecar("pairs").contains("extrapolated_from"));
  const int status =
      Run("tables", {"--pairs", dir.File("pairs.jsonl"), "--matrix",
                     "be=" + dir.File("embeddings.npy"), "--matrix", "ce=" + dir.File("pairs.npy"),
                     "--policies", "be,be:ce,ce", "--depths", "5", "--resamples", "100"});
  INFO(err());
  REQUIRE(status == kSuccess);
  REQUIRE(absl::StrContains(out(), "be:ce"));
}

TEST_CASE_METHOD(Fixture, "a cross-encoder behind a retrieval scores what the tables then read") {
  REQUIRE(Scores("embeddings") == kSuccess);
  REQUIRE(Scores("pairs", {"--candidates", dir.File("embeddings.npy"), "--depth", "4"}) ==
          kSuccess);
  REQUIRE(Sidecar("pairs")["pairs_scored"].get<int>() < 30 * 8);
  const std::vector<std::string> tables = {"--pairs",     dir.File("pairs.jsonl"),
                                           "--matrix",    "be=" + dir.File("embeddings.npy"),
                                           "--matrix",    "ce=" + dir.File("pairs.npy"),
                                           "--resamples", "100",
                                           "--policies",  "be:ce"};
  std::vector<std::string> as_deep = tables, deeper = tables;
  as_deep.insert(as_deep.end(), {"--depths", "1,4"});
  deeper.insert(deeper.end(), {"--depths", "5"});
  REQUIRE(Run("tables", as_deep) == kSuccess);
  REQUIRE(Run("tables", deeper) == kFailure);
}

TEST_CASE_METHOD(Fixture, "pairs are scored within the pools that the tables then read") {
  std::string lines;
  for (int pool = 0; pool < kPictures / 2; ++pool) {
    absl::StrAppend(&lines, Image(2 * pool), "\t", Image(2 * pool + 1), "\n");
  }
  REQUIRE(WriteFileAtomically(dir.File("pools.tsv"), lines).ok());
  const std::string protocol = "pools:" + dir.File("pools.tsv");
  REQUIRE(Scores("pairs", {"--protocol", protocol}) == kSuccess);
  REQUIRE(Sidecar("pairs")["pairs_scored"] == kPictures * 2 - 2);
  const std::vector<std::string> tables = {"--pairs",     dir.File("pairs.jsonl"),
                                           "--matrix",    "ce=" + dir.File("pairs.npy"),
                                           "--resamples", "100",
                                           "--policies",  "ce"};
  std::vector<std::string> within = tables;
  within.insert(within.end(), {"--protocol", protocol});
  REQUIRE(Run("tables", within) == kSuccess);
  REQUIRE(Run("tables", tables) == kFailure);
  REQUIRE(absl::StrContains(err(), "'ce' is no number"));
}

TEST_CASE_METHOD(Fixture,
                 "folds of a published corpus are its own, not those of its ids as texts") {
  constexpr int kCount = 24, kFold = 12;
  std::vector<float> features(kCount * 2 * feature_size);
  for (size_t i = 0; i < features.size(); ++i) {
    // The last six are a box's: corners, width and height.
    const int at = static_cast<int>(i) % feature_size;
    const float box[] = {0.25f, 0.25f, 0.75f, 0.75f, 0.5f, 0.5f};
    features[i] =
        at < feature_size - 6 ? std::sin(static_cast<float>(i)) : box[at + 6 - feature_size];
  }
  std::string captions, set;
  for (int i = 0; i < kCount; ++i) {
    absl::StrAppend(&captions, "a dog number ", i, "\n");
    // Ids fall while places rise.
    absl::StrAppend(&set, i == 0 ? "" : ",", "{\"filename\": \"", i,
                    ".jpg\", \"cocoid\": ", kCount - 1 - i,
                    ", \"split\": \"test\", \"sentences\": [{\"raw\": \"a dog number ", i,
                    "\", \"sentid\": ", i, "}]}");
  }
  const std::string images = Npy("<f4", {kCount, 2, feature_size}, features);
  REQUIRE(WriteFileAtomically(dir.File("testall_ims.npy"), images).ok());
  REQUIRE(WriteFileAtomically(dir.File("testall_caps.txt"), captions).ok());
  REQUIRE(
      WriteFileAtomically(dir.File("set.json"), absl::StrCat("{\"images\": [", set, "]}")).ok());
  const std::string precomp = "precomp:" + dir.File("testall_ims.npy");
  for (const bool karpathy : {false, true}) {
    const std::string corpus = karpathy
                                   ? absl::StrCat("karpathy:", dir.File("set.json"),
                                                  ",regions=", precomp, ",region_id=testall/{id}")
                                   : precomp;
    INFO(corpus);
    RemovePairs();
    const int status = ScoresOf(corpus, "pairs", {"--protocol", "folds:2"});
    INFO(err());
    REQUIRE(status == kSuccess);
    REQUIRE(!absl::StrContains(err(), "place"));
    const MatrixItems items = Items();
    REQUIRE(items.images[2] == (karpathy ? "10" : "testall/10"));
    const auto file = ScoreFile::Open(dir.File("pairs.npy"), items);
    REQUIRE(file.ok());
    const std::vector<int> numbers = NumbersOf(items);
    const auto fold_of = [&](int image) {
      const int published = karpathy ? kCount - 1 - numbers[image] : numbers[image];
      return published / kFold;
    };
    for (int row = 0; row < kCount; ++row) {
      for (int column = 0; column < kCount; ++column) {
        const bool together = fold_of(row) == fold_of(items.captions[column].image);
        REQUIRE(std::isnan((*file)->matrix().at(row, column)) != together);
      }
    }
    // What is read is what was scored: a NaN would be refused.
    REQUIRE(Run("tables",
                {"--pairs", dir.File("pairs.jsonl"), "--matrix", "ce=" + dir.File("pairs.npy"),
                 "--protocol", "folds:2", "--resamples", "100"}) == kSuccess);
    REQUIRE(!absl::StrContains(err(), "place"));
  }
  // Our own regions have no published order, which is told.
  RemovePairs();
  REQUIRE(Scores("pairs", {"--protocol", "folds:1"}) == kSuccess);
  REQUIRE(absl::StrContains(err(), "folds:1: no \"place\" of images is known"));
}

TEST_CASE_METHOD(Fixture, "families are those of a list") {
  std::string list;
  for (int i = 0; i < 6; ++i) absl::StrAppend(&list, Image(i), "\t", Image(i % 2), "\n");
  REQUIRE(WriteFileAtomically(dir.File("families.tsv"), list).ok());
  REQUIRE(Scores("embeddings", {"--families", dir.File("families.tsv")}) == kSuccess);
  REQUIRE(Items().family_count == kPictures - 4);
  REQUIRE(Items().families[4] == Items().families[0]);
  REQUIRE(Scores("embeddings") == kSuccess);
  REQUIRE(Items().family_count == kPictures);
}

TEST_CASE_METHOD(Fixture, "words that captions share with the text in their pictures are counted") {
  REQUIRE(Scores("embeddings") == kSuccess);
  const MatrixItems items = Items();
  REQUIRE(items.captions[0].shared_words == 0);
  REQUIRE(items.captions.size() == kPictures - 1);
  int counts[3] = {0, 0, 0};
  for (const MatrixCaption& caption : items.captions) {
    INFO(Shared(items.images[caption.image]));
    // Of two words that are one the second is no other.
    std::set<std::string> shared;
    for (const auto word :
         absl::StrSplit(Shared(items.images[caption.image]), ' ', absl::SkipEmpty())) {
      if (!IsFunctionWord(word)) shared.emplace(word);
    }
    REQUIRE(*caption.shared_words == static_cast<int>(shared.size()));
    ++counts[shared.size()];
  }
  for (const int count : counts) REQUIRE(count > 0);
  REQUIRE(Run("tables",
              {"--pairs", dir.File("pairs.jsonl"), "--matrix", "be=" + dir.File("embeddings.npy"),
               "--protocol", "shared_words:0", "--resamples", "100"}) == kSuccess);
  REQUIRE(absl::StartsWith(
      out(), absl::StrCat("shared_words:0: ", counts[0], " captions look for 30 images, ",
                          counts[0], " images for ", kPictures - 1)));
}

TEST_CASE_METHOD(Fixture,
                 "words or regions of pictures can be left out of a model that reads both") {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.has_scene_text()) model = MakeTinyBundle(dir.File("store"), family).id;
  }
  std::vector<std::string> matrices;
  for (const char* without : {"", "--without-words", "--without-regions"}) {
    const int status = Scores("embeddings", *without == 0 ? std::vector<std::string>()
                                                          : std::vector<std::string>{without});
    INFO(err());
    REQUIRE(status == kSuccess);
    REQUIRE(Sidecar("embeddings")["words"] == (std::string(without) != "--without-words"));
    REQUIRE(Sidecar("embeddings")["regions"] == (std::string(without) != "--without-regions"));
    for (const std::string& before : matrices) {
      REQUIRE(*ReadFile(dir.File("embeddings.npy")) != before);
    }
    matrices.push_back(*ReadFile(dir.File("embeddings.npy")));
    // They are counted, shown or not.
    REQUIRE(Items().captions[kPictures - 2].shared_words > 0);
  }
}

TEST_CASE_METHOD(Fixture, "a split, a time alone and one item at a time are what is asked for") {
  REQUIRE(Scores("pairs", {"--split", "held_out", "--deterministic"}) == kSuccess);
  REQUIRE(absl::StrContains(out(), "10 pictures, 10 captions"));
  REQUIRE(std::remove(dir.File("pairs.npy").c_str()) == 0);
  REQUIRE(Scores("pairs", {"--time-only", "--time-queries", "2"}) == kSuccess);
  REQUIRE(!FileExists(dir.File("pairs.npy")));
  REQUIRE(!Sidecar("pairs").contains("pairs_scored"));
  REQUIRE(Sidecar("pairs")["seconds_per_query"].get<double>() > 0);
  REQUIRE(absl::StrContains(out(), "one caption alone: "));
  const nlohmann::json spread = Sidecar("pairs")["query_seconds"];
  REQUIRE(spread["min"].get<double>() <= spread["mean"].get<double>());
  REQUIRE(spread["mean"].get<double>() <= spread["max"].get<double>());
  REQUIRE(spread["p99_99"] == spread["max"]);
  REQUIRE(Scores("pairs", {"--time-only", "--timed-pairs", "7"}) == kSuccess);
  REQUIRE(Sidecar("pairs")["extrapolated_from"] == 7);
  REQUIRE(absl::StrContains(out(), "extrapolated from 7 of 30 pairs"));
}

TEST_CASE_METHOD(Fixture, "the folder of what is written is made") {
  const std::string corpus = "regions:" + dir.File("made.regions");
  REQUIRE(Run("scores", {"--store", dir.File("store"), "--model", model, "--corpus", corpus, "--by",
                         "embeddings", "--out", dir.File("new/of/be.npy"), "--time-queries",
                         "0"}) == kSuccess);
  REQUIRE(FileExists(dir.File("new/of/pairs.jsonl")));
}

TEST_CASE_METHOD(Fixture, "scores without times make tables without times") {
  REQUIRE(Scores("embeddings", {"--time-queries", "0"}) == kSuccess);
  REQUIRE(!Sidecar("embeddings").contains("seconds_per_query"));
  const int status = Run("tables", {"--pairs", dir.File("pairs.jsonl"), "--matrix",
                                    "be=" + dir.File("embeddings.npy"), "--resamples", "100"});
  INFO(err());
  REQUIRE(status == kSuccess);
}

TEST_CASE_METHOD(Fixture, "a matrix that is there is not scored again, and one of another job is") {
  REQUIRE(Scores("pairs", {"--time-queries", "0"}) == kSuccess);
  // The same to its digest, but for a number that no scoring gives.
  nlohmann::json told = Sidecar("pairs");
  told["scoring_seconds"] = 12345.5;
  REQUIRE(WriteFileAtomically(dir.File("pairs.npy.json"), told.dump()).ok());
  REQUIRE(Scores("pairs", {"--time-queries", "2"}) == kSuccess);
  REQUIRE(Sidecar("pairs")["scoring_seconds"] == 12345.5);
  REQUIRE(Sidecar("pairs")["seconds_per_query"].get<double>() > 0);
  REQUIRE(absl::StrContains(out(), "scoring 12345.5 s"));
  REQUIRE(Scores("pairs", {"--time-only", "--time-queries", "2"}) == kSuccess);
  REQUIRE(Sidecar("pairs")["scoring_seconds"] == 12345.5);

  REQUIRE(Scores("pairs", {"--time-only", "--deterministic"}) == kFailure);
  REQUIRE(absl::StrContains(err(), "pairs.npy.json tells of a matrix that is there"));
  REQUIRE(Sidecar("pairs")["scoring_seconds"] == 12345.5);
  REQUIRE(Scores("pairs", {"--deterministic", "--time-queries", "0"}) == kSuccess);
  REQUIRE(Sidecar("pairs")["scoring_seconds"] != 12345.5);
  REQUIRE(Sidecar("pairs")["job"] != told["job"]);

  // Half a sidecar tells nothing.
  REQUIRE(WriteFileAtomically(dir.File("pairs.npy.json"), "{\"job\"").ok());
  REQUIRE(Scores("pairs", {"--deterministic", "--time-queries", "0"}) == kSuccess);
  REQUIRE(Sidecar("pairs")["pairs_scored"] == 870);
}

TEST_CASE_METHOD(Fixture, "pairs of other pictures are kept for the matrices that they are of") {
  REQUIRE(Scores("embeddings") == kSuccess);
  const std::string before = *ReadFile(dir.File("pairs.jsonl"));
  REQUIRE(Scores("pairs", {"--split", "held_out"}) == kFailure);
  REQUIRE(absl::StrContains(err(), "pairs.jsonl is there and is not of these pictures"));
  REQUIRE(*ReadFile(dir.File("pairs.jsonl")) == before);
  REQUIRE(!FileExists(dir.File("pairs.npy")));
  REQUIRE(Scores("pairs", {"--split", "held_out", "--pairs", dir.File("held_out.jsonl")}) ==
          kSuccess);
  REQUIRE(Run("tables", {"--pairs", dir.File("held_out.jsonl"), "--matrix",
                         "ce=" + dir.File("pairs.npy"), "--resamples", "100"}) == kSuccess);
}

TEST_CASE_METHOD(Fixture,
                 "a model that takes regions with their boxes' numbers and without is told of") {
  REQUIRE(Scores("embeddings") == kSuccess);
  REQUIRE(absl::StrContains(err(), absl::StrCat(feature_size - 6,
                                                " numbers a region, the box's 6 "
                                                "put behind them")));
}

TEST_CASE_METHOD(Fixture, "languages that no caption has are told") {
  REQUIRE(Scores("embeddings", {"--languages", "en,dde"}) == kSuccess);
  REQUIRE(absl::StrContains(err(), "no caption is in the language 'dde'\n"));
}

TEST_CASE_METHOD(Fixture, "what cannot be is refused with what is wrong") {
  const auto refused = [this](const std::string& by, const std::vector<std::string>& more,
                              const std::string& why) {
    const int status = Scores(by, more);
    INFO(err());
    REQUIRE(status != kSuccess);
    REQUIRE(absl::StrContains(err(), why));
    REQUIRE(out().empty());
  };
  refused("both", {}, "--by: 'both' is not embeddings");
  refused("embeddings", {"--candidates", "x.npy"}, "--candidates is for --by pairs");
  refused("pairs", {"--depth", "5"}, "--depth is for --candidates");
  refused("embeddings", {"--timed-pairs", "5"}, "--timed-pairs is for --by pairs");
  refused("pairs", {"--split", "test"}, "--split: ");
  refused("pairs", {"--protocol", "coco"}, "--protocol: ");
  refused("embeddings", {"--protocol", "folds:2"}, "--protocol is for --by pairs");
  refused("pairs", {"--languages-apart"}, "--languages-apart is for --candidates");
  refused("pairs", {"--protocol", "coco_5k"}, "coco_5k is about 5000 images");
  refused("pairs", {"--candidates", dir.File("none.npy")}, "none.npy");
  refused("pairs", {"--time-only", "--time-queries", "0"}, "leave nothing to do");
  refused("pairs", {"--without-regions", "--without-words"}, "leave nothing of a picture");
  refused("pairs", {"--without-words"}, "--without-words is for models that read words");
  refused("pairs", {"--timed-pairs", "0"}, "--timed-pairs");
  refused("pairs", {"--families", dir.File("none.tsv")}, "none.tsv");
  refused("pairs", {"--precision", "fp8"}, "'fp8' is not float32");
  refused("pairs", {"--languages", "fr"}, "caption");
  refused("pairs", {"extra"}, "'extra' is no flag");
}

}  // namespace
}  // namespace sightline
