// Tables of lists are those of the scores that made them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/evaluation/list_file.h"
#include "common/evaluation/matrix_items.h"
#include "services/evaluator/commands.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kImages = 12;
constexpr int kCaptionsOfOne = 3;
constexpr int kCaptions = kImages * kCaptionsOfOne;
constexpr int kDepth = 4;

struct Scores {
  std::vector<float> be, ce;  // a row for each image
};

Scores RandomScores() {
  std::mt19937 random(1);
  Scores scores;
  for (std::vector<float>* const one : {&scores.be, &scores.ce}) {
    one->resize(kImages * kCaptions);
    for (int i = 0; i < kImages * kCaptions; ++i) {
      const bool own = i % kCaptions / kCaptionsOfOne == i / kCaptions;
      (*one)[i] = static_cast<float>(random() % 10'000) / 20'000 + (own ? 0.15f : 0);
    }
  }
  return scores;
}

// Candidates, the best first; the first `depth` of them by the other scores.
std::vector<int> Ranked(const std::vector<float>& be, const std::vector<float>& ce, int depth) {
  std::vector<int> order(be.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return be[a] > be[b]; });
  std::stable_sort(order.begin(), order.begin() + depth,
                   [&](int a, int b) { return ce[a] > ce[b]; });
  return order;
}

class Files {
 public:
  Files() {
    MatrixItems items;
    for (int i = 0; i < kImages; ++i) {
      items.images.push_back(absl::StrCat("i", i));
      items.families.push_back(i / 2);
    }
    items.family_count = kImages / 2;
    for (int c = 0; c < kCaptions; ++c) {
      items.captions.push_back({absl::StrCat("c", c), c / kCaptionsOfOne, "en"});
    }
    Put("pairs", FormatMatrixItems(items));
    std::string families;
    for (int i = 0; i < kImages; ++i) absl::StrAppend(&families, "i", i, "\tf", i / 2, "\n");
    Put("families", families);
    Put("be.npy", Npy("<f4", {kImages, kCaptions}, scores_.be));
    Put("ce.npy", Npy("<f4", {kImages, kCaptions}, scores_.ce));
  }

  void Put(const std::string& name, const std::string& content) const {
    REQUIRE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }

  // What a fleet that holds images `begin` to `end` answers, in lists of so many.
  ListFile Lists(int begin, int end, int length) const {
    ListFile file;
    file.live = true;
    file.images = "images/g";
    file.captions = "captions/g";
    file.image_count = end - begin;
    file.caption_count = (end - begin) * kCaptionsOfOne;
    file.language = "en";
    file.list_length = length;
    file.methods = {Method(), {kDepth, {CombinationKind::kReplace, 0}}};
    file.times.resize(2);
    for (int i = begin; i < end; ++i) {
      file.of(Direction::kImageToText).push_back(Query(i, begin, end, length, /*caption=*/-1));
      for (int c = 0; c < kCaptionsOfOne; ++c) {
        file.of(Direction::kTextToImage)
            .push_back(Query(i, begin, end, length, i * kCaptionsOfOne + c));
      }
    }
    return file;
  }

  struct Ran {
    int status;
    std::string out, err;
    nlohmann::json json;
  };
  Ran Run(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {"tables", "--resamples", "200", "--json", Path("json")};
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int status = RunEvaluator(args, {out, err});
    Ran ran = {status, out.str(), err.str(), {}};
    if (status == 0) ran.json = nlohmann::json::parse(*ReadFile(Path("json")));
    return ran;
  }

  Ran OfMatrices(const std::string& protocol) const {
    return Run({"--pairs", Path("pairs"), "--matrix", "be=" + Path("be.npy"), "--matrix",
                "ce=" + Path("ce.npy"), "--policies", "be,be:ce", "--depths", absl::StrCat(kDepth),
                "--protocol", protocol});
  }

 private:
  // Of the caption, or of the image where there is none.
  ListedQuery Query(int image, int begin, int end, int length, int caption) const {
    ListedQuery query = {absl::StrCat("i", image), caption < 0 ? kCaptionsOfOne : 1, {}};
    std::vector<float> be, ce;
    std::vector<bool> right;
    const auto add = [&](int i, int c) {
      be.push_back(scores_.be[i * kCaptions + c]);
      ce.push_back(scores_.ce[i * kCaptions + c]);
      right.push_back(c / kCaptionsOfOne == i);
    };
    for (int i = begin; i < end && caption >= 0; ++i) add(i, caption);
    for (int c = begin * kCaptionsOfOne; c < end * kCaptionsOfOne && caption < 0; ++c) {
      add(image, c);
    }
    for (const int depth : {0, kDepth}) {
      std::vector<int>& places = query.places.emplace_back();
      const std::vector<int> ranked = Ranked(be, ce, depth);
      for (int place = 0; place < std::min(length, static_cast<int>(ranked.size())); ++place) {
        if (right[ranked[place]]) places.push_back(place + 1);
      }
    }
    return query;
  }

  TempDir dir_;
  const Scores scores_ = RandomScores();
};

// All numbers of one are those of the other.
void RequireAlike(const nlohmann::json& a, const nlohmann::json& b) {
  INFO(a.dump() << " " << b.dump());
  REQUIRE(a.is_number() == b.is_number());
  if (a.is_number()) {
    REQUIRE(a.get<double>() == Approx(b.get<double>()).epsilon(1e-12).margin(1e-12));
    return;
  }
  if (!a.is_object()) return;
  REQUIRE(a.size() == b.size());
  for (const auto& [key, value] : a.items()) RequireAlike(value, b.at(key));
}

void RequireSameTables(const Files::Ran& lists, const Files::Ran& matrices) {
  INFO(lists.err << matrices.err);
  REQUIRE(lists.status == 0);
  REQUIRE(matrices.status == 0);
  REQUIRE(lists.json["tables"].size() == 1);
  const nlohmann::json &own = lists.json["tables"][0], &other = matrices.json["tables"][0];
  for (const char* key : {"pool_count", "image_count", "caption_count"}) {
    REQUIRE(own[key] == other[key]);
  }
  REQUIRE(own["methods"].size() == 2);
  for (int m = 0; m < 2; ++m) {
    for (const char* key : {"text_to_image", "image_to_text", "ar", "rsum"}) {
      RequireAlike(own["methods"][m][key], other["methods"][m][key]);
    }
  }
}

TEST_CASE("whole lists make the tables that their scores make, by families too") {
  const Files files;
  files.Put("lists", FormatListFile(files.Lists(0, kImages, 50)));
  const Files::Ran lists =
      files.Run({"--lists", files.Path("lists"), "--families", files.Path("families")});
  RequireSameTables(lists, files.OfMatrices("whole"));
  REQUIRE(absl::StartsWith(
      lists.out, "live, en: 36 captions look for 12 images, 12 images for 36 captions\n"));
  REQUIRE_FALSE(absl::StrContains(lists.out, "Lists end"));
  REQUIRE(lists.json["settings"]["list_length"] == 50);
  REQUIRE(lists.json["settings"]["queries_beyond_lists"] == 0);
  REQUIRE(lists.json["settings"]["lists"][0] == files.Path("lists"));
}

TEST_CASE("files of one language are folds, and of several languages have a mean") {
  const Files files;
  files.Put("first", FormatListFile(files.Lists(0, kImages / 2, 50)));
  files.Put("second", FormatListFile(files.Lists(kImages / 2, kImages, 50)));
  const std::vector<std::string> folds = {"--lists",    files.Path("first"),
                                          "--lists",    files.Path("second"),
                                          "--families", files.Path("families")};
  RequireSameTables(files.Run(folds), files.OfMatrices("folds:2"));
  ListFile german = files.Lists(0, kImages, 50);
  german.language = "de";
  files.Put("german", FormatListFile(german));
  std::vector<std::string> both = folds;
  both.insert(both.end(), {"--lists", files.Path("german"), "--layout", "multi30k"});
  const Files::Ran ran = files.Run(both);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(ran.json["tables"].size() == 2);
  REQUIRE(ran.json["tables"][0]["pool_count"] == 2);
  REQUIRE(ran.json["tables"][1]["language"] == "de");
  const double english = ran.json["tables"][0]["methods"][1]["ar"]["value"];
  const double other = ran.json["tables"][1]["methods"][1]["ar"]["value"];
  REQUIRE(ran.json["languages"][1]["meta_ave"]["value"].get<double>() ==
          Approx((english + other) / 2));
}

TEST_CASE("what lists end before is told, and changes neither recall nor NDCG") {
  const Files files;
  files.Put("lists", FormatListFile(files.Lists(0, kImages, 20)));
  const Files::Ran ran = files.Run({"--lists", files.Path("lists")});
  const Files::Ran whole = files.OfMatrices("whole");
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StrContains(ran.out, "\nLists end at 20, and those of "));
  const int64_t beyond = ran.json["settings"]["queries_beyond_lists"];
  REQUIRE(beyond > 0);
  REQUIRE(beyond <= kImages);  // every caption's list has all images
  for (int m = 0; m < 2; ++m) {
    const nlohmann::json &own = ran.json["tables"][0]["methods"][m]["image_to_text"],
                         &other = whole.json["tables"][0]["methods"][m]["image_to_text"];
    for (const char* key : {"r_at_1", "r_at_5", "r_at_10", "r_at_20", "ndcg"}) {
      REQUIRE(own[key]["value"].get<double>() == Approx(other[key]["value"].get<double>()));
    }
    REQUIRE(own["map"]["value"] < other["map"]["value"]);
  }
}

TEST_CASE("a fleet's times stand in the tables where all files have them") {
  const Files files;
  ListFile lists = files.Lists(0, kImages, 50);
  QueryTime time;
  time.seconds = 0.25;
  lists.times = {time, absl::nullopt};
  files.Put("first", FormatListFile(lists));
  time.seconds = 0.75;
  lists.times = {time, time};
  files.Put("second", FormatListFile(lists));
  const Files::Ran ran =
      files.Run({"--lists", files.Path("first"), "--lists", files.Path("second")});
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StrContains(ran.out, "Times are of a caption that looks among 12 images."));
  const nlohmann::json& methods = ran.json["tables"][0]["methods"];
  REQUIRE(methods[0]["time"]["seconds_per_query"].get<double>() == Approx(0.5));
  REQUIRE_FALSE(methods[1].contains("time"));
}

TEST_CASE("of files with other methods those count that all have") {
  const Files files;
  ListFile more = files.Lists(0, kImages, 50);
  more.methods.insert(more.methods.begin() + 1, {9, {CombinationKind::kReplace, 0}});
  more.times.resize(3);
  for (auto& queries : more.queries) {
    for (ListedQuery& query : queries) query.places.insert(query.places.begin() + 1, {{}});
  }
  files.Put("more", FormatListFile(more));
  files.Put("lists", FormatListFile(files.Lists(0, kImages, 50)));
  const Files::Ran ran = files.Run({"--lists", files.Path("more"), "--lists", files.Path("lists")});
  REQUIRE(ran.status == 0);
  const nlohmann::json& methods = ran.json["tables"][0]["methods"];
  REQUIRE(methods.size() == 2);
  REQUIRE(methods[1]["depth"] == kDepth);
  const Files::Ran alone = files.Run({"--lists", files.Path("lists")});
  REQUIRE(methods[1]["ar"]["value"].get<double>() ==
          Approx(alone.json["tables"][0]["methods"][1]["ar"]["value"].get<double>()));
}

TEST_CASE("lists that do not go together, and flags of matrices, are refused") {
  const Files files;
  files.Put("lists", FormatListFile(files.Lists(0, kImages, 50)));
  files.Put("short", FormatListFile(files.Lists(0, kImages, 20)));
  ListFile own = files.Lists(0, kImages, 50);
  own.live = false;
  files.Put("own", FormatListFile(own));
  files.Put("bad", "{}\n");
  const std::string lists = files.Path("lists");
  const auto refused = [&files](std::vector<std::string> more, int status, const std::string& why) {
    const Files::Ran ran = files.Run(more);
    INFO(ran.err);
    return ran.status == status && absl::StrContains(ran.err, why);
  };
  REQUIRE(refused({"--lists", lists, "--lists", files.Path("short")}, 1, "lists end at 20"));
  REQUIRE(refused({"--lists", lists, "--lists", files.Path("own")}, 1, "is of a process"));
  REQUIRE(refused({"--lists", files.Path("bad")}, 1, "bad: line 1: "));
  REQUIRE(refused({"--lists", lists, "--ndcg", "51"}, 1, "before --ndcg 51"));
  REQUIRE(refused({"--lists", lists, "--families", files.Path("pairs")}, 1, "line 1"));
  REQUIRE(refused({"--lists", files.Path("none")}, 1, "none"));
  REQUIRE(refused({"--lists", lists, "--lists", lists}, 2, "given once"));
  REQUIRE(refused({}, 2, "give --matrix NAME=FILE.npy, or --lists FILE"));
  for (const auto& [flag, value] : {std::pair("matrix", "a=b"),
                                    {"pairs", "p"},
                                    {"ensemble", "a=b+c"},
                                    {"runs", "a=b+c"},
                                    {"policies", "a"},
                                    {"protocol", "whole"},
                                    {"depths", "20"},
                                    {"lambdas", "0.1"},
                                    {"rerank-scores", "sigmoid"},
                                    {"ties", "order"},
                                    {"languages", "en"},
                                    {"seconds", "a=1"}}) {
    REQUIRE(refused({"--lists", lists, absl::StrCat("--", flag), value}, 2,
                    absl::StrCat("--", flag, " is for matrices")));
  }
  REQUIRE(refused({"--pairs", files.Path("pairs"), "--matrix", "be=" + files.Path("be.npy"),
                   "--families", files.Path("families")},
                  2, "--families is for --lists"));
  REQUIRE(refused({"--lists", lists, "--csv", lists}, 2, "the file of --lists"));
}

}  // namespace
}  // namespace sightline
