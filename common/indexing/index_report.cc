#include "common/indexing/index_report.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/index/shard_rows.h"
#include "common/index/tried_index.h"

namespace sightline {
namespace {

using bundle::v1::EffortPoint;
using bundle::v1::GenerationManifest;
using Json = nlohmann::ordered_json;

Json JsonOf(const google::protobuf::Message& message) {
  return Json::parse(ManifestJson(message));
}

Json ShardJson(const GenerationManifest& manifest, const IndexKind& kind, int number) {
  const bundle::v1::ShardManifest& shard = manifest.shards(number);
  int64_t file_bytes = 0;
  for (const bundle::v1::BundleFile& file : shard.index_files()) file_bytes += file.byte_count();
  Json efforts = Json::array();
  for (const EffortPoint& point : shard.efforts()) efforts.push_back(JsonOf(point));
  return {{"items", shard.item_count()},
          {"index_file_bytes", file_bytes},
          {"memory_bytes", kind.footprint(manifest, number) + RowBytesInMemory(manifest, number)},
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

absl::Status WriteIndexReport(absl::string_view directory, const GenerationManifest& manifest,
                              const IndexKind& kind, const absl::optional<IndexChoice>& choice) {
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kReportFile),
                                      IndexReportJson(manifest, kind, choice)));
  return WriteFileAtomically(JoinPath(directory, kReportPage),
                             IndexReportPage(manifest, kind, choice));
}

}  // namespace sightline
