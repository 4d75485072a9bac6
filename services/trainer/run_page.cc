#include "services/trainer/run_page.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/config/table.h"
#include "common/plot/line_chart.h"
#include "common/plot/page.h"
#include "common/plot/xml_text.h"

namespace sightline {
namespace {

constexpr size_t kFewPoints = 40;  // that are marked one by one
constexpr double kMegabyte = 1e6;

std::string Whole(double value) {
  return absl::StrFormat("%.0f", value);
}
std::string FourDigits(double value) {
  return absl::StrFormat("%.4g", value);
}
std::string Share(double value) {
  return absl::StrFormat("%.1f %%", 100 * value);
}
std::string Percent(double value) {
  return absl::StrFormat("%.1f %%", value);
}

// What a plot is about.
struct Subject {
  const char* id;
  const char* title;
  const char* caption;
  const char* unit;
  Axis::Label label;
};

double LastStep(const RunMetrics& run) {
  double last = 0;
  for (const RunMetrics::Stage& stage : run.stages) {
    last = std::max(last, stage.begin + static_cast<double>(stage.step));
  }
  return last;
}

bool HasPoints(const std::vector<ChartLine>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const ChartLine& line) { return !line.points.empty(); });
}

void AddStages(const RunMetrics& run, Plot* plot) {
  if (run.stages.size() < 2) return;
  for (const RunMetrics::Stage& stage : run.stages) {
    const double end = stage.begin + static_cast<double>(std::max(stage.steps, stage.step));
    if (stage.begin > 0) plot->VerticalLine(stage.begin, "border");
    plot->BandLabel(stage.begin, end, stage.name, "note");
  }
}

void MarkFewPoints(std::vector<ChartLine>* lines) {
  for (ChartLine& line : *lines) line.dots = line.points.size() <= kFewPoints;
}

// Of what was not reported there is none.
absl::optional<Plot> Chart(const Subject& subject, const RunMetrics& run, const Axis& y,
                           std::vector<ChartLine> lines) {
  if (!HasPoints(lines)) return absl::nullopt;
  PlotText text;
  text.id = subject.id;
  text.title = subject.title;
  text.caption = subject.caption;
  text.description = subject.caption;
  text.x_unit = "step";
  text.y_unit = subject.unit;
  Plot plot = LineChart(std::move(text), Axis::FromZero(LastStep(run), Whole), y, std::move(lines),
                        Whole, subject.label);
  AddStages(run, &plot);
  return plot;
}

std::string Drawn(const absl::optional<Plot>& plot) {
  return plot.has_value() ? plot->Html() : "";
}

std::vector<ChartLine> LinesOf(const RunMetrics& run, StepNumber number, const char* alone) {
  std::vector<ChartLine> lines;
  for (const MetricsLine& line : run.of(number)) {
    ChartLine& chart = lines.emplace_back();
    chart.name = line.name.empty() ? alone : line.name;
    chart.points = line.points;
  }
  MarkFewPoints(&lines);
  return lines;
}

std::string NumberPlot(const Subject& subject, const RunMetrics& run, StepNumber number) {
  std::vector<ChartLine> lines = LinesOf(run, number, subject.title);
  const Axis y = ChartAxis(RangeOfY(lines), subject.label);
  return Drawn(Chart(subject, run, y, std::move(lines)));
}

std::string FirstPlot(const RunMetrics& run) {
  const Subject subject = {"first", "Right answer first",
                           "Share of what was ranked in training batches whose right answer came "
                           "first, mean since the report before.",
                           "share first", Share};
  return Drawn(Chart(subject, run, Axis::FromZero(1, Share), LinesOf(run, StepNumber::kFirst, "")));
}

std::string NumberPlots(const RunMetrics& run) {
  return absl::StrCat(
      NumberPlot({"loss", "Loss", "Loss of each task, mean of its steps since the report before.",
                  "loss", FourDigits},
                 run, StepNumber::kLoss),
      FirstPlot(run));
}

std::string MachineryPlots(const RunMetrics& run) {
  return absl::StrCat(
      NumberPlot(
          {"rate", "Learning rate", "Rate of the last step of each report.", "rate", FourDigits},
          run, StepNumber::kRate),
      NumberPlot({"gradient-norm", "Gradient norm", "Norm of the gradient before it is clipped.",
                  "norm", FourDigits},
                 run, StepNumber::kGradientNorm),
      NumberPlot(
          {"temperature", "Temperature", "By which scores are divided.", "temperature", FourDigits},
          run, StepNumber::kTemperature),
      NumberPlot(
          {"speed", "Speed", "Items a second since the report before.", "items/s", FourDigits}, run,
          StepNumber::kItemsPerSecond));
}

std::string RecallPlots(const RunMetrics& run) {
  constexpr const char* kIds[] = {"recall-at-1", "recall-at-5", "recall-at-10"};
  constexpr const char* kTitles[] = {"R@1", "R@5", "R@10"};
  constexpr const char* kCaptions[] = {"Queries with a right answer at the first place.",
                                       "Queries with a right answer among the first five.",
                                       "Queries with a right answer among the first ten."};
  std::string html;
  for (int i = 0; i < 3; ++i) {
    const Subject subject = {kIds[i], kTitles[i], kCaptions[i], "recall", Percent};
    std::vector<ChartLine> lines;
    for (const RecallLine& recall : run.recalls) {
      lines.emplace_back().name = recall.name;
      lines.back().points = recall.at[i];
    }
    MarkFewPoints(&lines);
    html += Drawn(Chart(subject, run, Axis::FromZero(100, Percent), std::move(lines)));
  }
  return html;
}

std::string ScorePlot(const RunMetrics& run) {
  ChartLine line;
  line.name = "AR";
  for (const RunMetrics::Score& score : run.scores) line.points.push_back(score.at);
  const Subject subject = {"score", "Development score",
                           "Mean of R@1, 5 and 10 in both directions among the development "
                           "pictures.  A cross: no look before it was as good, so that these "
                           "weights were kept.",
                           "AR", Percent};
  absl::optional<Plot> plot = Chart(subject, run, Axis::FromZero(100, Percent), {line});
  if (!plot.has_value()) return "";
  for (const RunMetrics::Score& score : run.scores) {
    if (std::isnan(score.at.y)) continue;
    if (score.best) {
      plot->Cross(score.at, "series2 point");
    } else if (run.scores.size() <= kFewPoints) {
      plot->Dot(score.at, "series1 point");
    }
  }
  plot->AddLegend(LegendShape::kCross, "series2 point", "best so far");
  return plot->Html();
}

std::string Checkpoints(const RunMetrics& run) {
  HtmlTable table({"stage", "file", "step", "MB"}, 2);
  for (const RunMetrics::Checkpoint& checkpoint : run.checkpoints) {
    table.AddRow({checkpoint.stage, checkpoint.path, WithThousands(checkpoint.step),
                  absl::StrFormat("%.1f", static_cast<double>(checkpoint.bytes) / kMegabyte)});
  }
  return table.empty() ? "" : PageSection("checkpoints", "Checkpoints", table.Html());
}

std::string Notes(const RunMetrics& run) {
  HtmlTable table({"after step", "note"}, HtmlTable::kNoNumbers);
  for (const RunMetrics::Note& note : run.notes) table.AddRow({Whole(note.x), note.message});
  return table.empty() ? "" : PageSection("notes", "Notes", table.Html());
}

std::string StageText(const RunMetrics::Stage& stage) {
  std::string text = stage.name.empty() ? "" : absl::StrCat(stage.name, ": ");
  absl::StrAppend(&text, "step ", WithThousands(stage.step));
  if (stage.steps > 0) absl::StrAppend(&text, " of ", WithThousands(stage.steps));
  return text;
}

std::string Head(absl::string_view name, const RunMetrics& run) {
  std::string lead;
  for (const RunMetrics::Stage& stage : run.stages) {
    absl::StrAppend(&lead, lead.empty() ? "" : "; ", StageText(stage));
  }
  std::string html = absl::StrCat(
      "<h1>", XmlText(absl::StrCat("Training run ", name)), "</h1>\n",
      PageParagraph("lead", lead.empty() ? "The run has not reported a step yet." : lead));
  for (const std::string& doubt : RunDoubts(run)) html += PageParagraph("doubt", doubt);
  return html;
}

}  // namespace

std::vector<std::string> RunDoubts(const RunMetrics& run) {
  std::vector<std::string> doubts;
  if (run.cut_off) doubts.emplace_back("The last line has no end and was left out.");
  if (run.problem_count > 0) {
    std::string doubt =
        run.problem_count == 1
            ? "1 line is no report and was left out"
            : absl::StrCat(run.problem_count, " lines are no reports and were left out");
    for (const std::string& problem : run.problems) absl::StrAppend(&doubt, "; ", problem);
    doubts.push_back(doubt + ".");
  }
  for (const RunMetrics::Gap& gap : run.gaps) {
    doubts.push_back(absl::StrCat("The ", gap.name, " is no number in ", gap.count,
                                  gap.count == 1 ? " report" : " reports", ", the first at step ",
                                  Whole(gap.first_x), "."));
  }
  return doubts;
}

std::string RunPage(absl::string_view name, const RunMetrics& run) {
  return HtmlPage(absl::StrCat("Training run ", name),
                  absl::StrCat(Head(name, run), NumberPlots(run), ScorePlot(run), RecallPlots(run),
                               MachineryPlots(run), Checkpoints(run), Notes(run)));
}

}  // namespace sightline
