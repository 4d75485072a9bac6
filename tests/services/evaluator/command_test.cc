// The evaluator as typed, over a tiny store and without a fleet.
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/evaluation/questions.h"
#include "common/kernels/cpu.h"
#include "common/kernels/kernel_choice.h"
#include "services/evaluator/commands.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunEvaluator(args, {out, err});
  return {status, out.str(), err.str()};
}

constexpr int kItems = 36;

const TempDir& Dir() {
  static const auto* dir = new TempDir;
  return *dir;
}

const TinyStore& Tiny() {
  static const auto* store = new TinyStore(MakeTinyStore(Dir().path(), kItems));
  return *store;
}

// Every third item each.
std::string SplitsFile() {
  const char* const names[] = {"train", "validation", "held_out"};
  std::string text;
  for (size_t i = 0; i < Tiny().items.size(); ++i) {
    absl::StrAppend(&text, "{\"item_id\":\"", Tiny().items[i].image_id, "\",\"split\":\"",
                    names[i % 3], "\"}\n");
  }
  const std::string path = Dir().File("items.jsonl");
  REQUIRE(WriteFileAtomically(path, text).ok());
  return path;
}

nlohmann::json ReadJson(const std::string& path) {
  const auto text = ReadFile(path);
  REQUIRE(text.ok());
  return nlohmann::json::parse(*text);
}

TEST_CASE("a wrong command line is exit status 2 and says what is wrong") {
  const auto refused = [](std::vector<std::string> args, const std::string& text) {
    const Ran ran = Run(args);
    INFO(ran.err);
    return ran.status == 2 && ran.out.empty() && absl::StrContains(ran.err, text) &&
           absl::StrContains(ran.err, "usage: evaluator");
  };
  REQUIRE(refused({"measure"}, "give --store DIR"));
  REQUIRE(refused({"measure", "--store", "s", "word"}, "'word' is no flag"));
  REQUIRE(refused({"measure", "--store", "s", "--direction", "up"}, "'up' is not text-to-image"));
  REQUIRE(refused({"measure", "--store", "s", "--depths", "10,x"}, "--depths: 'x'"));
  REQUIRE(refused({"measure", "--store", "s", "--recall", "0.9"}, "Give --router"));
  REQUIRE(refused({"measure", "--store", "s", "--effort", "9"}, "Give --router"));
  REQUIRE(refused({"measure", "--store", "s", "--router", "r:1", "--recall", "2"},
                  "--recall: '2' is not more than 0"));
  REQUIRE(refused({"compare", "--store", "s", "--recall", "0.9", "--effort", "9"}, "give one"));
  REQUIRE(refused({"measure", "--store", "s", "--depths", "10,10"}, "--depths: '10'"));
  REQUIRE(refused({"measure", "--store", "s", "--depths", "0"}, "--depths: '0'"));
  REQUIRE(refused({"measure", "--store", "s", "--list-length", "19"}, "--list-length"));
  REQUIRE(refused({"measure", "--store", "s", "--list-length", "1001"}, "--list-length"));
  REQUIRE(refused({"measure", "--store", "s", "--lists", "l"}, "--captions all"));
  for (const auto& [flag, value, why] :
       {std::tuple("--direction", "text-to-image", "both directions"),
        {"--splits", "f", "one split"},
        {"--limit", "3", "leave --limit out"},
        {"--json", "l", "each its own"}}) {
    REQUIRE(refused({"measure", "--store", "s", "--captions", "all", "--lists", "l", flag, value},
                    why));
  }
  REQUIRE(refused({"measure", "--store", "s", "--depths", ""}, "--depths: ''"));
  REQUIRE(refused({"measure", "--store", "s", "--lambdas", "0.1,1.5"}, "--lambdas: '1.5'"));
  REQUIRE(refused({"measure", "--store", "s", "--lambdas", "nan"}, "--lambdas: 'nan'"));
  REQUIRE(refused({"measure", "--store", "s", "--split", "train"}, "--split chooses"));
  REQUIRE(refused({"measure", "--store", "s", "--splits", "f", "--split", "test"}, "'test'"));
  REQUIRE(refused({"measure", "--store", "s", "--splits", "f", "--split", "train,train"}, "once"));
  REQUIRE(refused({"measure", "--store", "s", "--choose"}, "validation split"));
  REQUIRE(refused({"measure", "--store", "s", "--choose", "--splits", "f", "--depths", "10,50"},
                  "depths 20 and 50"));
  REQUIRE(refused({"measure", "--store", "s", "--choose", "--splits", "f", "--router", "r"},
                  "needs --all"));
  REQUIRE(refused({"compare"}, "give --store DIR"));
  REQUIRE(refused({"precision", "--precision", "int8"}, "give --store DIR"));
  REQUIRE(refused({"precision", "--store", "s"}, "give --precision NAME"));
  REQUIRE(
      refused({"precision", "--store", "s", "--precision", "float32"}, "give --precision NAME"));
  REQUIRE(
      refused({"precision", "--store", "s", "--precision", "int8", "word"}, "'word' is no flag"));
  for (const char* name : {"half", "fastest"}) {
    REQUIRE(refused({"precision", "--store", "s", "--precision", name}, "int8"));
  }
  REQUIRE(refused({"precision", "--store", "s", "--direction", "up"}, "'up' is not text-to-image"));
  REQUIRE(refused({"questions"}, "--questions FILE"));
  REQUIRE(refused({"questions", "--questions", "f", "word"}, "flags alone"));
}

TEST_CASE("files that are not there or lie are exit status 1") {
  TempDir dir;
  REQUIRE(Run({"measure", "--store", dir.path()}).status == 1);
  // Before anything is measured.
  const Ran nowhere = Run({"measure", "--store", Tiny().path, "--json", dir.File("no/such.json")});
  REQUIRE(nowhere.status == 1);
  REQUIRE(nowhere.out.empty());
  REQUIRE(absl::StrContains(nowhere.err, "write below"));
  REQUIRE(Run({"questions", "--questions", "/no/such/file"}).status == 1);
  REQUIRE(WriteFileAtomically(dir.File("bad"), "{}").ok());
  const Ran questions = Run({"questions", "--questions", dir.File("bad")});
  REQUIRE(questions.status == 1);
  REQUIRE(absl::StrContains(questions.err, "bad: line 1: \"query\" is missing"));
  const Ran splits = Run({"measure", "--store", Tiny().path, "--splits", dir.File("bad")});
  REQUIRE(splits.status == 1);
  REQUIRE(absl::StrContains(splits.err, "bad: line 1: \"item_id\" is missing"));
  REQUIRE(WriteFileAtomically(dir.File("few"), "{\"item_id\":\"pictures/000\",\"split\":\"train\"}")
              .ok());
  const Ran few = Run({"measure", "--store", Tiny().path, "--splits", dir.File("few")});
  REQUIRE(few.status == 1);
  REQUIRE(absl::StrContains(few.err, "lack 35 of the 36 captioned items"));
}

TEST_CASE("a store is measured in both directions, every split and combination") {
  const std::string json_path = Dir().File("report.json");
  const Ran ran = Run({"measure", "--store", Tiny().path, "--splits", SplitsFile(), "--depths",
                       "20,50", "--lambdas", "0.5", "--json", json_path, "--choose", "--threads",
                       "1", "--resamples", "200"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  for (const char* title :
       {"text_to_image, train: 12 queries, 36 items of images/g1",
        "text_to_image, validation: 12 queries", "text_to_image, held_out: 12 queries",
        "image_to_text, held_out: 12 queries, 36 items of captions/g1", "replace (declared)",
        "\nchoice for text_to_image: ", "\nchoice for image_to_text: "}) {
    INFO(title);
    REQUIRE(absl::StrContains(ran.out, title));
  }
  REQUIRE_FALSE(absl::StrContains(ran.out, "add_lambda:0.5 "));
  const nlohmann::json json = ReadJson(json_path);
  REQUIRE(json["results"].size() == 6);
  REQUIRE(json.contains("choice"));
  for (const auto& block : json["results"]) {
    // Retrieval, and replace and two sums at two depths.
    REQUIRE(block["methods"].size() == 7);
    // The whole index is in the lists, so everything is found.
    for (const auto& method : block["methods"]) REQUIRE(method["mrr"] > 0.02);
    // Reranking the whole list or more leaves nothing to the retrieval order.
    REQUIRE(block["methods"][0]["recall"]["20"] == block["methods"][1]["recall"]["20"]);
  }
}

TEST_CASE("a store is held against what was measured before, of the same queries") {
  const std::string before = Dir().File("before.json");
  const std::vector<std::string> measure = {
      "measure",   "--store", Tiny().path, "--splits", SplitsFile(),  "--depths", "20",
      "--lambdas", "0.5",     "--split",   "train",    "--resamples", "100"};
  const auto with = [&measure](std::vector<std::string> more) {
    more.insert(more.begin(), measure.begin(), measure.end());
    return Run(more);
  };
  REQUIRE(with({"--json", before}).status == 0);
  const std::string after = Dir().File("after.json");
  const Ran same = with({"--against", before, "--json", after});
  INFO(same.err);
  REQUIRE(same.status == 0);
  for (const char* direction : {"text_to_image", "image_to_text"}) {
    REQUIRE(absl::StrContains(same.out, absl::StrCat("\n", direction, ", train, over ", before)));
  }
  REQUIRE(absl::StrContains(same.out, "  replace (declared)     20  itself  +0.0 [+0.0, +0.0]  "));
  for (const auto& results : ReadJson(after)["results"]) {
    REQUIRE(results["methods"].size() == 4);
    for (const auto& method : results["methods"]) {
      REQUIRE(method["minus_earlier"][0]["mrr"]["high"] == 0);
    }
  }
  const auto refused = [&](std::vector<std::string> more, const std::string& message) {
    more.insert(more.end(), {"--against", before});
    const Ran ran = with(more);
    INFO(ran.err);
    // Before anything is measured.
    return ran.status == 1 && ran.out.empty() && absl::StrContains(ran.err, message);
  };
  REQUIRE(refused({"--limit", "5"}, "before.json: text_to_image, train: queries were then 12 and"));
  REQUIRE(refused({"--split", "held_out"}, "nothing is told of text_to_image, held_out"));
  REQUIRE(refused({"--captions", "all", "--direction", "image-to-text"},
                  "image_to_text, train: --captions was then first and now all"));
  const Ran none = with({"--against", SplitsFile()});
  REQUIRE(none.status == 1);
  REQUIRE(absl::StrContains(none.err, "items.jsonl: is no JSON object"));
}

TEST_CASE("one split, one direction and a few queries can be chosen") {
  const Ran ran = Run({"measure", "--store", Tiny().path, "--splits", SplitsFile(), "--split",
                       "held_out,train", "--direction", "image-to-text", "--limit", "5", "--all",
                       "--lambdas", "0.1", "--depths", "10", "--resamples", "100"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StartsWith(ran.out, "image_to_text, held_out: 5 queries"));
  REQUIRE(absl::StrContains(ran.out, "\nimage_to_text, train: 5 queries"));
  REQUIRE_FALSE(absl::StrContains(ran.out, "validation"));
  REQUIRE_FALSE(absl::StrContains(ran.out, "text_to_image"));
  REQUIRE(absl::StrContains(ran.out, "norm_add_lambda:0.1"));
}

TEST_CASE("the splits of a published set are taken from its own file") {
  std::string images;
  const char* const names[] = {"restval", "val", "test"};
  for (size_t i = 0; i < Tiny().items.size(); ++i) {
    absl::StrAppend(&images, i == 0 ? "" : ",", "{\"cocoid\": \"", Tiny().items[i].image_id,
                    "\", \"filename\": \"", i, ".jpg\", \"split\": \"", names[i % 3],
                    "\", \"sentences\": []}");
  }
  const std::string path = Dir().File("dataset.json");
  REQUIRE(WriteFileAtomically(path, absl::StrCat("{\"images\": [", images, "]}")).ok());
  const auto measured = [](const std::string& splits) {
    const std::string json = Dir().File("published.json");
    const Ran ran = Run({"measure", "--store", Tiny().path, "--splits", splits, "--split",
                         "held_out", "--resamples", "100", "--json", json});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return ReadJson(json)["results"];
  };
  REQUIRE(measured("karpathy:" + path) == measured(SplitsFile()));
  const Ran none =
      Run({"measure", "--store", Tiny().path, "--splits", "folder:" + Dir().File("models")});
  REQUIRE(none.status == 1);
  REQUIRE(absl::StrContains(none.err, "says which split"));
}

TEST_CASE("without splits everything is one") {
  const Ran ran = Run({"measure", "--store", Tiny().path, "--direction", "text-to-image",
                       "--depths", "10", "--lambdas", "0.1", "--resamples", "100"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StartsWith(ran.out, "text_to_image, all: 36 queries"));
}

TEST_CASE("a precision is compared with float32, in both directions and by every method") {
  if (kernels::KernelFor("int8", kernels::ThisCpu()) == nullptr) return;
  const Ran ran = Run({"precision", "--store", Tiny().path, "--precision", "int8", "--limit", "5",
                       "--depth", "10", "--threads", "1", "--resamples", "100"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StartsWith(ran.out, "text_to_image, int8 and float32: 5 queries\n"));
  REQUIRE(absl::StrContains(ran.out, "\nimage_to_text, int8 and float32: 5 queries\n"));
  for (const char* part :
       {"R@1 float32", "R@1 int8", "difference [95 %]", "top-10 overlap", "retrieval", "replace"}) {
    INFO(part);
    REQUIRE(absl::StrContains(ran.out, part));
  }
}

TEST_CASE("captions are written as questions that name every right picture") {
  const Ran all = Run({"write-questions", "--store", Tiny().path});
  INFO(all.err);
  REQUIRE(all.status == 0);
  const auto questions = ParseQuestions(all.out);
  REQUIRE(questions.ok());
  REQUIRE(questions->size() == 36);
  const auto some =
      ParseQuestions(Run({"write-questions", "--store", Tiny().path, "--limit", "5"}).out);
  REQUIRE(some.ok());
  REQUIRE(some->size() == 5);
  REQUIRE(some->front().query == questions->front().query);
  REQUIRE(some->front().expected == questions->front().expected);
  REQUIRE(Run({"write-questions"}).status == 2);
  REQUIRE(Run({"write-questions", "--store", Tiny().path, "word"}).status == 2);
  const Ran none = Run({"write-questions", "--store", Tiny().path, "--language", "xx"});
  REQUIRE(none.status == 1);
  REQUIRE(absl::StrContains(none.err, "no caption in language 'xx'"));
}

TEST_CASE("a fleet that does not answer is exit status 75") {
  const std::vector<std::string> nobody = {"--store",   Tiny().path, "--router", "127.0.0.1:1",
                                           "--timeout", "1s",        "--limit",  "2"};
  for (const char* command : {"measure", "compare"}) {
    std::vector<std::string> args = {command};
    args.insert(args.end(), nobody.begin(), nobody.end());
    const Ran ran = Run(args);
    INFO(ran.err);
    REQUIRE(ran.status == 75);
    REQUIRE(absl::StrContains(ran.err, "UNAVAILABLE"));
  }
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("q"), "{\"query\":\"fish\",\"expect\":[\"a\"]}").ok());
  const Ran ran = Run(
      {"questions", "--questions", dir.File("q"), "--router", "127.0.0.1:1", "--timeout", "1s"});
  REQUIRE(ran.status == 75);
  REQUIRE(absl::EndsWith(ran.out, "hits@10: 0/1\n"));
}

}  // namespace
}  // namespace sightline
