#include "services/corpus_encoder/generation_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/shard_source.h"
#include "common/log/log.h"
#include "services/corpus_encoder/quarantine.h"

namespace sightline {
namespace {

constexpr absl::string_view kContentFile = "content.json";
constexpr int64_t kMaxContentBytes = 1 << 20;

std::string ContentJson(const std::string& content) {
  const nlohmann::ordered_json json = {{"content_sha256", content}};
  return absl::StrCat(json.dump(2), "\n");
}

int64_t BytesOf(const bundle::v1::GenerationManifest& manifest) {
  int64_t bytes = 0;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    bytes +=
        shard.vectors().byte_count() + shard.features().byte_count() + shard.probes().byte_count();
  }
  return bytes;
}

absl::StatusOr<bundle::v1::GenerationManifest> MakeManifest(const GenerationSpec& spec) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(spec.index);
  manifest.set_generation(spec.generation);
  manifest.set_item_kind(spec.sources.item_kind);
  *manifest.mutable_embedding() = spec.embedding;
  manifest.set_encoder_model(spec.encoder_model);
  SetRerankers(spec.rerankers, &manifest);
  manifest.set_parent_generation(spec.parent);
  if (!spec.parent.empty()) return manifest;
  absl::StatusOr<bundle::v1::CurrentGeneration> current = ReadCurrent(spec.store, spec.index);
  if (current.ok()) {
    manifest.set_parent_generation(current->generation());
  } else if (!absl::IsNotFound(current.status())) {
    return current.status();
  }
  return manifest;
}

// In the order that they have.
std::vector<std::vector<const GenerationItem*>> ByShard(absl::Span<const GenerationItem> items,
                                                        int shard_count) {
  std::vector<std::vector<const GenerationItem*>> shards(shard_count);
  for (const GenerationItem& item : items) {
    shards[ShardOf(item.item_id, shard_count)].push_back(&item);
  }
  return shards;
}

absl::Status WriteShards(const GenerationSpec& spec, absl::Span<const GenerationItem> items,
                         const std::string& directory, const CallContext& call, Progress* progress,
                         bundle::v1::GenerationManifest* manifest) {
  std::vector<std::vector<const GenerationItem*>> shards = ByShard(items, spec.shard_count);
  std::vector<std::string> models;
  for (const NamedReranker& reranker : spec.rerankers) models.push_back(reranker.model);
  progress->Begin(absl::StrCat("write ", spec.index), "items", static_cast<int64_t>(items.size()));
  for (int shard = 0; shard < spec.shard_count; ++shard) {
    GenerationShard source(std::move(shards[shard]), spec.sources, call);
    ASSIGN_OR_RETURN(*manifest->add_shards(),
                     WriteShardFrom(directory, shard, spec.shard_count, spec.embedding.dimension(),
                                    models, source));
    progress->Advance(source.size());
  }
  progress->End();
  manifest->set_item_count(static_cast<int64_t>(items.size()));
  return absl::OkStatus();
}

// A run that was killed while it wrote a file has left it half, under a name that nobody
// asks for.  A younger one may be another worker 0's, which is still writing it.
constexpr absl::Duration kAbandoned = absl::Hours(1);

bool IsAbandoned(const std::string& path, absl::Time now) {
  struct stat info;
  return absl::EndsWith(path, ".tmp") && ::stat(path.c_str(), &info) == 0 &&
         now - absl::TimeFromTimespec(info.st_mtim) > kAbandoned;
}

absl::Status RemoveHalfFiles(const std::string& directory, absl::Time now) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    if (IsAbandoned(path, now) && ::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return FileError("remove", path, errno);
    }
  }
  return absl::OkStatus();
}

bool WasRolledBack(const bundle::v1::CurrentGeneration& current, const std::string& generation) {
  return std::any_of(current.previous().begin(), current.previous().end(),
                     [&](const bundle::v1::Publication& publication) {
                       return publication.generation() == generation && publication.rolled_back();
                     });
}

}  // namespace

absl::StatusOr<WrittenGeneration> FindWrittenGeneration(const std::string& store,
                                                        const std::string& index,
                                                        const std::string& generation,
                                                        const std::string& content) {
  ASSIGN_OR_RETURN(const bundle::v1::GenerationManifest manifest,
                   ReadGenerationManifest(store, index, generation));
  const std::string directory = GenerationDirectory(store, index, generation);
  const absl::StatusOr<std::string> found =
      ReadFile(JoinPath(directory, kContentFile), kMaxContentBytes);
  if (!found.ok() || *found != ContentJson(content)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "index ", index, " has a generation ", generation,
        " of other content, and generations never change; give this one another name"));
  }
  ASSIGN_OR_RETURN(const std::string ledger, ReadFile(JoinPath(directory, kQuarantineFile)));
  return WrittenGeneration{manifest.item_count(), BytesOf(manifest),
                           std::count(ledger.begin(), ledger.end(), '\n'),
                           /*already_there=*/true};
}

absl::StatusOr<WrittenGeneration> WriteGeneration(const GenerationSpec& spec,
                                                  absl::Span<const GenerationItem> items,
                                                  const CallContext& call, Progress* progress) {
  absl::StatusOr<WrittenGeneration> written =
      FindWrittenGeneration(spec.store, spec.index, spec.generation, spec.content);
  if (!absl::IsNotFound(written.status())) return written;

  const std::string directory = GenerationDirectory(spec.store, spec.index, spec.generation);
  ASSIGN_OR_RETURN(bundle::v1::GenerationManifest manifest, MakeManifest(spec));
  RETURN_IF_ERROR(WriteShards(spec, items, directory, call, progress, &manifest));
  ComputePool::SingleThreadedLibraries();
  ComputePool pool(spec.threads);
  RETURN_IF_ERROR(
      AddRecallProbes(directory, spec.probe_queries, spec.recall, &pool, call, &manifest));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kQuarantineFile), spec.quarantine));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kWarningsFile), spec.warnings));
  RETURN_IF_ERROR(
      WriteFileAtomically(JoinPath(directory, kContentFile), ContentJson(spec.content)));
  RETURN_IF_ERROR(RemoveHalfFiles(directory, call.clock()->Now()));
  RETURN_IF_ERROR(WriteGenerationManifest(spec.store, manifest));
  return WrittenGeneration{manifest.item_count(), BytesOf(manifest),
                           std::count(spec.quarantine.begin(), spec.quarantine.end(), '\n'),
                           /*already_there=*/false};
}

absl::StatusOr<bool> PublishWritten(const std::string& store, const std::string& index,
                                    const std::string& generation, bool already_there) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current = ReadCurrent(store, index);
  if (current.ok() && current->generation() == generation) return true;
  if (already_there && current.ok() && WasRolledBack(*current, generation)) {
    Log(Severity::kWarning, "not published: it was rolled back",
        {{"index", index}, {"generation", generation}});
    return false;
  }
  RETURN_IF_ERROR(PublishGeneration(store, index, generation).status());
  return true;
}

}  // namespace sightline
