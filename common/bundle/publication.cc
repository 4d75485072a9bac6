#include "common/bundle/publication.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/store_lock.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;
using bundle::v1::Publication;

std::string CurrentPath(absl::string_view store, absl::string_view index) {
  return JoinPath(IndexDirectory(store, index), "CURRENT");
}

absl::Status CheckFileIsWhole(const std::string& directory, const BundleFile& file) {
  const std::string path = JoinPath(directory, file.path());
  ASSIGN_OR_RETURN(const int64_t size, FileSize(path));
  if (size == file.byte_count()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " has ", size, " of ", file.byte_count(), " bytes"));
}

// Whether all that the generation needs is there, in its full length.
absl::Status CheckComplete(absl::string_view store, absl::string_view index,
                           absl::string_view generation) {
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadGenerationManifest(store, index, generation));
  const std::string directory = GenerationDirectory(store, index, generation);
  for (const auto& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) {
      RETURN_IF_ERROR(CheckFileIsWhole(directory, *file.description));
    }
  }
  return absl::OkStatus();
}

// With the lock held.
absl::StatusOr<CurrentGeneration> Publish(absl::string_view store, absl::string_view index,
                                          absl::string_view generation, absl::Time now) {
  if (const absl::Status status = CheckComplete(store, index, generation); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("generation ", generation, " of index ",
                                                      index,
                                                      " cannot be published: ", status.message()));
  }
  absl::StatusOr<CurrentGeneration> before = ReadCurrent(store, index);
  if (absl::IsNotFound(before.status())) before = CurrentGeneration();
  RETURN_IF_ERROR(before.status());
  CurrentGeneration after = CurrentAfter(*before, generation, now);
  RETURN_IF_ERROR(WriteFileAtomically(CurrentPath(store, index), ManifestJson(after)));
  return after;
}

}  // namespace

CurrentGeneration CurrentAfter(const CurrentGeneration& before, absl::string_view generation,
                               absl::Time now) {
  CurrentGeneration after;
  after.set_generation(std::string(generation));
  after.set_sequence(before.sequence() + 1);
  if (before.sequence() == 0) return after;

  std::vector<Publication> previous(before.previous().begin(), before.previous().end());
  if (before.generation() != generation) {
    previous.insert(previous.begin(), Publication());
    previous.front().set_generation(before.generation());
    previous.front().set_sequence(before.sequence());
  }
  for (Publication& publication : previous) {
    if (!publication.leave_time().empty()) continue;  // else it is left now, or has been
    publication.set_leave_time(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
  }
  const auto earlier = std::find_if(previous.begin(), previous.end(), [&](const Publication& p) {
    return p.generation() == generation;
  });
  if (earlier != previous.end()) {
    // Going back to what was served before is a step back from all since; going forward
    // again, to what was rolled back, is not.
    if (!earlier->rolled_back()) {
      for (auto newer = previous.begin(); newer != earlier; ++newer) newer->set_rolled_back(true);
    }
    previous.erase(earlier);
  }
  if (previous.size() > limits::kMaxPublications) previous.resize(limits::kMaxPublications);
  for (Publication& publication : previous) *after.add_previous() = std::move(publication);
  return after;
}

std::vector<std::string> RolledBack(const CurrentGeneration& current) {
  std::vector<std::string> generations;
  for (const Publication& publication : current.previous()) {
    if (publication.rolled_back()) generations.push_back(publication.generation());
  }
  return generations;
}

absl::StatusOr<absl::optional<std::string>> GenerationBefore(absl::string_view index,
                                                             const CurrentGeneration& current,
                                                             absl::string_view from) {
  const std::vector<std::string> rolled_back = RolledBack(current);
  if (!from.empty() && from != current.generation()) {
    if (std::find(rolled_back.begin(), rolled_back.end(), from) != rolled_back.end()) {
      return absl::optional<std::string>();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("index '", index, "' is not rolled back from ", from, ": current is ",
                     current.generation(), " (sequence ", current.sequence(), "), and ", from,
                     " was not rolled back; look at what was published, and name what is to go"));
  }
  for (const Publication& publication : current.previous()) {
    if (!publication.rolled_back()) return absl::make_optional(publication.generation());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "nothing was published for index '", index, "' before ", current.generation(),
      rolled_back.empty()
          ? ""
          : absl::StrCat(" but what was rolled back (", absl::StrJoin(rolled_back, ", "), ")"),
      "; name the generation to publish"));
}

absl::StatusOr<CurrentGeneration> ReadCurrent(absl::string_view store, absl::string_view index) {
  RETURN_IF_ERROR(CheckIndexName(index));
  const std::string path = CurrentPath(store, index);
  const absl::StatusOr<std::string> json = ReadFile(path, limits::kMaxManifestBytes);
  if (absl::IsNotFound(json.status())) {
    return WithPrefix(json.status(), absl::StrCat("nothing was published for index '", index, "'"));
  }
  RETURN_IF_ERROR(json.status());
  absl::StatusOr<CurrentGeneration> current = ParseCurrentGeneration(*json);
  if (!current.ok()) return WithPrefix(current.status(), path);
  return current;
}

absl::StatusOr<CurrentGeneration> PublishGeneration(absl::string_view store,
                                                    absl::string_view index,
                                                    absl::string_view generation, absl::Time now) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  ASSIGN_OR_RETURN(const StoreLock lock, LockPublications(IndexDirectory(store, index)));
  return Publish(store, index, generation, now);
}

absl::StatusOr<Rollback> RollBackGeneration(absl::string_view store, absl::string_view index,
                                            absl::Time now, absl::string_view from) {
  RETURN_IF_ERROR(CheckIndexName(index));
  ASSIGN_OR_RETURN(const StoreLock lock, LockPublications(IndexDirectory(store, index)));
  ASSIGN_OR_RETURN(CurrentGeneration current, ReadCurrent(store, index));
  ASSIGN_OR_RETURN(const absl::optional<std::string> before,
                   GenerationBefore(index, current, from));
  if (!before.has_value()) return Rollback{std::move(current), /*was_done=*/true};
  ASSIGN_OR_RETURN(current, Publish(store, index, *before, now));
  return Rollback{std::move(current)};
}

absl::Status AdoptCurrent(absl::string_view store, absl::string_view index,
                          const CurrentGeneration& current) {
  RETURN_IF_ERROR(CheckIndexName(index));
  ASSIGN_OR_RETURN(const StoreLock lock, LockPublications(IndexDirectory(store, index)));
  const absl::StatusOr<CurrentGeneration> here = ReadCurrent(store, index);
  if (!here.ok() && !absl::IsNotFound(here.status())) return here.status();
  const auto is_here = [&](absl::string_view generation, int64_t sequence) {
    return here->generation() == generation && here->sequence() <= sequence;
  };
  const bool is_copy = !here.ok() || is_here(current.generation(), current.sequence()) ||
                       std::any_of(current.previous().begin(), current.previous().end(),
                                   [&](const Publication& before) {
                                     return is_here(before.generation(), before.sequence());
                                   });
  if (is_copy) return WriteFileAtomically(CurrentPath(store, index), ManifestJson(current));
  return absl::FailedPreconditionError(
      absl::StrCat(CurrentPath(store, index), " is left: it tells of ", here->generation(),
                   ", a publication of its own, where the other store's is ", current.generation(),
                   "; use another folder, or remove that file"));
}

}  // namespace sightline
