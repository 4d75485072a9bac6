#include "services/sightlinectl/reindex.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/store_lock.h"
#include "common/bundle/vector_dtype.h"
#include "common/index/index_builder.h"
#include "common/index/probe_queries.h"
#include "common/indexing/make_index.h"
#include "services/sightlinectl/converted_vectors.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::GenerationManifest;
using bundle::v1::ShardManifest;

// Beside the manifest: by what a second run knows its own generation.
constexpr absl::string_view kContentFile = "reindex.sha256";
constexpr int64_t kMaxContentBytes = 4096;
constexpr size_t kNameDigits = 16;
constexpr int64_t kPieceBytes = int64_t{4} << 20;

absl::StatusOr<GenerationManifest> ReadBase(const ReindexOptions& options) {
  if (!options.base.empty()) {
    return ReadGenerationManifest(options.store, options.index, options.base);
  }
  ASSIGN_OR_RETURN(DesiredGeneration desired, ReadDesiredGeneration(options.store, options.index));
  return std::move(desired.manifest);
}

std::string DirectoryOf(const ReindexOptions& options, const GenerationManifest& manifest) {
  return GenerationDirectory(options.store, manifest.index(), manifest.generation());
}

// --- queries ---

// Every so many of `all`, `count` at most.
EmbeddingMatrix Thinned(const EmbeddingMatrix& all, int count) {
  const int64_t wanted = std::min<int64_t>(all.rows(), count);
  EmbeddingMatrix some(wanted, all.dimension());
  for (int64_t i = 0; i < wanted; ++i) {
    const absl::Span<const float> row = all.row(i * all.rows() / wanted);
    std::copy(row.begin(), row.end(), some.mutable_row(i).begin());
  }
  return some;
}

absl::StatusOr<EmbeddingMatrix> QueriesOfBase(const ReindexOptions& options,
                                              const GenerationManifest& base, int count) {
  const std::string path = JoinPath(DirectoryOf(options, base), base.shards(0).probes().path());
  ASSIGN_OR_RETURN(const Probes probes, ReadProbes(path, base, 0));
  return Thinned(probes.queries, count);
}

absl::StatusOr<EmbeddingMatrix> QueriesOfIndex(const ReindexOptions& options,
                                               const GenerationManifest& asking, int count) {
  return ProbeQueries(DirectoryOf(options, asking),
                      {asking.shards().begin(), asking.shards().end()},
                      asking.embedding().dimension(), count);
}

// What asks, and what it is known by.
struct Asking {
  QuerySource source;
  std::string identity;
};

// `base` and `options` outlive it.
absl::StatusOr<Asking> FindQueries(const ReindexOptions& options, const GenerationManifest& base) {
  if (options.query_index.empty()) {
    if (!base.has_recall_probe()) {
      return absl::FailedPreconditionError(absl::StrCat(
          base.index(), " ", base.generation(),
          " has no probe queries: --query-index names an index whose items are asked with, "
          "captions for pictures"));
    }
    return Asking{[&](int count) { return QueriesOfBase(options, base, count); },
                  base.shards(0).probes().sha256()};
  }
  ASSIGN_OR_RETURN(DesiredGeneration asking,
                   ReadDesiredGeneration(options.store, options.query_index));
  if (asking.manifest.embedding().space() != base.embedding().space()) {
    return absl::FailedPreconditionError(
        absl::StrCat("index ", options.query_index, " has embeddings of another space than ",
                     base.index(), "; name one that was encoded with the same model"));
  }
  const std::string identity = absl::StrCat(options.query_index, "/", asking.manifest.generation());
  return Asking{[&options, manifest = std::move(asking.manifest)](int count) {
                  return QueriesOfIndex(options, manifest, count);
                },
                identity};
}

// --- the generation ---

bool IsConverted(const ReindexOptions& options, const GenerationManifest& base) {
  return options.vector_dtype.has_value() && *options.vector_dtype != VectorDtypeOf(base);
}

std::string ContentOf(const ReindexOptions& options, const GenerationManifest& base,
                      const Asking& asking) {
  std::string text = absl::StrCat("reindexed 1\n", base.index(), "/", base.generation(), "\n");
  for (const ShardManifest& shard : base.shards()) {
    absl::StrAppend(&text, shard.vectors().sha256(), " ", shard.features().sha256(), "\n");
  }
  absl::StrAppend(&text, asking.identity, "\n", options.wish.Text());
  if (IsConverted(options, base)) absl::StrAppend(&text, DtypeName(*options.vector_dtype), "\n");
  return Sha256Hex(text);
}

// NotFound if it was not made, or not to its end.
absl::StatusOr<GenerationManifest> FindMade(const ReindexOptions& options,
                                            const std::string& generation,
                                            const std::string& content) {
  ASSIGN_OR_RETURN(GenerationManifest manifest,
                   ReadGenerationManifest(options.store, options.index, generation));
  const absl::StatusOr<std::string> found =
      ReadFile(JoinPath(DirectoryOf(options, manifest), kContentFile), kMaxContentBytes);
  if (found.ok() && *found == content) return manifest;
  return absl::AlreadyExistsError(
      absl::StrCat("index ", options.index, " has a generation ", generation,
                   " of other content, and generations never change; give another name"));
}

absl::Status Copy(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const auto source, RandomAccessFile::Open(from));
  ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> copy, AtomicFile::Create(to));
  std::string piece;
  for (int64_t begin = 0; begin < source->size(); begin += static_cast<int64_t>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min(source->size() - begin, kPieceBytes)));
    RETURN_IF_ERROR(source->Read(begin, static_cast<int64_t>(piece.size()), &piece[0]));
    RETURN_IF_ERROR(copy->WriteAt(begin, piece));
  }
  return copy->Commit();
}

// The same file under another name, or a copy of it.
absl::Status Link(const std::string& from, const std::string& to, const CallContext& call) {
  RETURN_IF_ERROR(call.Check("linking files"));
  RETURN_IF_ERROR(MakeDirectories(std::string(std::filesystem::path(to).parent_path())));
  if (::unlink(to.c_str()) != 0 && errno != ENOENT) return FileError("remove", to, errno);
  if (::link(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) return FileError("link", from, errno);
  return Copy(from, to);
}

// The shards' files, of a base below `from`, to the new generation below `to`.
absl::Status TakeFiles(const ReindexOptions& options, const GenerationManifest& base,
                       const std::string& from, const std::string& to, const CallContext& call,
                       GenerationManifest* manifest) {
  const bool converted = IsConverted(options, base);
  for (int i = 0; i < base.shards_size(); ++i) {
    const ShardManifest& shard = base.shards(i);
    const auto link = [&](const BundleFile& file) {
      return Link(JoinPath(from, file.path()), JoinPath(to, file.path()), call);
    };
    if (shard.has_features()) RETURN_IF_ERROR(link(shard.features()));
    if (!converted) {
      RETURN_IF_ERROR(link(shard.vectors()));
      continue;
    }
    ASSIGN_OR_RETURN(*manifest->mutable_shards(i)->mutable_vectors(),
                     ConvertVectors(from, base, i, *options.vector_dtype, to, call));
  }
  if (converted) SetVectorDtype(*options.vector_dtype, manifest);
  return SyncDirectory(to);
}

// Of the base, as it is before it has an index.
GenerationManifest Unindexed(const GenerationManifest& base, const std::string& generation) {
  GenerationManifest manifest = base;
  manifest.set_generation(generation);
  manifest.set_parent_generation(base.generation());
  manifest.clear_create_time();
  manifest.clear_index_spec();
  manifest.clear_recall_probe();
  for (ShardManifest& shard : *manifest.mutable_shards()) {
    shard.clear_probes();
    shard.clear_index_files();
    shard.clear_efforts();
  }
  return manifest;
}

}  // namespace

absl::StatusOr<Reindexed> Reindex(const ReindexOptions& options, ComputePool* pool,
                                  const CallContext& call, Progress* progress) {
  RETURN_IF_ERROR(CheckIndexName(options.index));
  ASSIGN_OR_RETURN(const GenerationManifest base, ReadBase(options));
  RETURN_IF_ERROR(CheckIndexWish(options.wish, base.embedding().dimension()));
  ASSIGN_OR_RETURN(const Asking asking, FindQueries(options, base));
  const std::string content = ContentOf(options, base, asking);
  const std::string generation =
      options.generation.empty() ? content.substr(0, kNameDigits) : options.generation;
  RETURN_IF_ERROR(CheckNames(options.index, generation));
  Reindexed made;
  made.manifest = Unindexed(base, generation);
  const std::string directory = DirectoryOf(options, made.manifest);
  RETURN_IF_ERROR(MakeDirectories(directory));
  ASSIGN_OR_RETURN(const StoreLock lock, LockGeneration(directory));
  absl::StatusOr<GenerationManifest> found = FindMade(options, generation, content);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  made.already_there = found.ok();
  if (found.ok()) made.manifest = *std::move(found);
  if (!made.already_there) {
    RETURN_IF_ERROR(
        TakeFiles(options, base, DirectoryOf(options, base), directory, call, &made.manifest));
    RETURN_IF_ERROR(MakeIndex(directory, options.wish, asking.source, {}, pool, call, progress,
                              &made.manifest));
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kContentFile), content));
    RETURN_IF_ERROR(RemoveTemporaryFiles(directory, absl::InfiniteFuture()));
    RETURN_IF_ERROR(WriteGenerationManifest(options.store, made.manifest));
  }
  RETURN_IF_ERROR(RemoveIndexWork(directory));
  return made;
}

}  // namespace sightline
