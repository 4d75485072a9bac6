#include "common/indexing/index_report.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/index/shard_rows.h"
#include "common/index/tried_index.h"
#include "common/plot/plot.h"

namespace sightline {
namespace {

using bundle::v1::EffortPoint;
using bundle::v1::GenerationManifest;
using Json = nlohmann::ordered_json;

constexpr double kMilliseconds = 1e3;
// Shards that are drawn; hundreds of them would cover all else.
constexpr int kMostDrawnShards = 8;

Json JsonOf(const google::protobuf::Message& message) {
  return Json::parse(ManifestJson(message));
}

Json ShardJson(const GenerationManifest& manifest, const IndexKind& kind, int number) {
  const bundle::v1::ShardManifest& shard = manifest.shards(number);
  int64_t file_bytes = 0;
  for (const bundle::v1::BundleFile& file : shard.index_files()) file_bytes += file.byte_count();
  Json efforts = Json::array();
  for (const EffortPoint& point : shard.efforts()) efforts.push_back(JsonOf(point));
  const int64_t rows = manifest.index_spec().rows_on_disk() ? 0 : RowBytes(manifest, number);
  return {{"items", shard.item_count()},
          {"index_file_bytes", file_bytes},
          {"memory_bytes", kind.footprint(manifest, number) + rows},
          {"efforts", efforts}};
}

Json ChoiceJson(const IndexChoice& choice) {
  Json tried = Json::array();
  for (const TriedIndex& each : choice.tried) tried.push_back(TriedJson(each));
  Json target = {{"recall", choice.target.recall}};
  if (choice.target.bytes_per_item > 0) target["bytes_per_item"] = choice.target.bytes_per_item;
  target["rows_on_disk"] = choice.target.rows_on_disk;
  return {{"target", target},
          {"sample_rows", choice.sample_rows},
          {"shard_rows", choice.shard_rows},
          {"chosen", choice.chosen},
          {"tried", tried}};
}

// Of points without a time none.
std::vector<PlotPoint> PointsOf(const std::vector<EffortPoint>& efforts) {
  std::vector<PlotPoint> points;
  for (const EffortPoint& point : efforts) {
    if (point.seconds() <= 0) continue;
    points.push_back({point.seconds() * kMilliseconds, point.recall_at_10()});
  }
  return points;
}

struct Curve {
  std::vector<PlotPoint> points;
  std::string css;
  std::string label;
};

std::string NameOf(const bundle::v1::IndexSpec& spec) {
  if (spec.has_ivf()) return absl::StrCat("ivf ", spec.ivf().code());
  if (spec.has_hnsw()) return absl::StrCat("hnsw ", spec.hnsw().code());
  return spec.kind();
}

// What was tried, and the shards over it.
std::vector<Curve> CurvesOf(const GenerationManifest& manifest,
                            const absl::optional<IndexChoice>& choice) {
  std::vector<Curve> curves;
  if (choice.has_value()) {
    for (size_t i = 0; i < choice->tried.size(); ++i) {
      const TriedIndex& tried = choice->tried[i];
      const bool chosen = static_cast<int>(i) == choice->chosen;
      curves.push_back({PointsOf(tried.efforts), chosen ? "chosen" : "tried", NameOf(tried.spec)});
    }
  }
  for (int i = 0; i < std::min(manifest.shards_size(), kMostDrawnShards); ++i) {
    const auto& efforts = manifest.shards(i).efforts();
    curves.push_back(
        {PointsOf({efforts.begin(), efforts.end()}), "shard", absl::StrCat("shard ", i)});
  }
  curves.erase(std::remove_if(curves.begin(), curves.end(),
                              [](const Curve& curve) { return curve.points.empty(); }),
               curves.end());
  return curves;
}

}  // namespace

std::string IndexReportJson(const GenerationManifest& manifest, const IndexKind& kind,
                            const absl::optional<IndexChoice>& choice) {
  Json shards = Json::array();
  for (int i = 0; i < manifest.shards_size(); ++i) shards.push_back(ShardJson(manifest, kind, i));
  Json report = {{"index", manifest.index()},
                 {"generation", manifest.generation()},
                 {"spec", JsonOf(manifest.index_spec())},
                 {"recall_floor", manifest.recall_probe().floor()},
                 {"shards", shards}};
  if (choice.has_value()) report["choice"] = ChoiceJson(*choice);
  return absl::StrCat(report.dump(2), "\n");
}

std::string IndexReportPlot(const GenerationManifest& manifest,
                            const absl::optional<IndexChoice>& choice) {
  const std::vector<Curve> curves = CurvesOf(manifest, choice);
  double fastest = 1, slowest = 1, least = 1;
  if (!curves.empty()) fastest = slowest = curves.front().points.front().x;
  for (const Curve& curve : curves) {
    for (const PlotPoint& point : curve.points) {
      fastest = std::min(fastest, point.x);
      slowest = std::max(slowest, point.x);
      least = std::min(least, point.y);
    }
  }
  PlotText text;
  text.id = "index-report";
  text.title = absl::StrCat("Index of ", manifest.index(), "/", manifest.generation());
  text.description = "Recall among ten over the time of a query on one thread";
  text.x_unit = "ms a query, one thread";
  text.y_unit = "recall@10";
  const auto number = [](double value) { return absl::StrFormat("%.4g", value); };
  Plot plot(text, Axis::Log(fastest, slowest, number), Axis::Linear(least, 1.0, number));
  if (choice.has_value()) {
    plot.HorizontalLine(fastest / 10, slowest * 10, choice->target.recall, "target");
  }
  for (const Curve& curve : curves) {
    if (curve.points.size() == 1) {
      plot.Dot(curve.points.front(), curve.css + "-dot");
    } else {
      plot.Line(curve.points, curve.css);
    }
    plot.Note(curve.points.back(), curve.label, "note");
  }
  return plot.File(
      ".tried{stroke:#9a9a92;stroke-width:1.2;fill:none}.tried-dot{fill:#9a9a92}"
      ".chosen{stroke:#2264bd;stroke-width:2.4;fill:none}.chosen-dot{fill:#2264bd}"
      ".shard{stroke:#b05a00;stroke-width:1.6;fill:none}.shard-dot{fill:#b05a00}"
      ".target{stroke:#11845b;stroke-dasharray:4 3}");
}

absl::Status WriteIndexReport(absl::string_view directory, const GenerationManifest& manifest,
                              const IndexKind& kind, const absl::optional<IndexChoice>& choice) {
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kReportFile),
                                      IndexReportJson(manifest, kind, choice)));
  return WriteFileAtomically(JoinPath(directory, kReportPlot), IndexReportPlot(manifest, choice));
}

}  // namespace sightline
