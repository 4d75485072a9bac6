#include "common/index/index_work.h"

#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::ShardManifest;

constexpr int64_t kMaxRecordBytes = 1 << 20;
constexpr char kKey[] = "key";
constexpr char kShard[] = "shard";
constexpr char kProbes[] = "probes";  // that the efforts were measured with

// Raise it where a build of the same spec and rows begins to give other bytes.
constexpr int kBuildFormat = 1;

std::string KeyOf(const bundle::v1::GenerationManifest& manifest, int shard) {
  bundle::v1::IndexSpec spec = manifest.index_spec();
  spec.clear_default_recall();
  const ShardManifest& of = manifest.shards(shard);
  return Sha256Hex(absl::StrCat("index build ", kBuildFormat, "\n", ManifestJson(spec), "shard ",
                                shard, " of ", manifest.shards_size(), "\n", of.item_count(), " x ",
                                manifest.embedding().dimension(), " ", manifest.vector_dtype(),
                                "\n", of.vectors().sha256()));
}

bool IsWhole(absl::string_view directory, const bundle::v1::BundleFile& file) {
  const std::string path = JoinPath(directory, file.path());
  const absl::StatusOr<int64_t> size = FileSize(path);
  if (!size.ok() || *size != file.byte_count()) return false;
  const absl::StatusOr<std::string> sha256 = Sha256HexOfFile(path);
  return sha256.ok() && *sha256 == file.sha256();
}

}  // namespace

IndexWork::IndexWork(absl::string_view folder, const bundle::v1::GenerationManifest& manifest,
                     int shard)
    : path_(JoinPath(folder, absl::StrFormat("%05d.json", shard))),
      stages_(JoinPath(folder, absl::StrFormat("%05d", shard))),
      key_(KeyOf(manifest, shard)) {}

bool IndexWork::IsRecorded() const {
  return Record().is_object();
}

nlohmann::json IndexWork::Record() const {
  const absl::StatusOr<std::string> text = ReadFile(path_, kMaxRecordBytes);
  if (!text.ok()) return nullptr;
  nlohmann::json json = nlohmann::json::parse(*text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  const bool is_ours = json.is_object() && json.contains(kShard) &&
                       json.value(kKey, nlohmann::json()) == nlohmann::json(key_);
  return is_ours ? std::move(json) : nullptr;
}

bool IndexWork::Find(absl::string_view directory, ShardManifest* shard) const {
  const nlohmann::json json = Record();
  if (!json.is_object()) return false;
  ShardManifest found;
  if (!google::protobuf::util::JsonStringToMessage(json[kShard].dump(), &found).ok()) return false;
  for (const bundle::v1::BundleFile& file : found.index_files()) {
    if (!IsWhole(directory, file)) return false;
  }
  *shard->mutable_index_files() = found.index_files();
  shard->clear_efforts();
  if (json.value(kProbes, nlohmann::json()) == nlohmann::json(shard->probes().sha256())) {
    *shard->mutable_efforts() = found.efforts();
  }
  return true;
}

absl::Status IndexWork::Keep(const ShardManifest& shard) const {
  ShardManifest done;
  *done.mutable_index_files() = shard.index_files();
  *done.mutable_efforts() = shard.efforts();
  const nlohmann::ordered_json json = {{kKey, key_},
                                       {kProbes, shard.probes().sha256()},
                                       {kShard, nlohmann::json::parse(ManifestJson(done))}};
  return WriteFileAtomically(path_, absl::StrCat(json.dump(2), "\n"));
}

}  // namespace sightline
