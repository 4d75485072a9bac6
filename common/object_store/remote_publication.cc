#include "common/object_store/remote_publication.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune_rules.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/visit_objects.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;
using bundle::v1::ModelBundleManifest;

std::string Where(const ObjectStore& store, absl::string_view key) {
  return absl::StrCat(store.name(), "/", key);
}

absl::Status CheckIsWhole(ObjectStore* store, const ExpectedFile& file, const CallContext& call) {
  ASSIGN_OR_RETURN(const ObjectInfo info, store->Stat(file.key, call));
  if (info.byte_count == file.byte_count) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(Where(*store, file.key), " has ", info.byte_count, " of ",
                                          file.byte_count, " bytes"));
}

// Whether all that the generation needs is there, in its full length.
absl::Status CheckComplete(ObjectStore* store, absl::string_view index,
                           absl::string_view generation, const CallContext& call) {
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadRemoteManifest(store, index, generation, call));
  ASSIGN_OR_RETURN(const std::vector<ExpectedFile> files, RemoteFilesOf(store, manifest, call));
  for (const ExpectedFile& file : files) RETURN_IF_ERROR(CheckIsWhole(store, file, call));
  return absl::OkStatus();
}

// A prune looks at its note again before it begins.
absl::Status TakeNotesAway(ObjectStore* store, absl::string_view index,
                           absl::string_view generation, const CallContext& call) {
  const std::string prefix = PrunedPrefix(index);
  std::vector<std::string> notes;
  RETURN_IF_ERROR(VisitObjects(store, prefix, call, [&](const ObjectInfo& info) {
    const auto aside = ParseAside(info.key.substr(prefix.size()));
    if (aside.has_value() && aside->generation == generation) notes.push_back(info.key);
  }));
  for (const std::string& note : notes) RETURN_IF_ERROR(store->Remove(note, call));
  return absl::OkStatus();
}

// That this publication is what everybody sees, and all of it is there.  A prune may have removed
// later ones, or begun to delete the generation, since its publisher looked.
absl::Status CheckPublished(ObjectStore* store, const CurrentGeneration& published,
                            absl::string_view index, const CallContext& call) {
  ASSIGN_OR_RETURN(const NewestPublication newest,
                   FindNewest(store, index, published.sequence(), call));
  if (newest.sequence != published.sequence()) {
    return absl::AbortedError(absl::StrCat("somebody else published for index '", index,
                                           "' meanwhile (sequence ", newest.sequence,
                                           "): look at what is current, and run it again"));
  }
  const std::string manifest =
      absl::StrCat(GenerationPrefix(index, published.generation()), kManifestFile);
  const absl::Status there = store->Stat(manifest, call).status();
  if (!absl::IsNotFound(there)) return there;
  return absl::AbortedError(absl::StrCat("a prune deleted generation ", published.generation(),
                                         " while it was published: bring it there again, or "
                                         "publish another"));
}

// What stops a publication as it is, with the rest of the message; trouble that may pass is left.
absl::Status Unpublishable(absl::string_view index, absl::string_view generation,
                           const absl::Status& why) {
  if (!absl::IsNotFound(why) && !absl::IsDataLoss(why) && !absl::IsFailedPrecondition(why)) {
    return why;
  }
  return absl::FailedPreconditionError(absl::StrCat("generation ", generation, " of index ", index,
                                                    " cannot be published: ", why.message()));
}

// Aborted unless `before` is still the newest.
absl::StatusOr<CurrentGeneration> PublishOver(ObjectStore* store, const CurrentGeneration& before,
                                              absl::string_view index, absl::string_view generation,
                                              absl::Time now, const CallContext& call) {
  RETURN_IF_ERROR(TakeNotesAway(store, index, generation, call));
  const absl::Status sound = CheckComplete(store, index, generation, call);
  if (!sound.ok()) return Unpublishable(index, generation, sound);
  CurrentGeneration after = CurrentAfter(before, generation, now);
  const std::string key = CurrentKey(index, after.sequence());
  const absl::Status created = store->Create(key, ManifestJson(after), call);
  if (absl::IsAlreadyExists(created)) {
    return absl::AbortedError(absl::StrCat("somebody else published for index '", index,
                                           "' at the same moment (", Where(*store, key),
                                           "): look at what is current, and run it again"));
  }
  RETURN_IF_ERROR(created);
  RETURN_IF_ERROR(CheckPublished(store, after, index, call));
  return after;
}

}  // namespace

absl::StatusOr<NewestPublication> FindNewest(ObjectStore* store, absl::string_view index,
                                             int64_t known, const CallContext& call) {
  RETURN_IF_ERROR(CheckIndexName(index));
  NewestPublication newest;
  const auto see = [&](const ObjectInfo& entry) {
    const int64_t sequence = SequenceOfKey(index, entry.key).value_or(0);
    if (sequence > newest.sequence) newest = {sequence, entry.write_time};
  };
  const std::string after = known > 0 ? CurrentKey(index, known - 1) : "";
  RETURN_IF_ERROR(VisitObjects(store, CurrentPrefix(index), call, see, after));
  if (newest.sequence > 0 || known == 0) return newest;
  // The store was restored, and counts from where it was then.
  RETURN_IF_ERROR(VisitObjects(store, CurrentPrefix(index), call, see));
  return newest;
}

absl::StatusOr<CurrentGeneration> ReadPublication(ObjectStore* store, absl::string_view index,
                                                  int64_t sequence, const CallContext& call) {
  RETURN_IF_ERROR(CheckIndexName(index));
  const std::string key = CurrentKey(index, sequence);
  ASSIGN_OR_RETURN(const std::string json, store->ReadAll(key, limits::kMaxManifestBytes, call));
  absl::StatusOr<CurrentGeneration> current = ParseCurrentGeneration(json);
  if (!current.ok()) {
    return WithPrefix(current.status(),
                      absl::StrCat(Where(*store, key), ", which is to be restored or removed"));
  }
  if (current->sequence() == sequence) return current;
  return absl::DataLossError(
      absl::StrCat(Where(*store, key), " has the sequence ", current->sequence()));
}

absl::StatusOr<CurrentGeneration> ReadRemoteCurrent(ObjectStore* store, absl::string_view index,
                                                    const CallContext& call) {
  ASSIGN_OR_RETURN(const NewestPublication newest, FindNewest(store, index, /*known=*/0, call));
  if (newest.sequence > 0) return ReadPublication(store, index, newest.sequence, call);
  return absl::NotFoundError(
      absl::StrCat("nothing was published for index '", index, "' in ", store->name()));
}

absl::StatusOr<GenerationManifest> ReadRemoteManifest(ObjectStore* store, absl::string_view index,
                                                      absl::string_view generation,
                                                      const CallContext& call) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  const std::string key = absl::StrCat(GenerationPrefix(index, generation), kManifestFile);
  const absl::StatusOr<std::string> json = store->ReadAll(key, limits::kMaxManifestBytes, call);
  if (absl::IsNotFound(json.status())) return NoSuchGeneration(*store, index, generation);
  RETURN_IF_ERROR(json.status());
  return ParseManifestOf(index, generation, Where(*store, key), *json);
}

absl::Status NoSuchGeneration(const ObjectStore& store, absl::string_view index,
                              absl::string_view generation) {
  return MakeError(
      reasons::kManifestMissing,
      absl::StrCat(store.name(), " has no generation ", generation, " of index ", index,
                   ", or has it no more; from a folder that has it, `sightlinectl publish ", index,
                   " ", generation, " --store DIR --object-store ", store.name(),
                   "` brings it there"));
}

absl::Status NoSuchModel(const ObjectStore& store, absl::string_view model_id) {
  return absl::NotFoundError(absl::StrCat(store.name(), " has no model ", model_id,
                                          "; `sightlinectl add-model FOLDER --object-store ",
                                          store.name(), "` brings it there"));
}

absl::StatusOr<ModelBundleManifest> ReadRemoteModel(ObjectStore* store, absl::string_view model_id,
                                                    const CallContext& call) {
  const std::string key = absl::StrCat(ModelPrefix(model_id), kManifestFile);
  const absl::StatusOr<std::string> json = store->ReadAll(key, limits::kMaxManifestBytes, call);
  if (absl::IsNotFound(json.status())) return NoSuchModel(*store, model_id);
  RETURN_IF_ERROR(json.status());
  if (Sha256Hex(*json) != model_id) {
    return absl::DataLossError(
        absl::StrCat(Where(*store, key), " has not the SHA-256 of its name"));
  }
  absl::StatusOr<ModelBundleManifest> manifest = ParseModelBundleManifest(*json);
  if (!manifest.ok()) return WithPrefix(manifest.status(), Where(*store, key));
  return manifest;
}

absl::StatusOr<std::vector<ExpectedFile>> RemoteFilesOf(ObjectStore* store,
                                                        const GenerationManifest& manifest,
                                                        const CallContext& call) {
  std::vector<ExpectedFile> files;
  const auto add = [&](const std::string& prefix, const BundleFile& file) {
    files.push_back({absl::StrCat(prefix, file.path()), file.byte_count(), file.sha256()});
  };
  const std::string prefix = GenerationPrefix(manifest.index(), manifest.generation());
  for (const auto& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) add(prefix, *file.description);
  }
  for (const std::string& model : ModelsOf(manifest)) {
    ASSIGN_OR_RETURN(const ModelBundleManifest bundle, ReadRemoteModel(store, model, call));
    for (const BundleFile& file : bundle.files()) add(ModelPrefix(model), file);
  }
  return files;
}

absl::StatusOr<CurrentGeneration> PublishRemote(ObjectStore* store, absl::string_view index,
                                                absl::string_view generation, absl::Time now,
                                                const CallContext& call) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  absl::StatusOr<CurrentGeneration> before = ReadRemoteCurrent(store, index, call);
  if (absl::IsNotFound(before.status())) before = CurrentGeneration();
  RETURN_IF_ERROR(before.status());
  return PublishOver(store, *before, index, generation, now, call);
}

absl::StatusOr<Rollback> RollBackRemote(ObjectStore* store, absl::string_view index, absl::Time now,
                                        const CallContext& call, absl::string_view from) {
  ASSIGN_OR_RETURN(CurrentGeneration current, ReadRemoteCurrent(store, index, call));
  ASSIGN_OR_RETURN(const absl::optional<std::string> before,
                   GenerationBefore(index, current, from));
  if (!before.has_value()) return Rollback{std::move(current), /*was_done=*/true};
  ASSIGN_OR_RETURN(current, PublishOver(store, current, index, *before, now, call));
  return Rollback{std::move(current)};
}

}  // namespace sightline
