// The papers' tables as typed, from files of two images and four captions whose ranks are counted
// by hand.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/evaluation/matrix_items.h"
#include "services/evaluator/commands.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/services/evaluator/table_files.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a matrix alone and one reranked by another, as counted by hand") {
  const TableFiles files;
  const TablesRan ran =
      files.Run({"--policies", "be,be:ce", "--depths", "2,4", "--lambdas", "0.9"});
  // TR R@1 R@5 R@10, IR R@1 R@5 R@10, AR.
  REQUIRE(RowOf(ran, "be") == "be - 50.0 100.0 100.0 25.0 100.0 100.0 79.2");
  REQUIRE(RowOf(ran, "be:ce replace") == "be:ce replace 2 0.0 100.0 100.0 50.0 100.0 100.0 75.0");
  REQUIRE(RowOf(ran, "be:ce add_lambda:0.9") ==
          "be:ce add_lambda:0.9 2 50.0 100.0 100.0 25.0 100.0 100.0 79.2");
  REQUIRE(
      absl::StartsWith(ran.out, "whole: 4 captions look for 2 images, 2 images for 4 captions\n"));
  REQUIRE(absl::StrContains(ran.out, "-4.2 ["));  // AR minus that of the first
  REQUIRE(absl::StrContains(ran.out, " 475.0"));  // rsum
}

TEST_CASE("what looks at all that is right, as counted by hand") {
  const TableFiles files;
  const auto measured = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--policies", "be", "--json", files.Path("json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    REQUIRE(files.Run(arguments).status == 0);
    return nlohmann::json::parse(files.Read("json"))["tables"][0]["methods"][0];
  };
  const auto value = [](const nlohmann::json& measure) { return measure["value"].get<double>(); };
  const double second = 1 / std::log2(3.0), fourth = 1 / std::log2(5.0);  // third: 1 / 2
  const nlohmann::json all = measured({});
  // a finds its own at places 1 and 4, b at 3 and 4.
  const nlohmann::json& tr = all["image_to_text"];
  REQUIRE(value(tr["map"]) == Approx(((1 + 2 / 4.0) / 2 + (1 / 3.0 + 2 / 4.0) / 2) / 2));
  REQUIRE(value(tr["ndcg"]) ==
          Approx(((1 + fourth) / (1 + second) + (0.5 + fourth) / (1 + second)) / 2));
  REQUIRE(value(tr["mean_rank"]) == Approx((1 + 3) / 2.0));
  // a1 finds a at place 1, the others theirs at 2.
  const nlohmann::json& ir = all["text_to_image"];
  REQUIRE(value(ir["map"]) == Approx((1 + 3 / 2.0) / 4));
  REQUIRE(value(ir["ndcg"]) == Approx((1 + 3 * second) / 4));
  REQUIRE(value(ir["mean_rank"]) == Approx((1 + 3 * 2) / 4.0));
  // Of no more than three places the fourth is none, while the best order still has two.
  const nlohmann::json three = measured({"--ndcg", "3"});
  REQUIRE(value(three["image_to_text"]["ndcg"]) == Approx((1 + 0.5) / (1 + second) / 2));
  REQUIRE(value(measured({"--ndcg", "1"})["text_to_image"]["ndcg"]) == Approx(1 / 4.0));
}

TEST_CASE("the columns' order, the cutoffs and the default policies can be told") {
  const TableFiles files;
  const TablesRan ran = files.Run({"--columns", "ir-tr", "--recall", "5,10,20", "--ndcg", "3"});
  REQUIRE(RowOf(ran, "be") == "be - 100.0 100.0 100.0 100.0 100.0 100.0 100.0");
  REQUIRE(absl::StrContains(ran.out, "depth  IR R@5  IR R@10  IR R@20  TR R@5"));
  REQUIRE(absl::StrContains(ran.out, "IR NDCG@3"));
  for (const char* name : {"ce", "flat"}) RowOf(ran, name);
}

TEST_CASE("ties count by the rule that is asked for") {
  const TableFiles files;
  const auto mrr = [&](const std::string& rule) {
    const TablesRan ran =
        files.Run({"--policies", "flat", "--ties", rule, "--json", files.Path("json")});
    REQUIRE(ran.status == 0);
    const auto json = nlohmann::json::parse(files.Read("json"));
    REQUIRE(json["settings"]["ties"] == rule);
    return json["tables"][0]["methods"][0]["image_to_text"]["mrr"]["value"].get<double>();
  };
  REQUIRE(mrr("order") == Approx((1 + 1.0 / 3) / 2));
  // Two of four are right: first at place 1, 2 or 3 with 1/2, 1/3, 1/6.
  REQUIRE(mrr("expected") == Approx(1 / 2.0 + 1 / 6.0 + 1 / 18.0));
}

TEST_CASE("protocols choose who takes part") {
  const TableFiles files;
  const auto row = [&](const std::string& protocol) {
    return RowOf(files.Run({"--protocol", protocol, "--policies", "be"}), "be");
  };
  REQUIRE(row("folds:2") == "be - 100.0 100.0 100.0 100.0 100.0 100.0 100.0");
  REQUIRE(row("list:" + files.Path("a.tsv")) == "be - 100.0 100.0 100.0 100.0 100.0 100.0 100.0");
  // b costs a2 its first place.
  REQUIRE(row("distractors:" + files.Path("a.tsv")) ==
          "be - 100.0 100.0 100.0 50.0 100.0 100.0 91.7");
  // a2 finds b before a; a finds b1 and b2 before it, and a1, which would be right, is not asked
  // for.
  files.Put("captions.tsv", "a2\n");
  REQUIRE(row("captions:" + files.Path("captions.tsv")) ==
          "be - 0.0 100.0 100.0 0.0 100.0 100.0 66.7");
  const TablesRan folds = files.Run({"--protocol", "folds:2", "--policies", "be"});
  REQUIRE(absl::StartsWith(folds.out, "folds:2, mean of 2 pools: 4 captions look for 1 images"));
  // Each by itself, then both together.
  files.Put("pools.tsv", "a\nb\nb\ta\n");
  const TablesRan pools =
      files.Run({"--protocol", "pools:" + files.Path("pools.tsv"), "--policies", "be"});
  REQUIRE(absl::StrContains(
      pools.out, "mean of 3 pools: 8 captions look for 1 to 2 images, 4 images for 2 to 4"));
  const TablesRan coco = files.Run({"--protocol", "coco_5k"});
  REQUIRE(coco.status == 1);
  REQUIRE(absl::StrContains(coco.err, "not 2 with 4"));
}

TEST_CASE("times are of the images that a caption looks among, and of what has to be encoded") {
  const TableFiles files;
  files.Put("be.npy.json", R"({"seconds_per_query": 0.5, "encoding_seconds": 3})");
  const auto times = [&](const std::string& protocol) {
    const TablesRan ran =
        files.Run({"--protocol", protocol, "--policies", "be", "--layout", "vldeformer"});
    INFO(ran.err);
    REQUIRE_THAT(ran.out,
                 Catch::Contains(protocol == "whole" || absl::StartsWith(protocol, "distractors:")
                                     ? "looks among 2 images"
                                     : "looks among 1 images"));
    const std::vector<std::string> cells = absl::StrSplit(RowOf(ran, "be"), ' ');
    return absl::StrCat(cells[cells.size() - 2], " ", cells.back());
  };
  REQUIRE(times("whole") == "0.5 5");
  // Four captions look among one image each; both are encoded.
  REQUIRE(times("folds:2") == "0.25* 4*");
  // Two captions among one image, which alone is encoded; among both.
  REQUIRE(times("list:" + files.Path("a.tsv")) == "0.25* 2*");
  REQUIRE(times("distractors:" + files.Path("a.tsv")) == "0.5 4");
}

TEST_CASE("each language has its table, and all of them Meta-Ave") {
  const TableFiles files;
  for (const char* languages : {"each", "de,en"}) {
    const TablesRan ran = files.Run({"--languages", languages, "--policies", "be", "--json",
                                     files.Path("json"), "--csv", files.Path("csv")});
    REQUIRE(absl::StartsWith(ran.out, "whole, de: 2 captions"));
    REQUIRE(absl::StrContains(ran.out, "\nwhole, en: 2 captions"));
    REQUIRE(absl::StrContains(ran.out, "  66.7   83.3  75.0 ["));
    const auto json = nlohmann::json::parse(files.Read("json"));
    REQUIRE(json["languages"][0]["meta_ave"]["value"] == Approx(0.75));
    REQUIRE(json["tables"][1]["language"] == "en");
    const std::vector<std::string> lines = absl::StrSplit(files.Read("csv"), '\n');
    for (const std::string& line : {lines[1], lines[2]}) {  // of both languages
      REQUIRE(absl::StrContains(line, ",,,,,0.750000,"));
    }
  }
  const TablesRan french = files.Run({"--languages", "fr"});
  REQUIRE(french.status == 1);
  REQUIRE(absl::StrContains(french.err, "language 'fr': no caption"));
}

TEST_CASE("an ensemble is the mean of its matrices") {
  const TableFiles files;
  // (0.5, 0.55, 0.55, 0.6), (0.7, 0.45, 0.4, 0.45).
  const TablesRan ran = files.Run({"--ensemble", "both=be+ce", "--policies", "both"});
  REQUIRE(RowOf(ran, "both") == "both - 0.0 100.0 100.0 25.0 100.0 100.0 70.8");
}

TEST_CASE("the JSON and the CSV have every measure, with its interval") {
  const TableFiles files;
  const TablesRan ran = files.Run({"--policies", "be,be:ce", "--depths", "2", "--lambdas", "0.1",
                                   "--protocol", "distractors:" + files.Path("a.tsv"), "--json",
                                   files.Path("json"), "--csv", files.Path("csv")});
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(files.Read("json"));
  REQUIRE(json["format_version"] == 2);
  const auto& methods = json["tables"][0]["methods"];
  REQUIRE(methods.size() == 4);
  REQUIRE(methods[0]["text_to_image"]["query_count"] == 2);
  REQUIRE(methods[0]["text_to_image"]["r_at_1"]["value"] == 0.5);
  REQUIRE(methods[0]["text_to_image"]["median_rank"]["value"] == 1.5);
  REQUIRE_FALSE(methods[0]["ar"].contains("minus_first"));
  REQUIRE(methods[1]["combination"] == "replace");
  REQUIRE(methods[1]["ar"].contains("minus_first"));
  REQUIRE(methods[2]["lambda"] == 0.1);
  const std::vector<std::string> lines = absl::StrSplit(files.Read("csv"), '\n');
  REQUIRE(lines.size() == 6);  // titles, four, and nothing behind the last end of a line
  const std::vector<std::string> titles = absl::StrSplit(lines[0], ',');
  for (int i = 1; i < 5; ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    REQUIRE(fields.size() == titles.size());
    const auto number = [&](const std::string& title) {
      const auto place = std::find(titles.begin(), titles.end(), title);
      INFO(title);
      REQUIRE(place != titles.end());
      return std::stod(fields[place - titles.begin()]);
    };
    const auto holds = [&](const std::string& title, const nlohmann::json& measure) {
      INFO(title);
      REQUIRE(number(title) == Approx(measure["value"].get<double>()).margin(1e-6));
      REQUIRE(number(title + "_low") == Approx(measure["low"].get<double>()).margin(1e-6));
      REQUIRE(number(title + "_high") == Approx(measure["high"].get<double>()).margin(1e-6));
    };
    const nlohmann::json& method = methods[i - 1];
    for (const auto& [direction, key] :
         {std::pair("ir_", "text_to_image"), std::pair("tr_", "image_to_text")}) {
      for (const char* measure : {"r_at_1", "r_at_5", "r_at_10", "r_at_20", "mrr", "map", "ndcg"}) {
        holds(std::string(direction) + measure, method[key][measure]);
      }
      holds(std::string(direction) + "mean_rank", method[key]["mean_rank"]);
      holds(std::string(direction) + "median_rank", method[key]["median_rank"]);
      REQUIRE(method[key]["median_rank"].contains("minus_first") == (i > 1));
    }
    holds("ar", method["ar"]);
    holds("rsum", method["rsum"]);
  }
  REQUIRE(absl::StrContains(lines[3], ",be:ce,2,add_lambda,0.1,2,"));
  REQUIRE(absl::StrContains(lines[1], ",be,0,,,2,0.500000,"));
}

TEST_CASE("what is read, or written, is not written over") {
  const TableFiles files;
  const std::string pairs = files.Path("pairs"), matrix = files.Path("be.npy");
  const std::string before = files.Read("be.npy");
  const auto refused = [&](const std::vector<std::string>& more, const std::string& told) {
    std::vector<std::string> args = {"--policies", "be"};
    args.insert(args.end(), more.begin(), more.end());
    const TablesRan ran = files.Run(args);
    INFO(ran.err);
    REQUIRE(ran.status == 2);
    REQUIRE_THAT(ran.err, Catch::Contains(told));
  };
  refused({"--csv", matrix}, "--csv is " + matrix + ", the file of --matrix be");
  refused({"--json", matrix + ".json"}, "the file of --matrix be");
  refused({"--page", pairs}, "the file of --pairs");
  refused({"--json", files.Path("same"), "--csv", files.Path("./same")}, "the file of --json");
  refused({"--protocol", "distractors:" + files.Path("a.tsv"), "--csv", files.Path("a.tsv")},
          "the file of --protocol");
  REQUIRE(files.Read("be.npy") == before);
  REQUIRE(files.Run({"--policies", "be", "--json", "/dev/null", "--csv", "/dev/null"}).status == 0);
}

TEST_CASE("each layout prints what its paper prints, in its order") {
  const TableFiles files;
  const auto printed = [&](const std::string& layout, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--policies", "be", "--layout", layout});
    const TablesRan ran = files.Run(more);
    REQUIRE_THAT(ran.out, Catch::Contains("As in "));
    const size_t columns = ran.out.find("  method");
    const std::string titles = ran.out.substr(columns, ran.out.find('\n', columns) - columns);
    return absl::StrCat(absl::StrJoin(absl::StrSplit(titles, ' ', absl::SkipEmpty()), " "), " | ",
                        RowOf(ran, "be"));
  };
  REQUIRE(printed("lightningdot") ==
          "method depth TR R@1/5/10 IR R@1/5/10 AR | "
          "be - 50.0/100.0/100.0 25.0/100.0/100.0 79.2");
  REQUIRE(printed("retrieve_fast") ==
          "method depth IR R@1/5/10 TR R@1/5/10 | be - 25.0/100.0/100.0 50.0/100.0/100.0");
  REQUIRE(printed("scene_text") == printed("retrieve_fast"));
  REQUIRE(printed("vldeformer", {"--recall", "5,10,20"}) ==
          "method depth TR R@5/10/20 IR R@5/10/20 | be - 100.0/100.0/100.0 100.0/100.0/100.0");
  REQUIRE(printed("t_emde") ==
          "method depth TR R@1/5/10/MRR IR R@1/5/10/MRR | "
          "be - 50.0/100.0/100.0/0.667 25.0/100.0/100.0/0.625");
  REQUIRE(printed("t_emde_5k") ==
          "method depth TR R@1/10/MRR IR R@1/10/MRR | be - 50.0/100.0/0.667 25.0/100.0/0.625");
  REQUIRE(printed("sgraf") ==
          "method depth TR R@1/5/10 IR R@1/5/10 rsum | "
          "be - 50.0/100.0/100.0 25.0/100.0/100.0 475.0");
  REQUIRE(printed("multi30k", {"--languages", "en,de"}) ==
          "method depth en de mean mean without en | be - 83.3 66.7 75.0 66.7");
  REQUIRE(printed("multi30k", {"--languages", "en"}) ==
          "method depth en mean mean without en | be - 83.3 83.3 -");
  REQUIRE(printed("lightningdot_languages", {"--languages", "each"}) ==
          "method depth de en Meta-Ave | be - 66.7 83.3 75.0");
}

TEST_CASE("the page is written where it is told to") {
  const TableFiles files;
  const TablesRan ran =
      files.Run({"--policies", "be,be:ce", "--depths", "1,2", "--lambdas", "0.1,0.9", "--layout",
                 "lightningdot", "--page", files.Path("page.html")});
  REQUIRE(ran.status == 0);
  const std::string page = files.Read("page.html");
  REQUIRE_THAT(page, Catch::Contains("id=\"depth-ir-1-0-wide\""));
  REQUIRE_THAT(page, Catch::Contains("id=\"lambda-tr-10-0-wide\""));
  REQUIRE_THAT(page, Catch::Contains("50.0/100.0/100.0"));
}

TEST_CASE("a wrong command line is exit status 2 and says what is wrong") {
  const auto refused = [](std::vector<std::string> args, const std::string& text) {
    args.insert(args.begin(), "tables");
    std::ostringstream out, err;
    const int status = RunEvaluator(args, {out, err});
    INFO(err.str());
    return status == 2 && out.str().empty() && absl::StrContains(err.str(), text) &&
           absl::StrContains(err.str(), "usage: evaluator tables");
  };
  REQUIRE(refused({}, "give --matrix NAME=FILE.npy"));
  REQUIRE(refused({"--matrix", "a=f"}, "give --pairs FILE.jsonl"));
  REQUIRE(refused({"--matrix", "f", "--pairs", "p"}, "nothing after NAME="));
  REQUIRE(refused({"--matrix", "a:b=f", "--pairs", "p"}, "'a:b' is no name"));
  REQUIRE(refused({"--matrix", "a=f", "--matrix", "a=g", "--pairs", "p"}, "'a' is given twice"));
  const auto with = [&](std::vector<std::string> more, const std::string& text) {
    more.insert(more.begin(), {"--matrix", "a=f", "--pairs", "p"});
    return refused(more, text);
  };
  REQUIRE(with({"--ensemble", "e=a+b"}, "'b' is no --matrix"));
  REQUIRE(with({"--ensemble", "a=a"}, "'a' is given twice"));
  REQUIRE(with({"--policies", "a:b"}, "--policies: 'a:b'"));
  REQUIRE(with({"--runs", "r=a+b"}, "--runs: 'b' is neither the name of a matrix"));
  REQUIRE(with({"--runs", "r=a+a:a"}, "--runs: 'a+a:a' reranks in some runs alone"));
  REQUIRE(with({"--runs", "a=a+a"}, "--runs: 'a' is given twice"));
  REQUIRE(with({"--runs", "r=a", "--policies", "r:a"}, "--policies: 'r:a'"));
  REQUIRE(with({"--policies", "a:"}, "--policies: 'a:'"));
  REQUIRE(with({"--policies", "a,a"}, "'a' is given twice"));
  REQUIRE(with({"--protocol", "coco"}, "--protocol: 'coco' is none of whole"));
  REQUIRE(with({"--depths", "0"}, "--depths: '0'"));
  REQUIRE(with({"--lambdas", "2"}, "--lambdas: '2'"));
  REQUIRE(with({"--policies", "a:a", "--rerank-scores", "x"}, "--rerank-scores: "));
  for (const char* flag : {"--depths", "--lambdas", "--rerank-scores"}) {
    REQUIRE(with({flag, "1"}, absl::StrCat(flag, " is for policies that rerank")));
  }
  REQUIRE(with({"--ties", "x"}, "--ties: 'x' is neither order nor expected"));
  REQUIRE(with({"--columns", "x"}, "--columns: 'x'"));
  REQUIRE(with({"--recall", "1,2,3"}, "--recall: '1,2,3'"));
  REQUIRE(with({"--languages", "en,en"}, "--languages: 'en'"));
  REQUIRE(with({"--languages", "en,each"}, "give it alone"));
  REQUIRE(with({"--layout", "x"}, "--layout: 'x' is none of lightningdot,"));
  REQUIRE(with({"--layout", "multi30k"}, "multi30k has a column for each language"));
  REQUIRE(with({"--seconds", "b=1"}, "--seconds: 'b' is neither the name of a matrix"));
  REQUIRE(with({"--seconds", "a"}, "'a' has nothing after NAME="));
  REQUIRE(with({"--seconds", "a=1", "--seconds", "a=1"}, "--seconds: 'a' is given twice"));
  for (const char* seconds : {"a=0", "a=-1", "a=nan", "a=inf", "a=x"}) {
    REQUIRE(with({"--seconds", seconds}, "is no number of seconds above 0"));
  }
  REQUIRE(with({"word"}, "'word' is no flag"));
}

TEST_CASE("what reranks is what its file says it is, and nobody may say otherwise") {
  const TableFiles files;
  const auto kind = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--policies", "be,be:ce", "--json", files.Path("json")};
    args.insert(args.end(), more.begin(), more.end());
    const TablesRan ran = files.Run(args);
    if (ran.status != 0) return ran.err;
    const auto json = nlohmann::json::parse(files.Read("json"));
    REQUIRE(!json["tables"][0]["methods"][0].contains("rerank_scores"));
    return json["tables"][0]["methods"][1]["rerank_scores"].get<std::string>();
  };
  REQUIRE(kind({}) == "softmax_match");
  REQUIRE(kind({"--rerank-scores", "rank_raw"}) == "rank_raw");
  files.Put("ce.npy.json", R"({"score_kind": "logit_match"})");
  REQUIRE(kind({}) == "logit_match");
  REQUIRE(kind({"--rerank-scores", "logit_match"}) == "logit_match");
  REQUIRE_THAT(kind({"--rerank-scores", "rank_raw"}),
               Catch::Contains("the scores of ce are logit_match, as its file beside it says, and "
                               "not rank_raw, which --rerank-scores says"));
  // Members of an ensemble, too.
  files.Put("flat.npy.json", R"({"score_kind": "sigmoid"})");
  const TablesRan mixed = files.Run({"--ensemble", "e=ce+flat", "--policies", "be:e"});
  REQUIRE(mixed.status == 1);
  REQUIRE_THAT(mixed.err, Catch::Contains("flat are sigmoid, as its file beside it says, and not "
                                          "logit_match, which another one's are"));
  files.Put("ce.npy.json", R"({"score_kind": "good"})");
  REQUIRE_THAT(kind({}), Catch::Contains("ce.npy.json: \"score_kind\": "));
}

TEST_CASE("a matrix of other pictures or captions is refused, and settings say which were read") {
  const TableFiles files;
  const auto items = ParseMatrixItems(files.Read("pairs"));
  REQUIRE(items.ok());
  files.Put("be.npy.json", absl::StrCat(R"({"items": ")", ItemsDigest(*items), "\"}"));
  REQUIRE(files.Run({"--ensemble", "e=be+ce", "--json", files.Path("json")}).status == 0);
  const auto settings = nlohmann::json::parse(files.Read("json"))["settings"];
  REQUIRE(settings["matrices"]["be"] == files.Path("be.npy"));
  REQUIRE(settings["ensembles"]["e"] == "be+ce");
  // A family is no other picture.
  std::string pairs = files.Read("pairs");
  files.Put("pairs", pairs.replace(0, 13, R"({"image":"a","family":"f"})"));
  REQUIRE(files.Run({}).status == 0);
  files.Put("be.npy.json", R"({"items": "00"})");
  const TablesRan other = files.Run({});
  REQUIRE(other.status == 1);
  REQUIRE_THAT(other.err,
               Catch::Contains("be.npy.json: says that the matrix is of other pictures"));
}

TEST_CASE("files that are not there or lie are exit status 1") {
  const TableFiles files;
  const auto problem = [&](const std::vector<std::string>& more) {
    const TablesRan ran = files.Run(more);
    REQUIRE(ran.status == 1);
    REQUIRE(ran.out.empty());
    return ran.err;
  };
  REQUIRE_THAT(problem({"--matrix", "x=" + files.Path("none")}), Catch::Contains("NOT_FOUND"));
  files.Put("x.npy", Npy("<f4", {4, 2}, kBe));
  REQUIRE_THAT(problem({"--matrix", "x=" + files.Path("x.npy")}),
               Catch::Contains("save its transpose"));
  files.Put("x.npy", Npy("<f4", {2, 4}, {1, 2, 3, 4, 5, NAN, 7, 8}));
  REQUIRE_THAT(problem({"--matrix", "x=" + files.Path("x.npy")}),
               Catch::Contains("'x' is no number at row 1, column 1"));
  REQUIRE_THAT(problem({"--protocol", "list:" + files.Path("none")}), Catch::Contains("NOT_FOUND"));
  files.Put("list", "c\n");
  REQUIRE_THAT(problem({"--protocol", "list:" + files.Path("list")}), Catch::Contains("'c'"));
  files.Put("x.npy", Npy("<f4", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
  REQUIRE_THAT(problem({"--matrix", "x=" + files.Path("x.npy"), "--policies", "be:x"}),
               Catch::Contains("no softmax_match"));
  files.Put("be.npy.json", R"({"seconds_per_query": "soon"})");
  REQUIRE_THAT(problem({}), Catch::Contains("be.npy.json: \"seconds_per_query\" is no number"));
  files.Put("pairs", "{}");
  REQUIRE_THAT(problem({}), Catch::Contains("line 1: \"image\" is missing"));
}

}  // namespace
}  // namespace sightline
