#include "common/object_store/upload.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune_rules.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/log/log.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::GenerationManifest;

using Hashes = std::map<std::string, std::string>;  // by path in the folder; SHA-256

// Sends the file unless the object store has it, by its writer's word.  `expected`: SHA-256
// that it must have, or empty.
absl::Status UploadFile(ObjectStore* store, const std::string& path, const std::string& key,
                        const std::string& expected, const CallContext& call) {
  RETURN_IF_ERROR(call.Check("upload"));
  ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(path));
  if (!expected.empty() && sha256 != expected) {
    return absl::DataLossError(
        absl::StrCat(path, " has the SHA-256 ", sha256, "; its manifest says ", expected));
  }
  const absl::StatusOr<ObjectInfo> there = store->Stat(key, call);
  if (there.ok() && there->sha256 == sha256) return absl::OkStatus();
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  return store->WriteFile(key, path, sha256, call);
}

// Whether the manifest at `key` is this one; NotFound if there is none.
absl::StatusOr<bool> HasManifest(ObjectStore* store, const std::string& key,
                                 const std::string& json, const CallContext& call) {
  ASSIGN_OR_RETURN(const std::string there, store->ReadAll(key, limits::kMaxManifestBytes, call));
  return there == json;
}

absl::Status CreateManifest(ObjectStore* store, const std::string& key, const std::string& json,
                            const CallContext& call) {
  const absl::Status created = store->Create(key, json, call);
  if (!absl::IsAlreadyExists(created)) return created;
  ASSIGN_OR_RETURN(const bool same, HasManifest(store, key, json, call));
  if (same) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      store->name(), "/", key, " is there already and says something else, which never changes"));
}

// Everything below `directory` but its manifest and what is being written.
absl::Status UploadFilesBelow(ObjectStore* store, const std::string& directory,
                              const std::string& prefix, const Hashes& expected,
                              const CallContext& call) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFilesBelow(directory));
  for (const std::string& path : paths) {
    if (path == kManifestFile || absl::EndsWith(path, ".tmp")) continue;
    const auto hash = expected.find(path);
    RETURN_IF_ERROR(UploadFile(store, JoinPath(directory, path), absl::StrCat(prefix, path),
                               hash == expected.end() ? "" : hash->second, call));
  }
  return absl::OkStatus();
}

// Takes away the manifest of a generation of other content that nobody ever published.
absl::Status DiscardUnpublishedRemote(ObjectStore* store, absl::string_view index,
                                      absl::string_view generation, const std::string& key,
                                      const CallContext& call) {
  const auto current = ReadRemoteCurrent(store, index, call);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  if (current.ok() && PublishedGenerations(*current).count(std::string(generation)) > 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(store->name(), " has published a generation ", generation, " of index ", index,
                     " with other content, and generations never change; give this one "
                     "another name"));
  }
  Log(Severity::kWarning, "a generation that was never published is replaced",
      {{"store", store->name()}, {"index", index}, {"generation", generation}});
  return store->Remove(key, call);
}

}  // namespace

absl::StatusOr<std::string> UploadModel(ObjectStore* store, const std::string& directory,
                                        const CallContext& call) {
  const std::string path = JoinPath(directory, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, limits::kMaxManifestBytes));
  const auto manifest = ParseModelBundleManifest(json);
  if (!manifest.ok()) return WithPrefix(manifest.status(), path);
  const std::string id = Sha256Hex(json);
  const std::string key = absl::StrCat(ModelPrefix(id), kManifestFile);
  const absl::StatusOr<bool> there = HasManifest(store, key, json, call);
  if (there.ok() && *there) return id;
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  for (const BundleFile& file : manifest->files()) {
    RETURN_IF_ERROR(UploadFile(store, JoinPath(directory, file.path()),
                               absl::StrCat(ModelPrefix(id), file.path()), file.sha256(), call));
  }
  RETURN_IF_ERROR(CreateManifest(store, key, json, call));
  return id;
}

absl::Status UploadGeneration(ObjectStore* store, const std::string& folder,
                              absl::string_view index, absl::string_view generation,
                              const CallContext& call) {
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadGenerationManifest(folder, index, generation));
  std::set<std::string> models = {manifest.encoder_model()};
  for (const NamedReranker& reranker : RerankersOf(manifest)) models.insert(reranker.model);
  for (const std::string& model : models) {
    const std::string bundle = ModelDirectory(folder, model);
    ASSIGN_OR_RETURN(const std::string id, UploadModel(store, bundle, call));
    if (id != model) {
      return absl::DataLossError(absl::StrCat(bundle, " holds a model with the id ", id));
    }
  }
  const std::string directory = GenerationDirectory(folder, index, generation);
  const std::string prefix = GenerationPrefix(index, generation);
  const std::string key = absl::StrCat(prefix, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json,
                   ReadFile(JoinPath(directory, kManifestFile), limits::kMaxManifestBytes));
  const absl::StatusOr<bool> there = HasManifest(store, key, json, call);
  if (there.ok() && *there) return absl::OkStatus();
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  if (there.ok()) {
    RETURN_IF_ERROR(DiscardUnpublishedRemote(store, index, generation, key, call));
  }
  Hashes hashes;
  for (const auto& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) {
      hashes[file.description->path()] = file.description->sha256();
    }
  }
  RETURN_IF_ERROR(UploadFilesBelow(store, directory, prefix, hashes, call));
  return CreateManifest(store, key, json, call);
}

}  // namespace sightline
