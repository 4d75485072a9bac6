#include "common/bundle/publication.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;
using bundle::v1::Publication;

std::string CurrentPath(absl::string_view store, absl::string_view index) {
  return JoinPath(IndexDirectory(store, index), "CURRENT");
}

// Keeps other publishers of an index out while it lives.  The kernel lets go of the lock
// when the process ends, however it ends.
class PublicationLock {
 public:
  static absl::StatusOr<PublicationLock> Take(const std::string& directory) {
    const std::string path = JoinPath(directory, ".publishing");
    Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (fd.get() < 0 && errno == ENOENT) {
      return absl::FailedPreconditionError(
          absl::StrCat(directory, " is not there: no generation of the index was ever made"));
    }
    if (fd.get() < 0) return FileError("open", path, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return PublicationLock(std::move(fd));
    if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
    return absl::AbortedError(
        absl::StrCat(directory, ": another publication is in progress; try again"));
  }

 private:
  explicit PublicationLock(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

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
    RETURN_IF_ERROR(CheckFileIsWhole(directory, shard.vectors()));
    if (shard.has_features()) RETURN_IF_ERROR(CheckFileIsWhole(directory, shard.features()));
    if (shard.has_probes()) RETURN_IF_ERROR(CheckFileIsWhole(directory, shard.probes()));
  }
  return absl::OkStatus();
}

// What CURRENT says after `generation` is published over `before`.
CurrentGeneration After(const CurrentGeneration& before, absl::string_view generation) {
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
  if (previous.size() > kMaxPublications) previous.resize(kMaxPublications);
  for (Publication& publication : previous) *after.add_previous() = std::move(publication);
  return after;
}

// With the lock held.
absl::StatusOr<CurrentGeneration> Publish(absl::string_view store, absl::string_view index,
                                          absl::string_view generation) {
  if (const absl::Status status = CheckComplete(store, index, generation); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("generation ", generation, " of index ",
                                                      index,
                                                      " cannot be published: ", status.message()));
  }
  absl::StatusOr<CurrentGeneration> before = ReadCurrent(store, index);
  if (absl::IsNotFound(before.status())) before = CurrentGeneration();
  RETURN_IF_ERROR(before.status());
  CurrentGeneration after = After(*before, generation);
  RETURN_IF_ERROR(WriteFileAtomically(CurrentPath(store, index), ManifestJson(after)));
  return after;
}

// The generations that stay because they were published: those that somebody may go back to.
std::set<std::string> LastPublished(const CurrentGeneration& current, int keep) {
  std::set<std::string> last = {current.generation()};
  for (const Publication& publication : current.previous()) {
    if (static_cast<int>(last.size()) >= keep) break;
    if (!publication.rolled_back()) last.insert(publication.generation());
  }
  return last;
}

bool WasPublished(const CurrentGeneration& current, const std::string& generation) {
  return current.generation() == generation ||
         std::any_of(current.previous().begin(), current.previous().end(),
                     [&](const Publication& p) { return p.generation() == generation; });
}

// Copying keeps the time of the last modification, but not that of the last change.
absl::Time TimeOf(const struct stat& info) {
  return std::max(absl::TimeFromTimespec(info.st_mtim), absl::TimeFromTimespec(info.st_ctim));
}

// When anything in a folder changed last.
absl::Time LastChange(const std::string& directory) {
  struct stat info;
  absl::Time last = absl::InfinitePast();
  if (::stat(directory.c_str(), &info) == 0) last = TimeOf(info);
  const absl::StatusOr<std::vector<std::string>> files = ListFilesBelow(directory);
  if (!files.ok()) return last;
  for (const std::string& file : *files) {
    if (::stat(JoinPath(directory, file).c_str(), &info) != 0) continue;
    last = std::max(last, TimeOf(info));
  }
  return last;
}

// What publishers left that were killed while they wrote CURRENT.  With the lock held.
void RemoveHalfPublications(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, "CURRENT.") && absl::EndsWith(name, ".tmp")) {
      ::unlink(JoinPath(directory, name).c_str());
    }
  }
}

// The manifest goes first: without it the folder is nothing, whenever the rest goes.
absl::StatusOr<int64_t> RemoveGeneration(const std::string& directory) {
  const std::string manifest = JoinPath(directory, kManifestFile);
  if (::unlink(manifest.c_str()) != 0 && errno != ENOENT) {
    return FileError("remove", manifest, errno);
  }
  int64_t byte_count = 0;
  if (const auto files = ListFilesBelow(directory); files.ok()) {
    for (const std::string& file : *files) {
      byte_count += FileSize(JoinPath(directory, file)).value_or(0);
    }
  }
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return FileError("remove", directory, error.value());
  return byte_count;
}

}  // namespace

absl::StatusOr<CurrentGeneration> ReadCurrent(absl::string_view store, absl::string_view index) {
  RETURN_IF_ERROR(CheckIndexName(index));
  const std::string path = CurrentPath(store, index);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, kMaxManifestBytes));
  absl::StatusOr<CurrentGeneration> current = ParseCurrentGeneration(json);
  if (!current.ok()) return WithPrefix(current.status(), path);
  return current;
}

absl::StatusOr<CurrentGeneration> PublishGeneration(absl::string_view store,
                                                    absl::string_view index,
                                                    absl::string_view generation) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  ASSIGN_OR_RETURN(const PublicationLock lock, PublicationLock::Take(IndexDirectory(store, index)));
  return Publish(store, index, generation);
}

absl::StatusOr<CurrentGeneration> RollBackGeneration(absl::string_view store,
                                                     absl::string_view index) {
  RETURN_IF_ERROR(CheckIndexName(index));
  ASSIGN_OR_RETURN(const PublicationLock lock, PublicationLock::Take(IndexDirectory(store, index)));
  ASSIGN_OR_RETURN(const CurrentGeneration current, ReadCurrent(store, index));
  for (const Publication& publication : current.previous()) {
    if (!publication.rolled_back()) return Publish(store, index, publication.generation());
  }
  return absl::FailedPreconditionError(absl::StrCat("nothing was published for index '", index,
                                                    "' before ", current.generation(),
                                                    "; name the generation to publish"));
}

absl::StatusOr<PruneSummary> PruneGenerations(absl::string_view store, absl::string_view index,
                                              const PruneOptions& options, absl::Time now) {
  RETURN_IF_ERROR(CheckIndexName(index));
  if (options.keep < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("keep is ", options.keep, "; the present generation always stays"));
  }
  ASSIGN_OR_RETURN(const PublicationLock lock, PublicationLock::Take(IndexDirectory(store, index)));
  ASSIGN_OR_RETURN(const CurrentGeneration current, ReadCurrent(store, index));
  const std::set<std::string> last = LastPublished(current, options.keep);
  if (!options.dry_run) RemoveHalfPublications(IndexDirectory(store, index));
  const std::string generations = JoinPath(IndexDirectory(store, index), "generations");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(generations));
  PruneSummary summary;
  for (const std::string& name : names) {
    if (!IsValidName(name, kMaxGenerationNameLength)) continue;  // nothing of ours
    const std::string directory = JoinPath(generations, name);
    const bool stays =
        last.count(name) > 0 ||
        (!WasPublished(current, name) && now - LastChange(directory) < options.abandoned_after);
    (stays ? summary.kept : summary.removed).push_back(name);
    if (stays || options.dry_run) continue;
    const absl::StatusOr<int64_t> byte_count = RemoveGeneration(directory);
    if (byte_count.ok()) {
      summary.byte_count += *byte_count;
    } else {
      summary.problems.push_back(byte_count.status());
    }
  }
  return summary;
}

}  // namespace sightline
