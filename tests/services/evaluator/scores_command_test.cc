// Matrices that `scores` writes, as typed, and the tables that `tables` makes of them.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/dataset/region_file.h"
#include "services/evaluator/commands.h"
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
    std::vector<std::string> args = {"--store",   dir.File("store"),
                                     "--model",   model,
                                     "--corpus",  "regions:" + dir.File("made.regions"),
                                     "--by",      by,
                                     "--out",     dir.File(by + ".npy"),
                                     "--threads", "2"};
    args.insert(args.end(), more.begin(), more.end());
    return Run("scores", args);
  }
  nlohmann::json Sidecar(const std::string& by) const {
    return nlohmann::json::parse(*ReadFile(dir.File(by + ".npy.json")));
  }
  // In the order of the matrix's rows.
  std::string Image(int row) const { return images_[row]; }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  TempDir dir;
  std::string model;

 private:
  void WriteRegions(const PairCorpus& pairs) {
    const absl::Status written =
        WriteRegionFile(dir.File("made.regions"), kPictures, Dtype::kFloat32, [&](int64_t place) {
          RegionFileItem item;
          images_.push_back(pairs.item_id(place));
          item.line.id = images_.back();
          // The last one is a distractor.
          if (place + 1 < kPictures) item.line.captions = {{"en", pairs.caption(place)}};
          item.line.split = place % 3 == 0 ? Split::kHeldOut : Split::kTrain;
          item.regions = pairs.ReadPicture(place)->regions;
          return absl::StatusOr<RegionFileItem>(std::move(item));
        });
    INFO(written.ToString());
    REQUIRE(written.ok());
  }

  std::vector<std::string> images_;
  std::ostringstream out_, err_;
};

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

TEST_CASE_METHOD(Fixture, "a split, a time alone and one item at a time are what is asked for") {
  REQUIRE(Scores("pairs", {"--split", "held_out", "--deterministic"}) == kSuccess);
  REQUIRE(absl::StrContains(out(), "10 pictures, 10 captions"));
  REQUIRE(std::remove(dir.File("pairs.npy").c_str()) == 0);
  REQUIRE(Scores("pairs", {"--time-only", "--time-queries", "2"}) == kSuccess);
  REQUIRE(!FileExists(dir.File("pairs.npy")));
  REQUIRE(!Sidecar("pairs").contains("pairs_scored"));
  REQUIRE(Sidecar("pairs")["seconds_per_query"].get<double>() > 0);
  REQUIRE(absl::StrContains(out(), "one caption alone: "));
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
  refused("pairs", {"--split", "test"}, "--split: ");
  refused("pairs", {"--protocol", "coco"}, "--protocol: ");
  refused("embeddings", {"--protocol", "folds:2"}, "--protocol is for --by pairs");
  refused("pairs", {"--languages-apart"}, "--languages-apart is for --candidates");
  refused("pairs", {"--protocol", "coco_5k"}, "coco_5k is about 5000 images");
  refused("pairs", {"--candidates", dir.File("none.npy")}, "none.npy");
  refused("pairs", {"--time-only", "--time-queries", "0"}, "leave nothing to do");
  refused("pairs", {"--precision", "fp8"}, "'fp8' is not float32");
  refused("pairs", {"--languages", "fr"}, "caption");
  refused("pairs", {"extra"}, "'extra' is no flag");
}

}  // namespace
}  // namespace sightline
