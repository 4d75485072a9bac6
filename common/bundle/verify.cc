#include "common/bundle/verify.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/vectors_file.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::GenerationManifest;

constexpr int64_t kMaxStampBytes = 1 << 16;
constexpr int64_t kPieceBytes = 1 << 20;  // of a file whose digest is taken
// Other servers may be reading it.
constexpr absl::string_view kReplace =
    "; fetch it again, under another name, and rename that into place";
constexpr absl::string_view kPathField = "path ";

// A file to be verified.
struct Task {
  int shard = 0;
  ShardFileKind kind = ShardFileKind::kVectors;
  BundleFile file;
  std::string path;
};

// What a stamp of `task` says: everything that would differ if the file were another.
// FileError if the file is not there.
absl::StatusOr<std::string> Identity(const Task& task, const std::string& manifest_hash,
                                     bool sha256) {
  struct stat info;
  if (::stat(task.path.c_str(), &info) != 0) return FileError("stat", task.path, errno);
  return absl::StrCat(kPathField, task.path, "\nsize ", info.st_size, "\nmtime ",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\ninode ", info.st_ino,
                      "\nmanifest ", manifest_hash, "\nread for ",
                      sha256 ? "crc and sha256" : "crc", "\n");
}

// The stamps of a server: one small file for each verified file.
class Stamps {
 public:
  explicit Stamps(const std::string& state_dir)
      : directory_(state_dir.empty() ? "" : JoinPath(state_dir, "verified")) {}

  bool Has(const std::string& path, const std::string& identity) const {
    if (directory_.empty()) return false;
    const absl::StatusOr<std::string> stamp = ReadFile(StampPath(path), kMaxStampBytes);
    return stamp.ok() && *stamp == identity;
  }

  absl::Status Put(const std::string& path, const std::string& identity) const {
    if (directory_.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(MakeDirectories(directory_));
    return WriteFileAtomically(StampPath(path), identity);
  }

  void Remove(const std::string& path) const {
    if (!directory_.empty()) ::unlink(StampPath(path).c_str());
  }

  // Removes the stamps of files that are gone, as those of deleted generations are.
  void Prune() const {
    if (directory_.empty()) return;
    const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory_);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      const std::string stamp = JoinPath(directory_, name);
      const absl::StatusOr<std::string> content = ReadFile(stamp, kMaxStampBytes);
      if (!IsSha256Hex(name) || !content.ok()) continue;
      const absl::string_view first_line =
          absl::string_view(*content).substr(0, content->find('\n'));
      if (!absl::StartsWith(first_line, kPathField)) continue;
      if (!FileExists(first_line.substr(kPathField.size()))) ::unlink(stamp.c_str());
    }
  }

 private:
  std::string StampPath(const std::string& path) const {
    return JoinPath(directory_, Sha256Hex(path));
  }

  const std::string directory_;
};

absl::StatusOr<std::vector<Task>> ListTasks(absl::string_view store,
                                            const GenerationManifest& manifest,
                                            const VerifyOptions& options) {
  std::vector<int> shards = options.shards;
  if (shards.empty()) {
    for (int shard = 0; shard < manifest.shards_size(); ++shard) shards.push_back(shard);
  }
  const std::string directory = GenerationDirectory(store, manifest.index(), manifest.generation());
  std::vector<Task> tasks;
  for (const int shard : shards) {
    if (shard < 0 || shard >= manifest.shards_size()) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard, ": generation ",
                                                     manifest.generation(), " has shards 0 to ",
                                                     manifest.shards_size() - 1));
    }
    for (const ShardFile& file : FilesOf(manifest.shards(shard))) {
      if (!(IsForSearch(file.kind) ? options.vectors : options.features)) continue;
      tasks.push_back(
          {shard, file.kind, *file.description, JoinPath(directory, file.description->path())});
    }
  }
  return tasks;
}

absl::Status CheckLength(const Task& task) {
  const absl::StatusOr<int64_t> size = FileSize(task.path);
  if (absl::IsNotFound(size.status())) {
    return MakeError(reasons::kFileMissing,
                     absl::StrCat(task.path, " is missing; fetch the generation again"));
  }
  RETURN_IF_ERROR(size.status());
  if (*size == task.file.byte_count()) return absl::OkStatus();
  return MakeError(reasons::kLengthMismatch,
                   absl::StrCat(task.path, " has ", *size, " bytes, its manifest says ",
                                task.file.byte_count(), kReplace));
}

// The file says itself what its embeddings are; that must be what everybody was told.
absl::Status CheckDtype(const GenerationManifest& manifest, const std::string& path, Dtype dtype) {
  if (dtype == VectorDtypeOf(manifest)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " holds embeddings of ", DtypeName(dtype),
                                          ", its manifest says ",
                                          DtypeName(VectorDtypeOf(manifest))));
}

absl::Status ReadVectors(const GenerationManifest& manifest, const Task& task,
                         const CallContext& call) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<VectorsFile> file,
      VectorsFile::Open(task.path, manifest.shards(task.shard), manifest.embedding().dimension()));
  RETURN_IF_ERROR(CheckDtype(manifest, task.path, file->dtype()));
  return VerifyVectors(*file, LoadedVectors(), task.shard, manifest.shards_size(), call);
}

absl::Status ReadFeatures(const GenerationManifest& manifest, const Task& task,
                          const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FeatureStore> store,
                   FeatureStore::Open(task.path, manifest.shards(task.shard)));
  RETURN_IF_ERROR(store->Verify(call));
  const std::vector<std::string>& models = store->models();
  for (const NamedReranker& reranker : RerankersOf(manifest)) {
    if (std::count(models.begin(), models.end(), reranker.model) > 0) continue;
    return absl::DataLossError(absl::StrCat(task.path, " has no features of model ", reranker.model,
                                            ", the reranker '", reranker.name, "'"));
  }
  return absl::OkStatus();
}

absl::Status ReadProbeFile(const GenerationManifest& manifest, const Task& task,
                           const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Open(task.path));
  RETURN_IF_ERROR(container->Verify(call));
  return ReadProbes(task.path, manifest, task.shard).status();
}

absl::Status ReadOnce(const GenerationManifest& manifest, const Task& task,
                      const CallContext& call) {
  switch (task.kind) {
    case ShardFileKind::kVectors:
      return ReadVectors(manifest, task, call);
    case ShardFileKind::kFeatures:
      return ReadFeatures(manifest, task, call);
    case ShardFileKind::kProbes:
      return ReadProbeFile(manifest, task, call);
    case ShardFileKind::kIndex:
      break;  // what is in it only its kind of index knows; CheckSha256 reads it
  }
  return absl::OkStatus();
}

// Of all of the file.  `again`: from the disk, past what the system has in memory.
absl::StatusOr<std::string> DigestOf(const RandomAccessFile& file, bool again,
                                     const CallContext& call) {
  Sha256 sha;
  std::string piece;
  for (int64_t begin = 0; begin < file.size(); begin += static_cast<int64_t>(piece.size())) {
    RETURN_IF_ERROR(call.Check("verify a generation"));
    piece.resize(static_cast<size_t>(std::min(file.size() - begin, kPieceBytes)));
    const auto length = static_cast<int64_t>(piece.size());
    RETURN_IF_ERROR(again ? file.ReadAgain(begin, length, &piece[0])
                          : file.Read(begin, length, &piece[0]));
    sha.Update(piece);
  }
  return sha.Hex();
}

absl::Status CheckSha256(const Task& task, const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(task.path));
  std::string digest;
  for (const bool again : {false, true}) {
    ASSIGN_OR_RETURN(digest, DigestOf(*file, again, call));
    if (digest == task.file.sha256()) return absl::OkStatus();
  }
  return MakeError(reasons::kChecksumMismatch,
                   absl::StrCat(task.path, " has SHA-256 ", digest, ", its manifest says ",
                                task.file.sha256(), kReplace));
}

// Damage that is no checksum's is the content's.
absl::Status WithContentReason(const absl::Status& status) {
  if (!absl::IsDataLoss(status) || GetReason(status).has_value()) return status;
  return WithReason(status, reasons::kContentInvalid);
}

absl::Status ReadAndCheck(const GenerationManifest& manifest, const Task& task, bool sha256,
                          const CallContext& call) {
  RETURN_IF_ERROR(WithContentReason(ReadOnce(manifest, task, call)));
  // An index's file has no checksums that are known here.
  return sha256 || task.kind == ShardFileKind::kIndex ? CheckSha256(task, call) : absl::OkStatus();
}

// Reads files for as long as there is no stamp that says that they are good.
class StampedReading {
 public:
  struct Result {
    bool read = false;   // else there was a stamp
    absl::Status stamp;  // why it could not be kept
  };

  StampedReading(const GenerationManifest& manifest, const VerifyOptions& options)
      : stamps_(options.state_dir),
        manifest_hash_(Sha256Hex(ManifestJson(manifest))),
        sha256_(options.sha256) {}

  // Unavailable if the file changed meanwhile; what `read` fails with.
  absl::StatusOr<Result> Do(const Task& task, const std::function<absl::Status()>& read) const {
    ASSIGN_OR_RETURN(const std::string before, Identity(task, manifest_hash_, sha256_));
    if (stamps_.Has(task.path, before)) return Result();
    RETURN_IF_ERROR(read());
    // Who waits for the rest would wait for what lies between sections, which nobody reads.
    ReadProgress::ExpectOnThread(task.path, 0);
    ASSIGN_OR_RETURN(const std::string after, Identity(task, manifest_hash_, sha256_));
    if (before != after) {
      return absl::UnavailableError(
          absl::StrCat(task.path, " changed while it was verified; try again"));
    }
    return Result{true, stamps_.Put(task.path, after)};
  }

 private:
  const Stamps stamps_;
  const std::string manifest_hash_;
  const bool sha256_;
};

}  // namespace

absl::Status VerifyGeneration(absl::string_view store, const GenerationManifest& manifest,
                              const VerifyOptions& options, const CallContext& call,
                              VerifySummary* summary) {
  VerifySummary unwanted;
  VerifySummary& done = summary != nullptr ? *summary : unwanted;
  done = VerifySummary();
  RETURN_IF_ERROR(CheckGenerationManifest(manifest));
  ASSIGN_OR_RETURN(const std::vector<Task> tasks, ListTasks(store, manifest, options));
  for (const Task& task : tasks) RETURN_IF_ERROR(CheckLength(task));

  const StampedReading reading(manifest, options);
  for (const Task& task : tasks) {
    RETURN_IF_ERROR(call.Check("verify a generation"));
    ASSIGN_OR_RETURN(const StampedReading::Result result, reading.Do(task, [&] {
      return ReadAndCheck(manifest, task, options.sha256, call);
    }));
    if (!result.read) {
      ++done.files_stamped;
      continue;
    }
    ++done.files_read;
    done.bytes_read += task.file.byte_count();
    if (done.stamps.ok()) done.stamps = result.stamp;
  }
  Stamps(options.state_dir).Prune();
  return absl::OkStatus();
}

absl::Status CheckLengths(absl::string_view store, const GenerationManifest& manifest,
                          const VerifyOptions& options) {
  RETURN_IF_ERROR(CheckGenerationManifest(manifest));
  ASSIGN_OR_RETURN(const std::vector<Task> tasks, ListTasks(store, manifest, options));
  for (const Task& task : tasks) RETURN_IF_ERROR(CheckLength(task));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ShardVectors>> LoadShard(absl::string_view store,
                                                        const GenerationManifest& manifest,
                                                        int shard, const LoadShardOptions& options,
                                                        const CallContext& call) {
  VerifyOptions wanted;
  wanted.shards = {shard};
  wanted.features = false;
  wanted.state_dir = options.state_dir;
  ASSIGN_OR_RETURN(const std::vector<Task> tasks, ListTasks(store, manifest, wanted));
  for (const Task& task : tasks) RETURN_IF_ERROR(CheckLength(task));
  const StampedReading reading(manifest, wanted);
  std::unique_ptr<ShardVectors> loaded;
  for (const Task& task : tasks) {
    const auto read = [&] { return ReadAndCheck(manifest, task, /*sha256=*/false, call); };
    const auto load = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(loaded, ShardVectors::Open(task.path, manifest.shards(shard),
                                                  manifest.embedding().dimension()));
      RETURN_IF_ERROR(CheckDtype(manifest, task.path, loaded->dtype()));
      return loaded->Load(call, options.embeddings);
    };
    const auto load_and_check = [&]() -> absl::Status {
      RETURN_IF_ERROR(WithContentReason(load()));
      return WithContentReason(loaded->Verify(shard, manifest.shards_size(), call));
    };
    if (task.kind != ShardFileKind::kVectors) {
      if (options.content) RETURN_IF_ERROR(reading.Do(task, read).status());
      continue;
    }
    if (options.content) RETURN_IF_ERROR(reading.Do(task, load_and_check).status());
    // Not wanted, or stamped.
    if (loaded == nullptr) RETURN_IF_ERROR(WithContentReason(load()));
    ReadProgress::ExpectOnThread(task.path, 0);
  }
  return loaded;
}

void ForgetStamps(const std::string& state_dir, const std::vector<std::string>& paths) {
  const Stamps stamps(state_dir);
  for (const std::string& path : paths) stamps.Remove(path);
}

absl::Status CheckEmbeddingSpace(absl::string_view store, const GenerationManifest& manifest) {
  ASSIGN_OR_RETURN(const bundle::v1::ModelBundleManifest bundle,
                   ReadModelBundleManifest(ModelDirectory(store, manifest.encoder_model())));
  const bundle::v1::EmbeddingSpec& made = bundle.embedding();
  const bundle::v1::EmbeddingSpec& claimed = manifest.embedding();
  if (made.space() == claimed.space() && made.dimension() == claimed.dimension() &&
      made.metric() == claimed.metric()) {
    return absl::OkStatus();
  }
  return MakeError(
      reasons::kEmbeddingSpaceMismatch,
      absl::StrCat("its vectors lie in embedding space ", claimed.space(), " (dimension ",
                   claimed.dimension(), "), but its encoder ", manifest.encoder_model(),
                   " writes to ", made.space(), " (dimension ", made.dimension(),
                   "); encode the corpus with that model"),
      {{"expectedSpace", made.space()}, {"actualSpace", claimed.space()}});
}

}  // namespace sightline
