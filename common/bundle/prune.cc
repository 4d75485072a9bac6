#include "common/bundle/prune.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune_rules.h"
#include "common/bundle/publication.h"
#include "common/bundle/store_lock.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;
using Names = std::set<std::string>;

// Copying keeps the time of the last modification, but not that of the last change.
absl::Time TimeOf(const struct stat& info) {
  return std::max(absl::TimeFromTimespec(info.st_mtim), absl::TimeFromTimespec(info.st_ctim));
}

// When anything at or below a path changed last; InfinitePast if it is not there.
absl::Time LastChange(const std::string& path) {
  struct stat info;
  absl::Time last = absl::InfinitePast();
  if (::stat(path.c_str(), &info) == 0) last = TimeOf(info);
  const absl::StatusOr<std::vector<std::string>> files = ListFilesBelow(path);
  if (!files.ok()) return last;
  for (const std::string& file : *files) {
    if (::stat(JoinPath(path, file).c_str(), &info) != 0) continue;
    last = std::max(last, TimeOf(info));
  }
  return last;
}

// ---- what lies aside ----

// The oldest first; nothing if there is no such folder.
std::vector<Aside> ListAside(const std::string& pruned) {
  std::vector<Aside> found;
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(pruned);
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    if (absl::optional<Aside> aside = ParseAside(name)) found.push_back(*std::move(aside));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Aside& a, const Aside& b) { return a.since < b.since; });
  return found;
}

int64_t BytesBelow(const std::string& directory) {
  int64_t byte_count = 0;
  const absl::StatusOr<std::vector<std::string>> files = ListFilesBelow(directory);
  if (!files.ok()) return 0;
  for (const std::string& file : *files) {
    byte_count += FileSize(JoinPath(directory, file)).value_or(0);
  }
  return byte_count;
}

// What publishers left that were killed while they wrote CURRENT.  With their lock held.
void RemoveHalfPublications(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, "CURRENT.") && absl::EndsWith(name, ".tmp")) {
      ::unlink(JoinPath(directory, name).c_str());
    }
  }
}

// One run over one index.
class Prune {
 public:
  Prune(absl::string_view store, absl::string_view index, const PruneOptions& options,
        absl::Time now, const absl::optional<CurrentGeneration>& elsewhere,
        const FolderRemover& remove)
      : store_(store),
        index_(index),
        directory_(IndexDirectory(store, index)),
        generations_(JoinPath(directory_, "generations")),
        pruned_(JoinPath(directory_, ".pruned")),
        options_(options),
        now_(now),
        elsewhere_(elsewhere),
        remove_(remove) {}

  absl::StatusOr<PruneSummary> Run() {
    ASSIGN_OR_RETURN(const StoreLock lock, LockPruning(directory_));
    ASSIGN_OR_RETURN(const Names abandoned, FindAbandoned());
    if (!options_.dry_run) RETURN_IF_ERROR(MakeDirectories(pruned_));
    const std::vector<Aside> before = ListAside(pruned_);
    RETURN_IF_ERROR(SetAsideOld(abandoned));
    for (const Aside& aside : options_.dry_run ? before : ListAside(pruned_)) DeleteIfDue(aside);
    return std::move(summary_);
  }

 private:
  struct Published {
    Names all;
    Names staying;
  };

  // Here and elsewhere.
  absl::StatusOr<Published> FindPublished() const {
    Published published;
    const auto add = [&](const CurrentGeneration& current, absl::Time changed) {
      published.all.merge(PublishedGenerations(current));
      published.staying.merge(StayingGenerations(current, changed, options_, now_));
    };
    if (elsewhere_.has_value()) add(*elsewhere_, now_);
    const absl::StatusOr<CurrentGeneration> here = ReadCurrent(store_, index_);
    if (here.ok()) {
      add(*here, LastChange(JoinPath(directory_, "CURRENT")));
    } else if (!elsewhere_.has_value() || !absl::IsNotFound(here.status())) {
      return here.status();
    }
    return published;
  }

  // What was never published and nobody works on.  Found before publishers are locked out,
  // since it takes a look at every file.
  absl::StatusOr<Names> FindAbandoned() const {
    ASSIGN_OR_RETURN(const Published published, FindPublished());
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(generations_));
    Names abandoned;
    for (const std::string& name : names) {
      if (published.all.count(name) > 0) continue;
      const absl::Time changed = LastChange(JoinPath(generations_, name));
      if (HasPassed(changed, options_.abandoned_after, now_)) abandoned.insert(name);
    }
    return abandoned;
  }

  absl::Status SetAsideOld(const Names& abandoned) {
    ASSIGN_OR_RETURN(const StoreLock lock, LockPublications(directory_));
    ASSIGN_OR_RETURN(const Published published, FindPublished());
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(generations_));
    if (!options_.dry_run) RemoveHalfPublications(directory_);
    for (const std::string& name : names) {
      if (!IsValidName(name, limits::kMaxGenerationNameLength)) continue;  // nothing of ours
      const bool goes = published.all.count(name) > 0 ? published.staying.count(name) == 0
                                                      : abandoned.count(name) > 0;
      if (goes && (options_.dry_run || Rename(name))) {
        summary_.set_aside.push_back(name);
      } else {
        summary_.kept.push_back(name);
      }
    }
    return absl::OkStatus();
  }

  bool Rename(const std::string& name) {
    const std::string from = JoinPath(generations_, name);
    if (::rename(from.c_str(), JoinPath(pruned_, AsideName(name, now_)).c_str()) == 0) return true;
    summary_.problems.push_back(FileError("set aside", from, errno));
    return false;
  }

  void DeleteIfDue(const Aside& aside) {
    if (!HasPassed(aside.since, options_.grace, now_)) {
      summary_.waiting.push_back({aside.generation, aside.since + options_.grace});
      return;
    }
    const std::string path = JoinPath(pruned_, aside.name);
    const int64_t byte_count = BytesBelow(path);
    const absl::Status removed = options_.dry_run ? absl::OkStatus() : remove_(path);
    if (!removed.ok()) {
      summary_.problems.push_back(removed);
      return;
    }
    summary_.deleted.push_back(aside.generation);
    summary_.byte_count += byte_count;
  }

  const absl::string_view store_, index_;
  const std::string directory_, generations_, pruned_;
  const PruneOptions& options_;
  const absl::Time now_;
  const absl::optional<CurrentGeneration>& elsewhere_;
  const FolderRemover& remove_;
  PruneSummary summary_;
};

}  // namespace

absl::Status RemoveGenerationFolder(const std::string& directory) {
  const std::string manifest = JoinPath(directory, kManifestFile);
  if (::unlink(manifest.c_str()) != 0 && errno != ENOENT) {
    return FileError("remove", manifest, errno);
  }
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  return error ? FileError("remove", directory, error.value()) : absl::OkStatus();
}

absl::StatusOr<PruneSummary> PruneGenerations(absl::string_view store, absl::string_view index,
                                              const PruneOptions& options, absl::Time now,
                                              const absl::optional<CurrentGeneration>& elsewhere,
                                              const FolderRemover& remove) {
  RETURN_IF_ERROR(CheckIndexName(index));
  RETURN_IF_ERROR(CheckPruneOptions(options));
  return Prune(store, index, options, now, elsewhere, remove).Run();
}

}  // namespace sightline
