#include "services/sightlinectl/precision_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/table.h"
#include "common/models/precision/policy.h"
#include "common/plot/plot.h"
#include "services/sightlinectl/model_text.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionAgreement;
using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;
using Reports = absl::Span<const PrecisionReport>;
using Json = nlohmann::ordered_json;

constexpr const char* kPrecisions[] = {"float32", "bfloat16", "int8"};
constexpr ModelPart kParts[] = {ModelPart::kPairs, ModelPart::kTexts};

std::string Share(double share) {
  return absl::StrFormat("%.4f", share);
}

std::string Difference(double difference) {
  return absl::StrFormat("%.3g", difference);
}

std::string CpuText(const PrecisionReport& report) {
  return report.cpu_name().empty() ? report.cpu()
                                   : absl::StrCat(report.cpu(), " (", report.cpu_name(), ")");
}

bool HasPart(const PrecisionReport& report, ModelPart part) {
  return ScoresOf(report.results(0), part) != nullptr;
}

bool HasScores(const PrecisionReport& report) {
  return HasPart(report, ModelPart::kPairs) || HasPart(report, ModelPart::kTexts);
}

int TextCount(const PrecisionReport& report) {
  const PrecisionResult& reference = report.results(0);
  const PrecisionScores& scores = reference.has_pairs() ? reference.pairs() : reference.texts();
  return scores.scores_size() / report.item_count();
}

std::string ProbesText(const PrecisionReport& report) {
  const std::string count =
      absl::StrCat(TextCount(report), " texts and ", report.item_count(), " items");
  if (report.drawn()) return count + ", drawn at random: the bundle has none (add-probes)";
  return absl::StrCat(count, " of the bundle; ", report.labelled_text_count(),
                      " texts mean known items");
}

// --- one report ---

std::string PartTable(const PrecisionReport& report, ModelPart part) {
  const char* const unit = part == ModelPart::kPairs ? "ms a pair" : "ms a text";
  Table table({{"precision"},
               {"kernel"},
               {"top 10", true},
               {"Kendall", true},
               {"greatest", true},
               {"mean", true},
               {"deviation", true},
               {"R@1", true},
               {unit, true},
               {"float32 / this", true}});
  const double reference = ScoresOf(report.results(0), part)->seconds();
  for (const PrecisionResult& result : report.results()) {
    const PrecisionScores& scores = *ScoresOf(result, part);
    const PrecisionAgreement& agreement = scores.agreement();
    table.AddRow({result.precision(), result.kernel(), Share(agreement.top10_overlap()),
                  Share(agreement.kendall()), Difference(agreement.greatest_difference()),
                  Difference(agreement.mean_difference()), Difference(agreement.score_deviation()),
                  report.labelled_text_count() == 0 ? "-" : Share(agreement.recall_at_1()),
                  absl::StrFormat("%.3f", scores.seconds() * 1e3),
                  absl::StrFormat("%.2f", reference / scores.seconds())});
  }
  return absl::StrCat(PartName(part), "\n", table.ToString(2));
}

std::string LackingText(const PrecisionReport& report) {
  std::string text;
  for (const char* precision : kPrecisions) {
    const bool has =
        std::any_of(report.results().begin(), report.results().end(),
                    [&](const PrecisionResult& result) { return result.precision() == precision; });
    if (!has)
      absl::StrAppend(&text, precision, ": this CPU (", Printable(report.cpu(), 0), ") has none\n");
  }
  return text;
}

std::string PickText(const PrecisionReport& report) {
  PrecisionPolicy policy;
  policy.precision = std::string(kFastest);
  const absl::StatusOr<PrecisionChoice> choice = Choose(policy, report);
  // It does not refuse.
  if (!choice.ok()) return absl::StrCat(choice.status().message(), "\n");
  return absl::StrCat("fastest at ", policy.least_agreement, ": ", choice->precision,
                      ", whose top 10 agrees in ", Share(choice->agreement), "\n");
}

// --- several ---

std::string NameOf(Reports reports, PrecisionOnCpu at) {
  return absl::StrCat(reports[at.report].results(at.result).precision(), " on ", at.report + 1);
}

std::string WorstTable(const PrecisionBound& bound) {
  Table table({{"part"},
               {"precision"},
               {"top 10", true},
               {"on", true},
               {"Kendall", true},
               {"greatest difference", true}});
  for (const WorstAgreement& worst : bound.worst) {
    table.AddRow({PartName(worst.part), worst.precision, Share(worst.top10_overlap),
                  absl::StrCat(worst.report + 1), Share(worst.kendall),
                  Difference(worst.greatest_difference)});
  }
  return table.ToString(2);
}

std::string DistanceTable(Reports reports, const PrecisionBound& bound) {
  Table table({{"part"},
               {"one"},
               {"other"},
               {"top 10", true},
               {"of a text", true},
               {"Kendall", true},
               {"greatest difference", true},
               {"by"}});
  for (const PrecisionDistance& distance : bound.distances) {
    const bool measured = distance.least_top10_overlap.has_value();
    table.AddRow({PartName(distance.part), NameOf(reports, distance.a), NameOf(reports, distance.b),
                  Share(distance.top10_overlap),
                  measured ? Share(*distance.least_top10_overlap) : "-", Share(distance.kendall),
                  Difference(distance.greatest_difference), measured ? "scores" : "float32"});
  }
  return table.ToString(2);
}

bool AnyEstimated(const PrecisionBound& bound) {
  return std::any_of(
      bound.distances.begin(), bound.distances.end(),
      [](const PrecisionDistance& distance) { return !distance.least_top10_overlap.has_value(); });
}

Json PlaceJson(Reports reports, PrecisionOnCpu at) {
  return {{"report", at.report}, {"precision", reports[at.report].results(at.result).precision()}};
}

Json DistanceJson(Reports reports, const PrecisionDistance& distance) {
  Json json = {{"part", PartName(distance.part)},
               {"one", PlaceJson(reports, distance.a)},
               {"other", PlaceJson(reports, distance.b)},
               {"top10_overlap", distance.top10_overlap},
               {"kendall", distance.kendall},
               {"greatest_difference", distance.greatest_difference},
               {"by", distance.least_top10_overlap.has_value() ? "scores" : "float32"}};
  if (distance.least_top10_overlap.has_value()) {
    json["least_top10_overlap"] = *distance.least_top10_overlap;
  }
  return json;
}

// --- plot ---

// float32 is the same mark of all.
struct Mark {
  PlotPoint point;
  std::string label, css;
};

std::vector<Mark> MarksOf(Reports reports) {
  std::vector<Mark> marks = {{{1, 1}, reports[0].results(0).precision(), "reference"}};
  for (size_t r = 0; r < reports.size(); ++r) {
    for (const ModelPart part : kParts) {
      if (!HasPart(reports[r], part)) continue;
      const double reference = ScoresOf(reports[r].results(0), part)->seconds();
      for (const PrecisionResult& result : reports[r].results()) {
        if (&result == &reports[r].results(0)) continue;
        const PrecisionScores& scores = *ScoresOf(result, part);
        std::string label = absl::StrCat(result.precision(), ", ", PartName(part));
        if (reports.size() > 1) absl::StrAppend(&label, ", CPU ", r + 1);
        marks.push_back({{reference / scores.seconds(), scores.agreement().top10_overlap()},
                         std::move(label),
                         PartName(part)});
      }
    }
  }
  return marks;
}

}  // namespace

std::string ReportText(const PrecisionReport& report) {
  std::string text = absl::StrCat(
      "model ", Printable(report.model(), 0), "\n",
      AlignedLines({{"CPU", CpuText(report)},
                    {"threads", absl::StrCat(report.thread_count())},
                    {"program", report.program()},
                    {"probes", HasScores(report) ? ProbesText(report) : std::string("none")}}));
  if (!HasScores(report)) {
    return text + "the model has no transformer blocks: it computes in float32 alone\n";
  }
  for (const ModelPart part : kParts) {
    if (HasPart(report, part)) text += PartTable(report, part);
  }
  return absl::StrCat(text, LackingText(report), PickText(report));
}

std::string BoundText(Reports reports, const PrecisionBound& bound) {
  Table cpus({{"", true}, {"CPU"}, {"probes"}});
  for (size_t r = 0; r < reports.size(); ++r) {
    cpus.AddRow({absl::StrCat(r + 1), CpuText(reports[r]),
                 HasScores(reports[r]) ? ProbesText(reports[r]) : "none"});
  }
  std::string text =
      absl::StrCat("model ", Printable(reports[0].model(), 0), "\n", cpus.ToString(2));
  if (bound.distances.empty()) return text + "they have no scores to compare\n";
  absl::StrAppend(&text, "least agreement with float32\n", WorstTable(bound), "between replicas\n",
                  DistanceTable(reports, bound));
  if (AnyEstimated(bound)) {
    text +=
        "by float32: the two have other probes, so that each is held against its own float32, and "
        "the two float32 are taken to be alike\n";
  }
  return text;
}

std::string BoundJson(Reports reports, const PrecisionBound& bound) {
  Json json = {{"model", reports[0].model()}, {"program", reports[0].program()}};
  Json& cpus = json["reports"] = Json::array();
  for (const PrecisionReport& report : reports) {
    cpus.push_back(
        {{"cpu", report.cpu()}, {"cpu_name", report.cpu_name()}, {"probes", report.probes()}});
  }
  Json& worst = json["worst"] = Json::array();
  for (const WorstAgreement& entry : bound.worst) {
    worst.push_back({{"part", PartName(entry.part)},
                     {"precision", entry.precision},
                     {"top10_overlap", entry.top10_overlap},
                     {"report", entry.report},
                     {"kendall", entry.kendall},
                     {"greatest_difference", entry.greatest_difference}});
  }
  Json& between = json["between"] = Json::array();
  for (const PrecisionDistance& distance : bound.distances) {
    between.push_back(DistanceJson(reports, distance));
  }
  return absl::StrCat(json.dump(1, ' ', false, Json::error_handler_t::replace), "\n");
}

std::string PrecisionPlot(Reports reports) {
  const std::vector<Mark> marks = MarksOf(reports);
  PrecisionPolicy policy;
  double fastest = 1, least = policy.least_agreement - 0.01;
  for (const Mark& mark : marks) {
    fastest = std::max(fastest, mark.point.x);
    least = std::min(least, mark.point.y - 0.01);
  }
  PlotText text;
  text.id = "precisions";
  text.title = absl::StrCat("Precisions of model ", reports[0].model().substr(0, 12));
  text.description = "Share of the ten best items that are float32's, over speed";
  text.x_unit = "times as fast as float32";
  text.y_unit = "top 10 as in float32";
  const auto number = [](double value) { return absl::StrFormat("%.4g", value); };
  Plot plot(text, Axis::FromZero(fastest * 1.15, number), Axis::Linear(least, 1.0, number));
  plot.HorizontalLine(0, fastest * 2, policy.least_agreement, "floor");
  for (const Mark& mark : marks) {
    if (mark.css == PartName(ModelPart::kTexts)) {
      plot.Cross(mark.point, mark.css);
    } else {
      plot.Dot(mark.point, mark.css);
    }
    plot.Note(mark.point, mark.label, "note");
  }
  return plot.File(
      ".pairs{fill:#2264bd}.texts{stroke:#b05a00;stroke-width:2.2;fill:none}"
      ".reference{fill:#14140f}.floor{stroke:#11845b;stroke-dasharray:4 3}");
}

}  // namespace sightline
