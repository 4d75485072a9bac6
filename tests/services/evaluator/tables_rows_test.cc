// Of the papers' tables what becomes of folds, of several runs of a method and of times.
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/evaluator/commands.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/services/evaluator/table_files.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE(
    "folds go by the places that the images have, and without places by rows, which is told") {
  const TableFiles files;
  const std::vector<std::string> folds = {"--protocol", "folds:2", "--policies", "x"};
  // c and a are published before d and b.
  std::string images, captions;
  for (const char* id : {"a", "b", "c", "d"}) {
    absl::StrAppend(&images, "{\"image\":\"", id, "\",\"place\":",
                    absl::StrContains("bd", id) ? 10 + (id[0] == 'b') : 3 + (id[0] == 'a'), "}\n");
    absl::StrAppend(&captions, "{\"caption\":\"", id, "1\",\"image\":\"", id,
                    "\",\"language\":\"en\"}\n");
  }
  files.Put("four", images + captions);
  // Each caption is nearest to an image of the other fold, and then to its own.
  files.Put("x.npy", Npy("<f4", {4, 4},
                         {2, 3, 1, 3,  //
                          3, 2, 3, 1,  //
                          1, 3, 2, 3,  //
                          3, 1, 3, 2}));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"tables", "--pairs",  files.Path("four"),        "--resamples",
                                     "100",    "--matrix", "x=" + files.Path("x.npy")};
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int status = RunEvaluator(args, {out, err});
    return TablesRan{status, out.str(), err.str()};
  };
  const TablesRan ran = run(folds);
  REQUIRE(RowOf(ran, "x") == "x - 100.0 100.0 100.0 100.0 100.0 100.0 100.0");
  REQUIRE(!absl::StrContains(ran.err, "place"));
  const TablesRan two = files.Run({"--protocol", "folds:2", "--policies", "be"});
  REQUIRE(two.status == 0);
  REQUIRE(absl::StrContains(two.err, "folds:2: no \"place\" of images is known"));
}

TEST_CASE("several runs of a method are one row of their mean") {
  const TableFiles files;
  const auto row = [&](std::vector<std::string> more, const std::string& name) {
    more.insert(more.end(),
                {"--policies", name, "--json", files.Path("json"), "--csv", files.Path("csv")});
    return RowOf(files.Run(more), name);
  };
  const std::string ce = row({}, "ce");
  REQUIRE(ce == "ce - 50.0 100.0 100.0 50.0 100.0 100.0 83.3");
  REQUIRE(row({"--runs", "seeds=be+ce+be"}, "seeds") ==
          "seeds (mean of 3) - 50.0 100.0 100.0 33.3 100.0 100.0 80.6");
  const auto method = nlohmann::json::parse(files.Read("json"))["tables"][0]["methods"][0];
  REQUIRE(method["runs"] == 3);
  REQUIRE(method["policy"] == "seeds");
  REQUIRE(absl::StrContains(files.Read("csv"), "whole,,3,seeds,0,"));
  // Of two stages, and of one run, whose row is the policy's.
  REQUIRE(row({"--depths", "2", "--runs", "one=be:ce"}, "one") ==
          absl::StrReplaceAll(row({"--depths", "2"}, "be:ce"), {{"be:ce", "one"}}));
  REQUIRE(absl::StartsWith(row({"--depths", "2", "--runs", "two=be:ce+ce:be"}, "two"),
                           "two (mean of 2) replace 2 "));
  const TablesRan timed = files.Run({"--runs", "seeds=be+ce", "--policies", "seeds", "--seconds",
                                     "be=0.5", "--seconds", "ce=4.5"});
  REQUIRE_THAT(timed.out, Catch::Contains("  2.5                -\n"));
}

TEST_CASE("layouts of times have what the papers' have") {
  const TableFiles files;
  files.Put("be.npy.json", R"({"seconds_per_query": 0.002, "query_seconds":
      {"mean": 0.003, "min": 0.001, "max": 0.02, "p95": 0.004, "p99_99": 0.0195}})");
  files.Put("ce.npy.json", R"({"seconds_per_query": 4})");
  const std::vector<std::string> more = {"--policies", "ce,be,be:ce,flat",
                                         "--depths",   "1",
                                         "--layout",   "lightningdot_times,vldeformer_times",
                                         "--page",     files.Path("page.html")};
  const TablesRan ran = files.Run(more);
  INFO(ran.err << ran.out);
  REQUIRE(ran.status == 0);
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(ran.out, '\n')) {
    lines.push_back(absl::StrJoin(absl::StrSplit(line, ' ', absl::SkipEmpty()), " "));
  }
  const std::vector<std::string> tables(lines.begin(), lines.begin() + 13);
  REQUIRE(tables == std::vector<std::string>{
                        "As in LightningDOT, tables 3 and 7", "method depth s a query x ce",
                        "ce - 4 1", "be - 0.002 2 000", "be:ce replace 1 2* 2*", "flat - - -", "",
                        "As in VLDeformer, table 4 but memory",
                        "method depth mean ms min max P95 P99.99", "ce - - - - - -",
                        "be - 3 1 20 4 19.5", "be:ce replace 1 - - - - -", "flat - - - - - -"});
  REQUIRE_THAT(files.Read("page.html"),
               Catch::Contains("Times of a query") && Catch::Contains("2 000"));
}

TEST_CASE("waits have a table for each part, in units that fit") {
  const TableFiles files;
  files.Put("be.npy.json", R"({"seconds_per_query": 0.0161, "encoding_seconds": 10})");
  files.Put("flat.npy.json", R"({"seconds_per_query": 1.5, "encoding_seconds": 1e12})");
  files.Put("ce.npy.json", R"({"seconds_per_query": 9000, "encoding_seconds": 0})");
  const TablesRan ran = files.Run({"--policies", "be,be:ce,ce,flat", "--depths", "1", "--layout",
                                   "t_emde_times", "--page", files.Path("page.html")});
  INFO(ran.err << ran.out);
  REQUIRE(ran.status == 0);
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(ran.out, '\n')) {
    lines.push_back(absl::StrJoin(absl::StrSplit(line, ' ', absl::SkipEmpty()), " "));
  }
  // Of four captions; one of two images is reranked.
  const std::vector<std::string> table(lines.begin() + 2, lines.begin() + 7);
  REQUIRE(table == std::vector<std::string>{"method depth a query all with encoding",
                                            "be - 16.1 ms 10.1 s", "be:ce replace 1 75 min* 5 h*",
                                            "ce - 2.5 h 10 h", "flat - 1 500 ms 31 688 years"});
  REQUIRE_THAT(lines[1], Catch::Contains("captions look for 2 images"));
  REQUIRE_THAT(files.Read("page.html"), Catch::Contains("all with encoding"));
}

TEST_CASE("times stand beside recall where they are known, and with a star where computed") {
  const TableFiles files;
  const auto row = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--policies", "be,be:ce,flat", "--depths", "1,2", "--layout", "vldeformer",
                 "--csv", files.Path("csv"), "--json", files.Path("json")});
    const TablesRan ran = files.Run(more);
    INFO(ran.err);
    for (const absl::string_view line : absl::StrSplit(ran.out, '\n')) {
      const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (!absl::StartsWith(absl::StrJoin(cells, " "), absl::StrCat(name, " "))) continue;
      return absl::StrCat(cells[cells.size() - 2], " ", cells.back());
    }
    return std::string("no row");
  };
  const std::vector<std::string> said = {"--seconds", "be=0.5", "--seconds", "ce=4"};
  REQUIRE(row("be", said) == "0.5 -");
  REQUIRE(row("flat", said) == "- -");
  REQUIRE(row("be:ce replace 1", said) == "2.5* -");  // of two images one
  REQUIRE(row("be:ce replace", {"--seconds", "be=0.5"}) == "- -");
  std::vector<std::string> ensemble = said;
  ensemble.insert(ensemble.end(), {"--ensemble", "both=be+ce", "--policies", "both"});
  REQUIRE_THAT(files.Run(ensemble).out, Catch::Contains("  4.5                -\n"));
  REQUIRE_THAT(files.Read("csv"), Catch::Contains(",rsum_high,seconds_per_query,encoding_seconds,"
                                                  "seconds_with_encoding,computed,"
                                                  "meta_ave,meta_ave_low,meta_ave_high\n"));
  // What the files say; a flag says it better.
  files.Put("be.npy.json", R"({"seconds_per_query": 0.5, "encoding_seconds": 3})");
  files.Put("ce.npy.json", R"({"seconds_per_query": 4, "encoding_seconds": 0,
                               "pairs_per_query": 2, "extrapolated_from": 1})");
  REQUIRE(row("be", {}) == "0.5 5");
  REQUIRE(row("be:ce replace 2", {}) == "4.5* 21*");
  REQUIRE_THAT(files.Read("csv"), Catch::Contains(",4.5,3,21,1,,,\n"));
  const auto json = nlohmann::json::parse(files.Read("json"));
  const auto& methods = json["tables"][0]["methods"];
  REQUIRE(methods[0]["time"] == nlohmann::json({{"seconds_per_query", 0.5},
                                                {"computed", false},
                                                {"encoding_seconds", 3.0},
                                                {"seconds_with_encoding", 5.0}}));
  REQUIRE_FALSE(methods[3].contains("time"));
  REQUIRE(row("be", {"--seconds", "be=0.25"}) == "0.25 4");
  const TablesRan both = files.Run({"--ensemble", "both=be+ce", "--policies", "both"});
  REQUIRE_THAT(both.out, Catch::Contains(" 21*\n") &&
                             Catch::Contains("Times are of a caption that looks among 2 images."));
}

}  // namespace
}  // namespace sightline
