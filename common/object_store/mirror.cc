#include "common/object_store/mirror.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/log/log.h"
#include "common/object_store/cached_files.h"
#include "common/object_store/expected_files.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/visit_objects.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;

constexpr absl::string_view kCurrentFile = "CURRENT";
constexpr absl::string_view kMarker = ".mirror";
constexpr absl::string_view kLock = ".mirror.lock";
constexpr int64_t kMaxMarkerBytes = 4096;
// An object that came damaged twice is damaged there.
constexpr int kTriesOfDamaged = 2;
// After what failed, the store is left alone for as many times the time that it took.
constexpr int kPatience = 4;
// A server looks at CURRENT several times in a row.
constexpr absl::Duration kFresh = absl::Milliseconds(250);
// What was pruned is asked for at each look while nothing better is there.
constexpr absl::Duration kBelievedAbsent = absl::Seconds(5);

// Writes down what the folder mirrors.
absl::Status Mark(const std::string& folder, const std::string& store) {
  const std::string marker = JoinPath(folder, kMarker);
  const absl::StatusOr<std::string> text = ReadFile(marker, kMaxMarkerBytes);
  if (text.ok() && *text == store) return absl::OkStatus();
  if (text.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " mirrors ", *text, ", not ", store,
                     "; give each object store a folder of its own, or empty this one"));
  }
  if (!absl::IsNotFound(text.status())) return text.status();
  for (const char* part : {"models", "indexes"}) {
    if (!FileExists(JoinPath(folder, part))) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " holds a store of its own; what mirrors ", store,
                     " needs an empty folder, or leave the object store out"));
  }
  return WriteFileAtomically(marker, store);
}

// Makes a small file, with the folders above it.
absl::Status Keep(const std::string& folder, absl::string_view name, absl::string_view bytes) {
  RETURN_IF_ERROR(AsCacheFull(MakeDirectories(folder)));
  return AsCacheFull(WriteFileAtomically(JoinPath(folder, name), bytes));
}

// Whether it says nothing of what was asked for: all that is asked there would have the same end.
bool IsOutage(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

std::unique_ptr<Mirror> Mirror::Cache(std::shared_ptr<ObjectStore> store, MirrorOptions options) {
  return std::unique_ptr<Mirror>(
      new Mirror(std::move(store), std::move(options), /*is_cache=*/true));
}

std::unique_ptr<Mirror> Mirror::OverStore(std::shared_ptr<ObjectStore> store, std::string folder,
                                          const FetchOptions& fetch) {
  MirrorOptions options;
  options.folder = std::move(folder);
  options.fetch = fetch;
  return std::unique_ptr<Mirror>(
      new Mirror(std::move(store), std::move(options), /*is_cache=*/false));
}

absl::Status Mirror::Open() {
  if (!is_cache_) return absl::OkStatus();
  RETURN_IF_ERROR(MakeDirectories(options_.folder));
  const std::string path = JoinPath(options_.folder, kLock);
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.get() < 0) return FileError("open", path, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
    return absl::AbortedError(absl::StrCat("another process has the cache ", options_.folder,
                                           "; each server needs a folder of its own"));
  }
  RETURN_IF_ERROR(Mark(options_.folder, store_->identity()));
  lock_.emplace(std::move(lock));
  return absl::OkStatus();
}

std::string Mirror::PathOf(absl::string_view key) const {
  return JoinPath(options_.folder, key);
}

absl::Status Mirror::FetchCurrent(const std::string& index, const CallContext& call) {
  RETURN_IF_ERROR(CheckIndexName(index));
  MutexLock lock(current_mutex_);
  const absl::Time begin = call.clock()->Now();
  RETURN_IF_ERROR(OutageAt(begin));
  Known& known = known_[index];
  if (begin < known.again) return known.trouble;
  known.trouble = BringCurrent(index, &known.newest, call);
  const absl::Time end = call.clock()->Now();
  known.again = end + (known.trouble.ok() ? kFresh : kPatience * (end - begin));
  NoteOutage(known.trouble, known.again);
  return known.trouble;
}

absl::Status Mirror::OutageAt(absl::Time now) {
  MutexLock lock(mutex_);
  return now < outage_until_ ? outage_ : absl::OkStatus();
}

void Mirror::NoteOutage(const absl::Status& status, absl::Time until) {
  MutexLock lock(mutex_);
  outage_ = IsOutage(status) ? status : absl::OkStatus();
  outage_until_ = until;
}

absl::Status Mirror::BringCurrent(const std::string& index, NewestPublication* known,
                                  const CallContext& call) {
  const std::string directory = IndexDirectory(options_.folder, index);
  ASSIGN_OR_RETURN(const NewestPublication newest,
                   FindNewest(store_.get(), index, known->sequence, call));
  if (newest.sequence == 0) {
    return absl::NotFoundError(
        absl::StrCat("nothing was published for index '", index, "' in ", store_->name()));
  }
  // A restored store may come to the same sequence by another way.
  if (newest.sequence == known->sequence && newest.write_time == known->write_time &&
      FileExists(JoinPath(directory, kCurrentFile))) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const CurrentGeneration current,
                   ReadPublication(store_.get(), index, newest.sequence, call));
  RETURN_IF_ERROR(Keep(directory, kCurrentFile, ManifestJson(current)));
  *known = newest;
  return absl::OkStatus();
}

absl::Status Mirror::FetchManifest(const std::string& index, const std::string& generation,
                                   const CallContext& call) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  const std::string directory = GenerationDirectory(options_.folder, index, generation);
  const std::string path = JoinPath(directory, kManifestFile);
  // What is no manifest, since the disk has lost it, is fetched anew.
  if (FileExists(path) &&
      !absl::IsDataLoss(ReadGenerationManifest(options_.folder, index, generation).status())) {
    return absl::OkStatus();
  }
  const absl::Time now = call.clock()->Now();
  if (IsKnownAbsent(path, now)) return NoSuchGeneration(*store_, index, generation);
  RETURN_IF_ERROR(OutageAt(now));
  const absl::StatusOr<GenerationManifest> manifest =
      ReadRemoteManifest(store_.get(), index, generation, call);
  if (absl::IsNotFound(manifest.status())) {
    MutexLock lock(mutex_);
    absent_until_[path] = now + kBelievedAbsent;
  }
  RETURN_IF_ERROR(manifest.status());
  return Keep(directory, kManifestFile, ManifestJson(*manifest));
}

bool Mirror::IsKnownAbsent(const std::string& path, absl::Time now) {
  MutexLock lock(mutex_);
  const auto found = absent_until_.find(path);
  if (found == absent_until_.end()) return false;
  if (now < found->second) return true;
  absent_until_.erase(found);
  return false;
}

absl::Status Mirror::FetchFiles(const Manifest& manifest, const Paths& files, const Paths& in_use,
                                const CallContext& call) {
  std::set<std::string> seen;
  for (;;) {
    std::vector<std::string> missing;
    std::vector<std::string> all = files();
    for (const std::string& path : all) {
      if (seen.insert(path).second && !FileExists(path)) missing.push_back(path);
    }
    if (missing.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(MakeRoom(manifest, all, in_use));
    for (const std::string& path : missing) RETURN_IF_ERROR(Bring(manifest, path, call));
  }
}

absl::Status Mirror::Bring(const Manifest& manifest, const std::string& path,
                           const CallContext& call) {
  ASSIGN_OR_RETURN(const std::string key, KeyOfPath(options_.folder, path));
  const auto [model, name] = SplitModelKey(key);
  if (name == kManifestFile) return BringModelManifest(model, call);
  const absl::StatusOr<ExpectedFile> expected = ExpectedOf(options_.folder, manifest, path);
  // A file that no manifest tells of is one that the generation does not have: who asks for it
  // finds out.
  if (absl::IsNotFound(expected.status())) return absl::OkStatus();
  RETURN_IF_ERROR(expected.status());
  RETURN_IF_ERROR(CheckIsWorthFetching(*expected, call));
  const absl::Status fetched = FetchFile(store_.get(), *expected, path, options_.fetch, call);
  if (HasReason(fetched, reasons::kFetchFailed)) NoteDamage(*expected, call);
  return fetched;
}

absl::Status Mirror::BringModelManifest(absl::string_view model_id, const CallContext& call) {
  const std::string key = absl::StrCat(ModelPrefix(model_id), kManifestFile);
  const absl::StatusOr<std::string> json = store_->ReadAll(key, limits::kMaxManifestBytes, call);
  if (absl::IsNotFound(json.status())) return NoSuchModel(*store_, model_id);
  RETURN_IF_ERROR(json.status());
  if (Sha256Hex(*json) != model_id) {
    return MakeError(reasons::kFetchFailed,
                     absl::StrCat(store_->name(), "/", key, " has not the SHA-256 of its name"));
  }
  return Keep(ModelDirectory(options_.folder, model_id), kManifestFile, *json);
}

absl::Status Mirror::CheckIsWorthFetching(const ExpectedFile& expected, const CallContext& call) {
  Damaged damaged;
  {
    MutexLock lock(mutex_);
    const auto found = damaged_.find(expected.key);
    if (found == damaged_.end() || found->second.times < kTriesOfDamaged) return absl::OkStatus();
    damaged = found->second;
  }
  ASSIGN_OR_RETURN(const ObjectInfo info, store_->Stat(expected.key, call));
  if (info.write_time != damaged.write_time) return absl::OkStatus();
  return MakeError(reasons::kFetchFailed,
                   absl::StrCat(store_->name(), "/", expected.key,
                                " came damaged twice and has not been written since; ",
                                HowToResend(*store_), ", or publish another generation"));
}

void Mirror::NoteDamage(const ExpectedFile& expected, const CallContext& call) {
  const absl::StatusOr<ObjectInfo> info = store_->Stat(expected.key, call);
  if (!info.ok()) return;
  MutexLock lock(mutex_);
  Damaged& damaged = damaged_[expected.key];
  if (damaged.write_time != info->write_time) damaged = {info->write_time, 0};
  ++damaged.times;
}

absl::Status Mirror::MakeRoom(const Manifest& manifest, const std::vector<std::string>& files,
                              const Paths& in_use) {
  if (!is_cache_) return absl::OkStatus();
  std::set<std::string> kept;
  int64_t missing = 0;
  for (const auto& [path, byte_count] : Missing(manifest, files)) {
    const std::string part = absl::StrCat(path, kPartSuffix);
    const int64_t rest = byte_count - FileSize(part).value_or(0);
    // Sums of lies stay lies, and do not wrap.
    if (__builtin_add_overflow(missing, std::max<int64_t>(rest, 0), &missing)) {
      missing = std::numeric_limits<int64_t>::max();
    }
    kept.insert(part);
  }
  kept.insert(files.begin(), files.end());
  for (std::string& used : in_use()) kept.insert(std::move(used));
  int64_t most = options_.max_bytes;
  if (most == 0) {  // the file system may have grown
    struct statvfs disk;
    if (::statvfs(options_.folder.c_str(), &disk) != 0) {
      return FileError("look at", options_.folder, errno);
    }
    most = static_cast<int64_t>(disk.f_blocks * disk.f_frsize / 10 * 9);
  }
  return MakeRoomInCache(options_.folder, most, missing, kept);
}

ReadProgress::Files Mirror::Missing(const Manifest& manifest,
                                    const std::vector<std::string>& files) {
  ReadProgress::Files missing;
  for (const std::string& path : files) {
    if (FileExists(path)) continue;
    const absl::StatusOr<ExpectedFile> expected = ExpectedOf(options_.folder, manifest, path);
    if (expected.ok()) missing[path] = expected->byte_count;
  }
  return missing;
}

bool Mirror::DiscardDamaged(const Manifest& manifest, const std::vector<std::string>& files,
                            const CallContext& call) {
  bool any = false;
  for (const std::string& path : files) {
    if (!FileExists(path)) continue;
    const absl::Status sound = CompareWithManifests(options_.folder, manifest, path, call);
    if (sound.ok()) continue;
    Log(Severity::kWarning, "a damaged file is fetched anew", {{"file", path}, {"error", sound}});
    any = ::unlink(path.c_str()) == 0 || any;
  }
  return any;
}

absl::Status Mirror::FetchModel(const std::string& model_id, const CallContext& call) {
  const std::string directory = ModelDirectory(options_.folder, model_id);
  return FetchFiles(
      Manifest(), [&] { return BundlePaths(directory); }, [] { return std::vector<std::string>(); },
      call);
}

absl::Status Mirror::FetchGeneration(const std::string& index, const std::string& generation,
                                     const CallContext& call) {
  RETURN_IF_ERROR(FetchManifest(index, generation, call));
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadGenerationManifest(options_.folder, index, generation));
  // One that the folder alone has is none the worse for it.
  const auto there = ReadRemoteManifest(store_.get(), index, generation, call);
  if (!absl::IsNotFound(there.status())) {
    RETURN_IF_ERROR(there.status());
    if (ManifestJson(manifest) != ManifestJson(*there)) {
      return absl::AlreadyExistsError(
          absl::StrCat(options_.folder, " has another generation ", generation, " of index ", index,
                       " than ", store_->name(), "; use another folder, or remove it"));
    }
  }
  for (const std::string& model : ModelsOf(manifest)) RETURN_IF_ERROR(FetchModel(model, call));
  const auto files = [&] {
    std::vector<std::string> paths;
    const std::string directory = GenerationDirectory(options_.folder, index, generation);
    for (const auto& shard : manifest.shards()) {
      for (const ShardFile& file : FilesOf(shard)) {
        paths.push_back(JoinPath(directory, file.description->path()));
      }
    }
    return paths;
  };
  RETURN_IF_ERROR(FetchFiles(
      manifest, files, [] { return std::vector<std::string>(); }, call));
  return BringBeside(index, generation, call);
}

// What no manifest tells of: the ledgers of the job that made it.
absl::Status Mirror::BringBeside(const std::string& index, const std::string& generation,
                                 const CallContext& call) {
  const std::string prefix = GenerationPrefix(index, generation);
  std::vector<std::string> keys;
  RETURN_IF_ERROR(VisitObjects(store_.get(), prefix, call, [&](const ObjectInfo& object) {
    const bool is_safe = IsSafePath(object.key.substr(prefix.size()));
    if (is_safe && !FileExists(PathOf(object.key))) keys.push_back(object.key);
  }));
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const ObjectInfo info, store_->Stat(key, call));
    if (info.sha256.empty()) continue;  // not of our making
    RETURN_IF_ERROR(FetchFile(store_.get(), {info.key, info.byte_count, info.sha256}, PathOf(key),
                              options_.fetch, call));
  }
  return absl::OkStatus();
}

}  // namespace sightline
