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
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune_rules.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/log/log.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/visit_objects.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::GenerationManifest;

// Brings the files of one folder below one prefix.
class FolderUpload {
 public:
  FolderUpload(ObjectStore* store, std::string directory, std::string prefix, bool resend,
               const CallContext& call)
      : store_(store),
        directory_(std::move(directory)),
        prefix_(std::move(prefix)),
        resend_(resend),
        call_(call) {}

  // A file that the manifest lists.
  absl::Status Send(const BundleFile& file) {
    return SendFile(file.path(), file.byte_count(), file.sha256());
  }

  // What else lies there, but for the manifest and what is being written or fetched.
  absl::Status SendOthers() {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFilesBelow(directory_));
    for (const std::string& path : paths) {
      const bool is_whole = IsSafePath(path) && !absl::EndsWith(path, ".tmp");
      if (path == kManifestFile || !is_whole || sent_.count(path) > 0) continue;
      ASSIGN_OR_RETURN(const int64_t byte_count, FileSize(JoinPath(directory_, path)));
      ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(JoinPath(directory_, path)));
      RETURN_IF_ERROR(SendFile(path, byte_count, sha256));
    }
    return absl::OkStatus();
  }

  // What another content has left.
  absl::Status RemoveOthers() {
    std::vector<std::string> others;
    RETURN_IF_ERROR(VisitObjects(store_, prefix_, call_, [&](const ObjectInfo& info) {
      const std::string path = info.key.substr(prefix_.size());
      if (sent_.count(path) == 0 && path != kManifestFile) others.push_back(info.key);
    }));
    for (const std::string& key : others) RETURN_IF_ERROR(store_->Remove(key, call_));
    return absl::OkStatus();
  }

 private:
  absl::Status SendFile(const std::string& path, int64_t byte_count, const std::string& sha256) {
    RETURN_IF_ERROR(call_.Check("upload"));
    sent_.insert(path);
    const std::string key = absl::StrCat(prefix_, path);
    const std::string file = JoinPath(directory_, path);
    const absl::StatusOr<ObjectInfo> there = store_->Stat(key, call_);
    if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
    if (there.ok() && !resend_ && there->sha256 == sha256 && there->byte_count == byte_count) {
      ReadProgress::ExpectOnThread(file, 0);
      return absl::OkStatus();
    }
    if (!FileExists(file)) {
      return absl::DataLossError(absl::StrCat(file, " is missing; its manifest lists it"));
    }
    return store_->WriteFile(key, file, sha256, call_);
  }

  ObjectStore* const store_;
  const std::string directory_, prefix_;
  const bool resend_;
  const CallContext& call_;
  std::set<std::string> sent_;  // paths, those that were there already among them
};

absl::StatusOr<std::string> ReadManifest(ObjectStore* store, const std::string& key,
                                         const CallContext& call) {
  return store->ReadAll(key, limits::kMaxManifestBytes, call);
}

absl::Status CreateManifest(ObjectStore* store, const std::string& key, const std::string& json,
                            const CallContext& call) {
  const absl::Status created = store->Create(key, json, call);
  if (!absl::IsAlreadyExists(created)) return created;
  ASSIGN_OR_RETURN(const std::string there, ReadManifest(store, key, call));
  if (there == json) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      store->name(), "/", key, " is there already and says something else, which never changes: ",
      "if the store has damaged it, ", HowToResend(*store)));
}

// Whether the store has damaged a generation's manifest, of which it has `json`.
absl::StatusOr<bool> IsDamaged(ObjectStore* store, absl::string_view index,
                               absl::string_view generation, const std::string& key,
                               const std::string& json, const CallContext& call) {
  if (!ParseManifestOf(index, generation, key, json).ok()) return true;
  ASSIGN_OR_RETURN(const ObjectInfo info, store->Stat(key, call));
  return !info.sha256.empty() && info.sha256 != Sha256Hex(json);
}

// Takes away the manifest of a generation of other content that nobody ever published.
absl::Status DiscardUnpublishedRemote(ObjectStore* store, absl::string_view index,
                                      absl::string_view generation, const std::string& key,
                                      bool damaged, const CallContext& call) {
  const auto current = ReadRemoteCurrent(store, index, call);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  if (current.ok() && PublishedGenerations(*current).count(std::string(generation)) > 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(store->name(), " has published a generation ", generation, " of index ", index,
                     " with other content, and generations never change; ",
                     damaged ? "but the store has damaged its manifest: --resend it"
                             : absl::StrCat("give this one another name, or if the store has "
                                            "damaged its manifest, remove ",
                                            store->name(), "/", key, " and run this again")));
  }
  Log(Severity::kWarning, "a generation that was never published is replaced",
      {{"store", store->name()}, {"index", index}, {"generation", generation}});
  return store->Remove(key, call);
}

}  // namespace

absl::StatusOr<std::string> UploadModel(ObjectStore* store, const std::string& directory,
                                        const CallContext& call, bool resend) {
  const std::string path = JoinPath(directory, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, limits::kMaxManifestBytes));
  const auto manifest = ParseModelBundleManifest(json);
  if (!manifest.ok()) return WithPrefix(manifest.status(), path);
  const std::string id = Sha256Hex(json);
  FolderUpload upload(store, directory, ModelPrefix(id), resend, call);
  for (const BundleFile& file : manifest->files()) RETURN_IF_ERROR(upload.Send(file));
  const std::string key = absl::StrCat(ModelPrefix(id), kManifestFile);
  if (resend) {
    // Its name is its SHA-256, so that any other content is damage.
    const absl::StatusOr<std::string> there = ReadManifest(store, key, call);
    if (there.ok() && *there != json) RETURN_IF_ERROR(store->Remove(key, call));
  }
  RETURN_IF_ERROR(CreateManifest(store, key, json, call));
  return id;
}

absl::Status UploadGeneration(ObjectStore* store, const std::string& folder,
                              absl::string_view index, absl::string_view generation,
                              const CallContext& call, bool resend) {
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadGenerationManifest(folder, index, generation));
  for (const std::string& model : ModelsOf(manifest)) {
    const std::string bundle = ModelDirectory(folder, model);
    ASSIGN_OR_RETURN(const std::string id, UploadModel(store, bundle, call, resend));
    if (id != model) {
      return absl::DataLossError(absl::StrCat(bundle, " holds a model with the id ", id));
    }
  }
  const std::string directory = GenerationDirectory(folder, index, generation);
  const std::string prefix = GenerationPrefix(index, generation);
  const std::string key = absl::StrCat(prefix, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json,
                   ReadFile(JoinPath(directory, kManifestFile), limits::kMaxManifestBytes));
  const absl::StatusOr<std::string> there = ReadManifest(store, key, call);
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  const bool same = there.ok() && *there == json;
  if (there.ok() && !same) {
    ASSIGN_OR_RETURN(const bool damaged, IsDamaged(store, index, generation, key, *there, call));
    RETURN_IF_ERROR(resend && damaged
                        ? store->Remove(key, call)
                        : DiscardUnpublishedRemote(store, index, generation, key, damaged, call));
  }
  FolderUpload upload(store, directory, prefix, resend, call);
  for (const auto& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) RETURN_IF_ERROR(upload.Send(*file.description));
  }
  RETURN_IF_ERROR(upload.SendOthers());
  if (!same) RETURN_IF_ERROR(upload.RemoveOthers());
  return CreateManifest(store, key, json, call);
}

}  // namespace sightline
