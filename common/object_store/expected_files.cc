#include "common/object_store/expected_files.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/checksum.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/shard_files.h"
#include "common/object_store/object_keys.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::GenerationManifest;

constexpr int64_t kHashedAtOnce = int64_t{1} << 20;

ExpectedFile ExpectedFrom(absl::string_view key, const BundleFile& file) {
  return {std::string(key), file.byte_count(), file.sha256()};
}

// Of a file that may be long: ends with the call.
absl::StatusOr<std::string> HashOf(const std::string& path, const CallContext& call) {
  ASSIGN_OR_RETURN(const auto file, RandomAccessFile::Open(path));
  Sha256 hash;
  std::string piece;
  for (int64_t at = 0; at < file->size(); at += static_cast<int64_t>(piece.size())) {
    RETURN_IF_ERROR(call.Check("compare"));
    piece.resize(static_cast<size_t>(std::min(file->size() - at, kHashedAtOnce)));
    RETURN_IF_ERROR(file->Read(at, static_cast<int64_t>(piece.size()), &piece[0]));
    hash.Update(piece);
  }
  return hash.Hex();
}

// Of the content that `path` should have; empty if nothing tells.
std::string ExpectedHash(const std::string& folder, const GenerationManifest& manifest,
                         absl::string_view path) {
  const auto [model, name] = SplitModelKey(KeyOfPath(folder, path).value_or(""));
  if (name == kManifestFile) return model;
  const absl::StatusOr<ExpectedFile> expected = ExpectedOf(folder, manifest, path);
  return expected.ok() ? expected->sha256 : "";
}

}  // namespace

absl::StatusOr<std::string> KeyOfPath(absl::string_view folder, absl::string_view path) {
  absl::string_view key = path;
  // JoinPath, which makes such paths, takes "folder/" for "folder".
  while (absl::ConsumeSuffix(&folder, "/")) {
  }
  if (absl::ConsumePrefix(&key, absl::StrCat(folder, "/"))) return std::string(key);
  return absl::InternalError(absl::StrCat(path, " does not lie in the folder ", folder));
}

std::pair<std::string, std::string> SplitModelKey(absl::string_view key) {
  if (!absl::ConsumePrefix(&key, "models/")) return {};
  const size_t slash = key.find('/');
  if (slash == absl::string_view::npos || !IsSha256Hex(key.substr(0, slash))) return {};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

absl::StatusOr<ExpectedFile> ExpectedOf(const std::string& folder,
                                        const GenerationManifest& manifest,
                                        absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string key, KeyOfPath(folder, path));
  absl::string_view rest = key;
  if (absl::ConsumePrefix(&rest, GenerationPrefix(manifest.index(), manifest.generation()))) {
    for (const auto& shard : manifest.shards()) {
      for (const ShardFile& file : FilesOf(shard)) {
        if (file.description->path() == rest) return ExpectedFrom(key, *file.description);
      }
    }
  }
  const auto [model, name] = SplitModelKey(key);
  if (!model.empty()) {
    ASSIGN_OR_RETURN(const auto bundle, ReadModelBundleManifest(ModelDirectory(folder, model)));
    for (const BundleFile& file : bundle.files()) {
      if (file.path() == name) return ExpectedFrom(key, file);
    }
  }
  return absl::NotFoundError(absl::StrCat("no manifest tells of ", path));
}

absl::Status CompareWithManifests(const std::string& folder, const GenerationManifest& manifest,
                                  const std::string& path, const CallContext& call) {
  const std::string expected = ExpectedHash(folder, manifest, path);
  if (expected.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> sha256 = HashOf(path, call);
  if (call.cancelled() || call.expired()) return absl::OkStatus();
  RETURN_IF_ERROR(sha256.status());
  if (*sha256 == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("its SHA-256 is ", *sha256, "; the manifest says ", expected));
}

}  // namespace sightline
