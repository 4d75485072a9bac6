// The page of a report: a plot, and what it is drawn of in tables.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/index/effort_curve.h"
#include "common/index/shard_rows.h"
#include "common/indexing/index_report.h"
#include "common/plot/line_chart.h"
#include "common/plot/page.h"
#include "common/plot/plot.h"
#include "common/plot/xml_text.h"

namespace sightline {
namespace {

using bundle::v1::EffortPoint;
using bundle::v1::GenerationManifest;

constexpr double kMilliseconds = 1e3;
// Where the plot ends: an axis of nines has no one.
constexpr double kMostRecall = 0.9995;
// Shards that are drawn; hundreds of them would cover all else.
constexpr int kMostDrawnShards = 8;

constexpr char kStyle[] =
    ".target{stroke:var(--s3);stroke-dasharray:4 3}"
    ".shard{stroke:var(--ink);stroke-width:2.6;stroke-dasharray:2 3}"
    "circle.shard{fill:var(--ink)}"
    ".chosen{stroke-width:3.2}";

struct Curve {
  std::vector<PlotPoint> points;
  std::string name;
  bool chosen = false;
};

// Of points without a time none.
std::vector<PlotPoint> PointsOf(const std::vector<EffortPoint>& efforts) {
  std::vector<PlotPoint> points;
  for (const EffortPoint& point : efforts) {
    if (point.seconds() <= 0) continue;
    points.push_back(
        {point.seconds() * kMilliseconds, std::min(point.recall_at_10(), kMostRecall)});
  }
  return points;
}

std::string NameOf(const bundle::v1::IndexSpec& spec) {
  if (spec.has_ivf()) {
    // Of bits along axes; pq4 has parts in any case.
    const bool along_axes = spec.ivf().code() == "rabitq" && spec.ivf().pq_parts() > 0;
    return absl::StrCat("ivf ", spec.ivf().code(), along_axes ? " along axes" : "");
  }
  if (spec.has_hnsw()) return absl::StrCat("hnsw ", spec.hnsw().code());
  return spec.kind();
}

std::vector<Curve> TriedCurves(const absl::optional<IndexChoice>& choice) {
  std::vector<Curve> curves;
  if (!choice.has_value()) return curves;
  for (size_t i = 0; i < choice->tried.size(); ++i) {
    const TriedIndex& tried = choice->tried[i];
    Curve curve{PointsOf(tried.efforts), NameOf(tried.spec), static_cast<int>(i) == choice->chosen};
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

std::vector<Curve> ShardCurves(const GenerationManifest& manifest) {
  std::vector<Curve> curves;
  for (int i = 0; i < std::min(manifest.shards_size(), kMostDrawnShards); ++i) {
    const auto& efforts = manifest.shards(i).efforts();
    Curve curve{PointsOf({efforts.begin(), efforts.end()}), "the shards, as built"};
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

void Draw(const Curve& curve, const std::string& css, Plot* plot) {
  if (curve.points.size() > 1) plot->Line(curve.points, css);
  if (curve.points.size() == 1) plot->Dot(curve.points.front(), absl::StrCat(css, " point"));
}

std::string PlotHtml(const GenerationManifest& manifest,
                     const absl::optional<IndexChoice>& choice) {
  const std::vector<Curve> tried = TriedCurves(choice);
  const std::vector<Curve> shards = ShardCurves(manifest);
  double fastest = 0, slowest = 0;
  std::map<std::string, std::string> classes;
  for (const std::vector<Curve>* const curves : {&tried, &shards}) {
    for (const Curve& curve : *curves) {
      const double first = curve.points.front().x, last = curve.points.back().x;
      fastest = fastest == 0 ? first : std::min(fastest, first);
      slowest = std::max(slowest, last);
    }
  }
  if (fastest == 0) return "";
  for (const Curve& curve : tried) classes.emplace(curve.name, "");
  PlotText text;
  text.id = "recall";
  text.title = "Recall over time";
  text.caption =
      "Recall among the ten best over the median time of a query alone on one thread, at growing "
      "efforts; each nine takes the same room.";
  text.description = text.caption;
  text.x_unit = "ms a query";
  text.y_unit = "recall@10";
  const auto number = [](double value) { return absl::StrFormat("%.4g", value); };
  Plot plot(text, Axis::Log(fastest, slowest, number), Axis::Nines(kMostRecall, number));
  size_t count = 0;
  for (auto& [name, css] : classes) {
    css = LineClass(count++);
    plot.AddLegend(LegendShape::kLine, css, name);
  }
  if (choice.has_value()) {
    plot.HorizontalLine(fastest / 10, slowest * 10, std::min(choice->target.recall, kMostRecall),
                        "target");
    plot.AddLegend(LegendShape::kLine, "target", "asked for");
  }
  for (const Curve& curve : tried) {
    const std::string& css = classes[curve.name];
    Draw(curve, curve.chosen && curve.points.size() > 1 ? absl::StrCat(css, " chosen") : css,
         &plot);
  }
  for (const Curve& curve : shards) Draw(curve, "shard", &plot);
  if (!shards.empty()) plot.AddLegend(LegendShape::kLine, "shard", shards.front().name);
  return plot.Html();
}

std::string ParametersOf(const bundle::v1::IndexSpec& spec) {
  std::string text;
  if (spec.has_ivf()) {
    text = absl::StrCat(", ", spec.ivf().list_count(), " lists, refine ", spec.ivf().refine());
    if (spec.ivf().pq_parts() > 0) absl::StrAppend(&text, ", ", spec.ivf().pq_parts(), " parts");
  } else if (spec.has_hnsw()) {
    text = absl::StrCat(", ", spec.hnsw().link_count(), " links");
  }
  return absl::StrCat(text, spec.rows_on_disk() ? ", rows on disk" : "");
}

// What is known of an index in no number.
std::string VerdictCell(const std::string& verdict) {
  return absl::StrCat("<td>", XmlText(verdict), "</td>");
}

std::string TriedTable(const IndexChoice& choice) {
  const std::string lead =
      absl::StrFormat("On %d of the %d rows of the greatest shard, for %g of the ten best%s.",
                      choice.sample_rows, choice.shard_rows, choice.target.recall,
                      choice.target.bytes_per_item > 0
                          ? absl::StrCat(" in ", choice.target.bytes_per_item, " bytes an item")
                          : "");
  HtmlTable table({"index", "bytes an item", "built in s", "ms a query", ""}, 1);
  for (const TriedIndex& tried : choice.tried) {
    // What was not built, or does not find enough, has none.
    const auto known = [](double value) {
      return value > 0 ? absl::StrFormat("%.4g", value) : std::string("-");
    };
    table.AddRow({absl::StrCat(NameOf(tried.spec), ParametersOf(tried.spec)),
                  absl::StrFormat("%.0f", tried.bytes_per_item), known(tried.build_seconds),
                  known(tried.seconds * kMilliseconds)},
                 VerdictCell(tried.verdict));
  }
  return PageSection("tried", "Tried", PageParagraph("quiet", lead) + table.Html());
}

std::string ShardTable(const GenerationManifest& manifest, const IndexKind& kind) {
  const double asked = manifest.index_spec().default_recall();
  const std::string lead = absl::StrFormat(
      "%s. At the effort of a search that asks for no recall; a server takes a shard that finds "
      "%.4f of %d neighbors.",
      absl::StrCat(NameOf(manifest.index_spec()), ParametersOf(manifest.index_spec())),
      manifest.recall_probe().floor(),
      std::min(manifest.recall_probe().neighbor_count(), kRecallAmong));
  HtmlTable table(
      {"shard", "items", "MB in memory", "effort", "recall@10", "recall@100", "ms a query"}, 1);
  for (int i = 0; i < manifest.shards_size(); ++i) {
    const EffortCurve curve(manifest.shards(i));
    const auto bytes = static_cast<double>(kind.footprint(manifest, i)) +
                       static_cast<double>(RowBytesInMemory(manifest, i));
    std::vector<std::string> cells = {absl::StrCat(i),
                                      absl::StrCat(manifest.shards(i).item_count()),
                                      absl::StrFormat("%.1f", bytes * 1e-6)};
    if (!curve.empty()) {
      const int effort = curve.EffortFor(asked > 0 ? asked : kDefaultRecall, kRecallAmong);
      cells.push_back(absl::StrCat(effort));
      for (const int top_k : {kRecallAmong, 10 * kRecallAmong}) {
        cells.push_back(absl::StrFormat("%.4f", curve.RecallAt(effort, top_k)));
      }
      cells.push_back(absl::StrFormat("%.3f", curve.SecondsAt(effort) * kMilliseconds));
    }
    table.AddRow(cells);
  }
  return PageSection("shards", "Shards", PageParagraph("quiet", lead) + table.Html());
}

}  // namespace

std::string IndexReportPage(const GenerationManifest& manifest, const IndexKind& kind,
                            const absl::optional<IndexChoice>& choice) {
  const std::string title = absl::StrCat("Index of ", manifest.index(), "/", manifest.generation());
  return HtmlPage(
      title,
      absl::StrCat("<h1>", XmlText(title), "</h1>\n", PlotHtml(manifest, choice),
                   ShardTable(manifest, kind), choice.has_value() ? TriedTable(*choice) : ""),
      kStyle);
}

}  // namespace sightline
