// `trainer page` over runs that were written by hand.
#include "services/trainer/page_command.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

struct Ran {
  int status;
  std::string out, err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunPageCommand(args, {out, err});
  return {status, out.str(), err.str()};
}

constexpr char kLearn[] =
    R"({"event":"step","step":50,"steps":400,"tasks":[{"objective":"cmr","steps":9,"loss":4.5,"first":0.25}],"rate":0.001,"gradient_norm":2,"temperature":0.07,"items_per_second":30}
{"event":"step","step":100,"steps":400,"tasks":[{"objective":"cmr","steps":9,"loss":3.5,"first":0.5}],"rate":0.0005,"gradient_norm":2,"temperature":0.07,"items_per_second":30}
{"event":"checkpoint","step":100,"path":"run/checkpoints/c","bytes":2500000}
{"event":"development","step":100,"score":50,"best":true,"findings":[{"by":"towers","text_to_image":{"recall_at_1":1,"recall_at_5":2,"recall_at_10":3},"image_to_text":{"recall_at_1":4,"recall_at_5":5,"recall_at_10":6}}]}
{"event":"note","message":"continues <behind> step 100"}
)";
constexpr char kTrain[] =
    R"({"event":"step","stage":"bi","step":50,"steps":110,"bi_loss":2,"bi_accuracy":0.5,"rate":1,"gradient_norm":1,"temperature":1,"items_per_second":1}
{"event":"step","stage":"joint","step":5,"steps":20,"cross_loss":4,"cross_accuracy":0.1,"rate":1,"gradient_norm":1,"temperature":1,"items_per_second":1}
{"event":"validation","stage":"joint","step":20,"validation":{"queries":2,"retrieval":{"recall_at_1":11,"recall_at_5":21,"recall_at_10":31}}}
)";

// Writes the metrics, draws them, and returns the page.
std::string PageOf(const std::string& metrics, std::string* told = nullptr) {
  const TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("metrics.jsonl"), metrics).ok());
  const Ran ran = Run({"--run", dir.path()});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(ran.out == dir.File("page.html") + "\n");
  if (told != nullptr) *told = ran.err;
  const absl::StatusOr<std::string> page = ReadFile(dir.File("page.html"));
  REQUIRE(page.ok());
  const std::string drawn = absl::StrReplaceAll(*page, {{dir.path(), ""}});
  REQUIRE_THAT(drawn, !Contains("nan") && !Contains("\"inf"));
  return *page;
}

bool HasPlot(const std::string& page, const std::string& id) {
  const bool wide = page.find("id=\"" + id + "-wide\"") != std::string::npos;
  const bool narrow = page.find("id=\"" + id + "-narrow\"") != std::string::npos;
  REQUIRE(wide == narrow);
  return wide;
}

TEST_CASE("a run by a recipe has every plot, its checkpoints and its notes") {
  std::string told;
  const std::string page = PageOf(kLearn, &told);
  REQUIRE(told.empty());
  for (const char* id : {"loss", "first", "score", "recall-at-1", "recall-at-5", "recall-at-10",
                         "rate", "gradient-norm", "temperature", "speed"}) {
    INFO(id);
    REQUIRE(HasPlot(page, id));
  }
  for (const char* text :
       {"step 100 of 400", "run/checkpoints/c", "2.5</td>", "continues &lt;behind&gt; step 100",
        "towers, image to text", "best so far", "default-src 'none'"}) {
    REQUIRE_THAT(page, Contains(text));
  }
  // Values under the pointer.
  REQUIRE_THAT(page, Contains("data-hover=\"\tcmr\n50\t4.5\n100\t3.5\""));
}

TEST_CASE("looks at development pictures are dots, and the best ones so far crosses") {
  std::string metrics;
  for (const char* look :
       {R"("step":1,"score":10,"best":true)", R"("step":2,"score":5,"best":false)",
        R"("step":3,"score":null,"best":true)", R"("step":4,"score":7,"best":false)"}) {
    absl::StrAppend(&metrics, R"({"event":"development",)", look, "}\n");
  }
  const std::string page = PageOf(metrics);
  const size_t begin = page.find("id=\"score-wide\"");
  const std::string plot = page.substr(begin, page.find("</svg>", begin) - begin);
  const auto count = [&plot](const std::string& part) {
    int found = 0;
    for (size_t at = plot.find(part); at != std::string::npos; at = plot.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  REQUIRE(count("<circle class=\"series1 point\"") == 2);
  REQUIRE(count("<path class=\"series2 point\"") == 1);
}

TEST_CASE("a joint run has its stages side by side and no plot of what it does not report") {
  const std::string page = PageOf(kTrain);
  REQUIRE_FALSE(HasPlot(page, "score"));
  REQUIRE(HasPlot(page, "recall-at-10"));
  REQUIRE_THAT(page, Contains("bi: step 50 of 110; joint: step 20 of 20"));
  REQUIRE_THAT(page, Contains("class=\"border\""));
  REQUIRE_THAT(page, Contains("\n50\t2\t-\n115\t-\t4\""));
}

TEST_CASE("what is left out is told on the page and on the terminal") {
  std::string told;
  const std::string page =
      PageOf(absl::StrCat(R"({"event":"step","step":50,"tasks":[{"objective":"<b>","loss":null}]})",
                          "\n", "nonsense\n", kLearn, R"({"event":"step","st)"),
             &told);
  for (const std::string& text : {page, told}) {
    REQUIRE_THAT(text, Contains("The last line has no end and was left out."));
    REQUIRE_THAT(text, Contains("1 line is no report and was left out; line 2: is no JSON"));
  }
  REQUIRE_THAT(told, Contains("The loss of <b> is no number in 1 report, the first at step 50."));
  REQUIRE_THAT(page, Contains("loss of &lt;b&gt; is no number"));
  REQUIRE_THAT(page, !Contains("<b>"));
}

TEST_CASE("a run that has not reported yet is a page without plots") {
  const std::string page = PageOf("");
  REQUIRE_THAT(page, Contains("has not reported a step yet"));
  REQUIRE_THAT(page, !Contains("<figure"));
}

TEST_CASE("numbers of a stranger are drawn or left out, in little time and space") {
  std::string metrics;
  for (const auto& [step, loss] :
       {std::pair("0", "1e15"), std::pair("1", "-1e15"), std::pair("2", "5e-324"),
        std::pair("3", "1e16"), std::pair("1099511627775", "-0.0"),
        std::pair("1099511627776", "999999999999999"), std::pair("1099511627777", "1")}) {
    absl::StrAppend(&metrics, R"({"event":"step","step":)", step,
                    R"(,"tasks":[{"objective":"a","loss":)", loss, R"(}],"rate":)", loss, "}\n");
  }
  for (int step = 0; step < 30'000; ++step) {
    absl::StrAppend(&metrics, R"({"event":"step","step":)", step, R"(,"gradient_norm":)", step,
                    "}\n");
  }
  const std::string page = PageOf(metrics);
  REQUIRE(page.size() < 1'000'000);
  REQUIRE_THAT(page, Contains("Of many points one in 15 is drawn."));
}

TEST_CASE("the page goes where it is told to") {
  const TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("metrics.jsonl"), kLearn).ok());
  const Ran ran = Run({"--run", dir.path(), "--out", dir.File("other.html")});
  REQUIRE(ran.out == dir.File("other.html") + "\n");
  REQUIRE(FileExists(dir.File("other.html")));
  REQUIRE_FALSE(FileExists(dir.File("page.html")));
}

TEST_CASE("a wrong command line is exit status 2, a folder without a run 1") {
  REQUIRE(Run({}).status == 2);
  REQUIRE_THAT(Run({}).err, Contains("give --run DIR"));
  REQUIRE(Run({"--run", "a", "b"}).status == 2);
  const TempDir dir;
  const Ran ran = Run({"--run", dir.path()});
  REQUIRE(ran.status == 1);
  REQUIRE_THAT(ran.err, Contains("NOT_FOUND") && Contains("metrics.jsonl"));
  REQUIRE(WriteFileAtomically(dir.File("metrics.jsonl"), "a,b\n").ok());
  REQUIRE_THAT(Run({"--run", dir.path()}).err, Contains("no line is a report"));
}

}  // namespace
}  // namespace sightline
