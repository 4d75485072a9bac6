#include "services/corpus_encoder/work_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr absl::string_view kFormatFile = "FORMAT";
constexpr absl::string_view kFormat = "2\n";
constexpr const char* kPieceFolders[] = {"scans", "units", "rows", "seals", "shards"};

// The first 16 digits, which a name begins with.
bool ReadHash(absl::string_view name, uint64_t* hash) {
  return name.size() >= 16 && absl::SimpleHexAtoi(name.substr(0, 16), hash);
}

// Of the first layout, or a spool whose process was killed in the moment when it had a name.
bool IsStrayFile(absl::string_view name) {
  return absl::StrContains(name, ".unit") || absl::StrContains(name, ".scan") ||
         absl::StrContains(name, ".base") ||
         (absl::StartsWith(name, "spool.") && absl::EndsWith(name, ".tmp"));
}

void RemoveOld(const std::string& path, absl::Time before) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return;
  // Where locks do not reach, a newer file is somebody else's.
  if (absl::TimeFromTimespec(info.st_mtim) > before) return;
  ::unlink(path.c_str());  // a file that stays costs space, nothing else
}

// One folder at a time, whose names are few.
void RemoveFrom(const std::string& directory, const KeptPieces& kept, absl::Time before) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    struct stat info;
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      RemoveFrom(path, kept, before);
    } else if (!kept.Has(name)) {
      RemoveOld(path, before);
    }
  }
}

}  // namespace

std::string WorkDirectory(absl::string_view store, absl::string_view images_index) {
  return JoinPath(JoinPath(store, "work"), images_index);
}

absl::StatusOr<WorkFolder> WorkFolder::Open(std::string path) {
  RETURN_IF_ERROR(MakeDirectories(path));
  const WorkFolder folder(std::move(path));
  const std::string format_path = folder.File(kFormatFile);
  const absl::StatusOr<std::string> format = ReadFile(format_path);
  if (format.ok() && *format == kFormat) return folder;
  if (format.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder.path(), " has the layout ", format->substr(0, 20),
        " and this program works with layout ", kFormat,
        "; run the version that made it, or remove the folder: all in it can be made anew"));
  }
  if (!absl::IsNotFound(format.status())) return format.status();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder.path()));
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return absl::EndsWith(name, ".unit"); })) {
    Log(Severity::kWarning, "the work folder is of an earlier layout: its units are made anew",
        {{"path", folder.path()}});
  }
  RETURN_IF_ERROR(WriteFileAtomically(format_path, kFormat));
  return folder;
}

std::string WorkFolder::File(absl::string_view name) const {
  return JoinPath(path_, name);
}

std::string WorkFolder::Piece(absl::string_view folder, absl::string_view hash,
                              absl::string_view end) const {
  return File(absl::StrCat(folder, "/", hash.substr(0, 2), "/", hash, end));
}

std::string WorkFolder::ScanSeal(absl::string_view hash, int worker) const {
  return File(absl::StrCat("seals/", hash, ".", worker, ".scanned"));
}

std::string WorkFolder::RowsSeal(absl::string_view hash, int worker) const {
  return File(absl::StrCat("seals/", hash, ".", worker, ".rows"));
}

std::string WorkFolder::ReceiptPath(absl::string_view hash, absl::string_view shard) const {
  return File(absl::StrCat("shards/", hash, ".", shard));
}

std::string WorkFolder::ClaimPath(absl::string_view shard) const {
  return File(absl::StrCat("shards/LOCK.", shard));
}

absl::Status MakeFolderOf(absl::string_view path) {
  return MakeDirectories(path.substr(0, path.rfind('/')));
}

void KeptPieces::Add(absl::string_view hash) {
  uint64_t number = 0;
  if (ReadHash(hash, &number)) hashes_.push_back(number);
}

absl::Status KeptPieces::AddAll(const Spool& hashes) {
  Spool::Reader reader(hashes);
  for (absl::string_view hash;;) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&hash));
    if (!more) return absl::OkStatus();
    Add(hash);
  }
}

void KeptPieces::Sort() {
  std::sort(hashes_.begin(), hashes_.end());
}

bool KeptPieces::Has(absl::string_view name) const {
  uint64_t number = 0;
  return !absl::EndsWith(name, ".tmp") && ReadHash(name, &number) &&
         std::binary_search(hashes_.begin(), hashes_.end(), number);
}

void RemoveStaleFiles(const WorkFolder& folder, const KeptPieces& kept, WorkLock& lock) {
  lock.IfAlone([&] {
    for (const char* pieces : kPieceFolders) {
      RemoveFrom(folder.File(pieces), kept, lock.job_start());
    }
    const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder.path());
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (IsStrayFile(name)) RemoveOld(folder.File(name), lock.job_start());
    }
  });
}

void RemoveRows(const WorkFolder& folder, absl::Time time, WorkLock& lock) {
  lock.IfAlone([&] {
    for (const char* pieces : {"rows", "shards"}) RemoveFrom(folder.File(pieces), {}, time);
    const std::string seals = folder.File("seals");
    const absl::StatusOr<std::vector<std::string>> names = ListDirectory(seals);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (absl::EndsWith(name, ".rows")) RemoveOld(JoinPath(seals, name), time);
    }
  });
}

}  // namespace sightline
