#include "common/bundle/generation.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;

absl::Status CheckName(absl::string_view what, absl::string_view name, int max_length) {
  if (IsValidName(name, max_length)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(name.substr(0, 200)), "' is no ", what,
                   " name: a-z, 0-9, _ and -, at most ", max_length, " characters"));
}

absl::Status CheckNames(absl::string_view index, absl::string_view generation) {
  RETURN_IF_ERROR(CheckName("index", index, kMaxIndexNameLength));
  return CheckName("generation", generation, kMaxGenerationNameLength);
}

std::string CurrentPath(absl::string_view store, absl::string_view index) {
  return JoinPath(IndexDirectory(store, index), "CURRENT");
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// Keeps other publishers of an index out while it lives.  The kernel lets go of the lock
// when the process ends, however it ends.
class PublicationLock {
 public:
  static absl::StatusOr<PublicationLock> Take(const std::string& directory) {
    const std::string path = JoinPath(directory, ".publishing");
    Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
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
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CurrentGeneration> ReadCurrent(absl::string_view store, absl::string_view index) {
  RETURN_IF_ERROR(CheckName("index", index, kMaxIndexNameLength));
  const std::string path = CurrentPath(store, index);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, kMaxManifestBytes));
  absl::StatusOr<CurrentGeneration> current = ParseCurrentGeneration(json);
  if (!current.ok()) return InFile(path, current.status());
  return current;
}

absl::StatusOr<CurrentGeneration> PublishGeneration(absl::string_view store,
                                                    absl::string_view index,
                                                    absl::string_view generation) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  if (const absl::Status status = CheckComplete(store, index, generation); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("generation ", generation, " of index ",
                                                      index,
                                                      " cannot be published: ", status.message()));
  }
  ASSIGN_OR_RETURN(const PublicationLock lock, PublicationLock::Take(IndexDirectory(store, index)));
  absl::StatusOr<CurrentGeneration> previous = ReadCurrent(store, index);
  if (!previous.ok() && !absl::IsNotFound(previous.status())) return previous.status();
  CurrentGeneration current;
  current.set_generation(std::string(generation));
  current.set_sequence(previous.ok() ? previous->sequence() + 1 : 1);
  RETURN_IF_ERROR(WriteFileAtomically(CurrentPath(store, index), ManifestJson(current)));
  return current;
}

absl::StatusOr<GenerationManifest> ReadGenerationManifest(absl::string_view store,
                                                          absl::string_view index,
                                                          absl::string_view generation) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  const std::string path = JoinPath(GenerationDirectory(store, index, generation), kManifestFile);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, kMaxManifestBytes));
  absl::StatusOr<GenerationManifest> manifest = ParseGenerationManifest(json);
  if (!manifest.ok()) return InFile(path, manifest.status());
  if (manifest->index() != index || manifest->generation() != generation) {
    return absl::DataLossError(absl::StrCat(path, " is the manifest of generation ",
                                            manifest->generation(), " of index ",
                                            manifest->index()));
  }
  return manifest;
}

absl::Status WriteGenerationManifest(absl::string_view store, const GenerationManifest& manifest) {
  GenerationManifest complete = manifest;
  complete.set_format_version(kGenerationFormatVersion);
  RETURN_IF_ERROR(CheckGenerationManifest(complete));
  const std::string directory = GenerationDirectory(store, complete.index(), complete.generation());
  const std::string path = JoinPath(directory, kManifestFile);
  const std::string json = ManifestJson(complete);
  RETURN_IF_ERROR(MakeDirectories(directory));
  const absl::StatusOr<std::string> present = ReadFile(path, kMaxManifestBytes);
  if (present.ok() && *present == json) return absl::OkStatus();
  if (!absl::IsNotFound(present.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(path,
                     " is there already and says something else; a generation never "
                     "changes, so choose another name"));
  }
  return WriteFileAtomically(path, json);
}

}  // namespace sightline
