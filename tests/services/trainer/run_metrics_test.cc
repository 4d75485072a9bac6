#include "services/trainer/run_metrics.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

RunMetrics Parsed(const std::string& text) {
  const absl::StatusOr<RunMetrics> run = ParseRunMetrics(text);
  INFO(run.status());
  REQUIRE(run.ok());
  return *run;
}

// "50:1.5 100:-" for points, a line of a number in steps.
std::string PointsText(const std::vector<PlotPoint>& points) {
  std::string text;
  for (const PlotPoint& point : points) {
    absl::StrAppend(&text, text.empty() ? "" : " ", point.x, ":",
                    std::isnan(point.y) ? "-" : absl::StrCat(point.y));
  }
  return text;
}

std::string LinesText(const std::vector<MetricsLine>& lines) {
  std::string text;
  for (const MetricsLine& line : lines) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", line.name, " ", PointsText(line.points));
  }
  return text;
}

std::string LearnStep(int step, const std::string& loss) {
  return absl::StrCat(R"({"event":"step","step":)", step,
                      R"(,"steps":400,"tasks":[{"objective":"cmr","steps":9,"loss":)", loss,
                      R"(,"first":0.25},{"objective":"mlm","steps":1,"loss":7,"first":0}],)",
                      R"("rate":0.5,"gradient_norm":2,"items_per_second":3})", "\n");
}

TEST_CASE("a run by a recipe has a line for each task and each number") {
  const RunMetrics run = Parsed(LearnStep(50, "1.5") + LearnStep(100, "1"));
  REQUIRE(LinesText(run.of(StepNumber::kLoss)) == "cmr 50:1.5 100:1; mlm 50:7 100:7");
  REQUIRE(LinesText(run.of(StepNumber::kFirst)) == "cmr 50:0.25 100:0.25; mlm 50:0 100:0");
  REQUIRE(LinesText(run.of(StepNumber::kRate)) == " 50:0.5 100:0.5");
  REQUIRE(LinesText(run.of(StepNumber::kGradientNorm)) == " 50:2 100:2");
  REQUIRE(LinesText(run.of(StepNumber::kItemsPerSecond)) == " 50:3 100:3");
  REQUIRE(run.of(StepNumber::kTemperature).empty());
  REQUIRE(run.stages.size() == 1);
  REQUIRE(run.stages[0].step == 100);
  REQUIRE(run.stages[0].steps == 400);
  REQUIRE(run.problem_count == 0);
  REQUIRE_FALSE(run.cut_off);
}

TEST_CASE("of two lines for the same step the later one holds") {
  const RunMetrics run =
      Parsed(LearnStep(50, "1") + LearnStep(100, "2") + LearnStep(50, "3") + LearnStep(75, "4"));
  REQUIRE(LinesText({run.of(StepNumber::kLoss)[0]}) == "cmr 50:3 75:4 100:2");
}

TEST_CASE("an objective that a recipe has twice makes two lines") {
  const RunMetrics run = Parsed(R"({"event":"step","step":1,"tasks":[{"objective":"a","loss":1},)"
                                R"({"objective":"a","loss":2}]})");
  REQUIRE(LinesText(run.of(StepNumber::kLoss)) == "a 1:1; a (2) 1:2");
}

TEST_CASE("the stages of a joint run follow one another") {
  const RunMetrics run = Parsed(
      R"({"event":"step","stage":"bi","step":50,"steps":110,"bi_loss":2,"bi_accuracy":0.5}
{"event":"validation","stage":"bi","step":110,"pool":9,"validation":{"queries":2,"retrieval":{"recall_at_1":10,"recall_at_5":20,"recall_at_10":30}},"training":{"queries":2,"retrieval":{"recall_at_1":40,"recall_at_5":50,"recall_at_10":60}}}
{"event":"step","stage":"joint","step":5,"steps":20,"bi_loss":1,"cross_loss":4,"cross_accuracy":0.1,"temperature":0.07}
{"event":"checkpoint","stage":"joint","step":6,"path":"c","bytes":12}
{"event":"note","message":"said"}
{"event":"validation","stage":"joint","step":20,"validation":{"queries":2,"retrieval":{"recall_at_1":11,"recall_at_5":21,"recall_at_10":31},"reranked":{"recall_at_1":12},"best":{"recall_at_1":13,"combination":"replace"}},"image_to_text":{"queries":2,"retrieval":{"recall_at_1":14}}}
)");
  REQUIRE(run.stages.size() == 2);
  REQUIRE(run.stages[1].name == "joint");
  REQUIRE(run.stages[1].begin == 110);
  REQUIRE(LinesText(run.of(StepNumber::kLoss)) == "bi 50:2 115:1; cross 115:4");
  REQUIRE(LinesText(run.of(StepNumber::kFirst)) == "bi 50:0.5; cross 115:0.1");
  REQUIRE(LinesText(run.of(StepNumber::kTemperature)) == " 115:0.07");
  std::string recalls;
  for (const RecallLine& line : run.recalls) {
    absl::StrAppend(&recalls, line.name, " ", PointsText(line.at[0]), "; ");
  }
  REQUIRE(recalls ==
          "validation, retrieval 110:10 130:11; training, retrieval 110:40; "
          "validation, reranked 130:12; validation, best combination 130:13; "
          "validation, image to text, retrieval 130:14; ");
  REQUIRE(PointsText(run.recalls[0].at[2]) == "110:30 130:31");
  REQUIRE(run.checkpoints.size() == 1);
  REQUIRE(run.checkpoints[0].x == 116);
  REQUIRE(run.checkpoints[0].bytes == 12);
  REQUIRE(run.notes.size() == 1);
  REQUIRE(run.notes[0].x == 116);
  REQUIRE(run.notes[0].message == "said");
}

TEST_CASE("a look at development pictures has its score, and the recalls of each way") {
  const RunMetrics run = Parsed(
      R"({"event":"development","step":200,"score":50,"best":true,"findings":[{"by":"towers","score":50,"text_to_image":{"recall_at_1":1,"recall_at_5":2,"recall_at_10":3},"image_to_text":{"recall_at_1":4,"recall_at_5":5,"recall_at_10":6}}]}
{"event":"development","step":400,"score":40,"best":false,"findings":[]}
)");
  REQUIRE(run.scores.size() == 2);
  REQUIRE(run.scores[0].best);
  REQUIRE_FALSE(run.scores[1].best);
  REQUIRE(run.scores[1].at.y == 40);
  REQUIRE(run.recalls.size() == 2);
  REQUIRE(run.recalls[1].name == "towers, image to text");
  REQUIRE(PointsText(run.recalls[1].at[1]) == "200:5");
}

TEST_CASE("a loss that was no number is a gap and is told") {
  const RunMetrics run =
      Parsed(LearnStep(50, "1") + LearnStep(100, "null") + LearnStep(150, "1e300"));
  REQUIRE(LinesText({run.of(StepNumber::kLoss)[0]}) == "cmr 50:1 100:- 150:-");
  REQUIRE(run.gaps.size() == 1);
  REQUIRE(run.gaps[0].name == "loss of cmr");
  REQUIRE(run.gaps[0].count == 2);
  REQUIRE(run.gaps[0].first_x == 100);
}

TEST_CASE("every end that a kill leaves is told, and what stands before it is taken") {
  const std::string whole = LearnStep(50, "1");
  const std::string last = LearnStep(100, "2");
  for (size_t kept = 1; kept + 1 < last.size(); ++kept) {
    const RunMetrics run = Parsed(whole + last.substr(0, kept));
    REQUIRE(run.cut_off);
    REQUIRE(run.problem_count == 0);
    REQUIRE(LinesText(run.of(StepNumber::kRate)) == " 50:0.5");
  }
  // Only the line's end is missing.
  const RunMetrics run = Parsed(whole + last.substr(0, last.size() - 1));
  REQUIRE_FALSE(run.cut_off);
  REQUIRE(LinesText(run.of(StepNumber::kRate)) == " 50:0.5 100:0.5");
}

TEST_CASE("lines that are no reports are left out and told by number") {
  const RunMetrics run = Parsed(absl::StrCat(LearnStep(50, "1"), "\n", R"({"event":"st)",
                                             LearnStep(75, "1"), LearnStep(100, "2")));
  REQUIRE(run.problem_count == 1);
  REQUIRE_THAT(run.problems[0], Contains("line 3: is no JSON object"));
  REQUIRE(LinesText(run.of(StepNumber::kRate)) == " 50:0.5 100:0.5");
  REQUIRE(Parsed("{\"event\":\"of tomorrow\",\"step\":-1}\n").problem_count == 0);
}

TEST_CASE("lines of a stranger are refused one by one") {
  const std::string deep(100'000, '[');
  std::string many = R"({"event":"step","step":1,"tasks":[)";
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&many, i == 0 ? "" : ",", R"({"objective":"o)", i, R"(","loss":1})");
  }
  absl::StrAppend(&many, "]}");
  for (const std::string& line :
       {std::string("[]"), std::string("{}"), std::string(R"({"event":7})"), deep, many,
        std::string(R"({"event":"step","step":-1})"), std::string(R"({"event":"step","step":1.5})"),
        std::string(R"({"event":"step","step":99999999999999999})"),
        std::string(R"({"event":"step","step":1,"rate":"fast"})"),
        std::string(R"({"event":"step","step":1,"rate":1e999})"),
        std::string(R"({"event":"step","step":1,"tasks":7})"),
        std::string(R"({"event":"step","step":1,"tasks":[7]})"),
        std::string(R"({"event":"step","step":1,"stage":7})"),
        std::string(R"({"event":"development","step":1,"findings":{}})"),
        std::string(R"({"event":"checkpoint","step":1,"path":"p","bytes":-3})"),
        std::string(R"({"event":"note"})"), "\"" + std::string(2 << 20, 'a') + "\""}) {
    const RunMetrics run = Parsed(LearnStep(50, "1") + line + "\n" + LearnStep(100, "2"));
    INFO(line.substr(0, 80));
    REQUIRE(run.problem_count == 1);
    REQUIRE(run.problems[0].size() < 300);
    REQUIRE(run.of(StepNumber::kRate)[0].points.size() >= 2);
    REQUIRE(run.of(StepNumber::kLoss).size() <= 64);
  }
}

TEST_CASE("an empty run has nothing, and a file of something else is refused") {
  for (const char* text : {"", "\n\n", "{\"event\":\"st"}) {
    const RunMetrics run = Parsed(text);
    REQUIRE(run.stages.empty());
    REQUIRE(run.recalls.empty());
  }
  const absl::StatusOr<RunMetrics> run = ParseRunMetrics("a,b\n1,2\n");
  REQUIRE(run.status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(run.status().message()), Contains("line 1: is no JSON object"));
}

}  // namespace
}  // namespace sightline
