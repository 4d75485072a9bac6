#include "services/corpus_encoder/generation_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/publication.h"
#include "common/bundle/shard_files.h"
#include "common/index/index_builder.h"
#include "common/log/log.h"
#include "services/corpus_encoder/field_hash.h"

namespace sightline {
namespace {

constexpr absl::string_view kContentFile = "content.json";
constexpr int64_t kMaxContentBytes = 1 << 20;

constexpr char kContentKey[] = "content_sha256";
constexpr char kRefusedKey[] = "refused_sha256";

std::string ContentJson(const GenerationSpec& spec) {
  const nlohmann::ordered_json json = {{kContentKey, spec.content}, {kRefusedKey, spec.refused}};
  return absl::StrCat(json.dump(2), "\n");
}

// Empty where there is none.
std::string TextOf(const nlohmann::json& json, const char* key) {
  const nlohmann::json value = json.is_object() ? json.value(key, nlohmann::json()) : json;
  return value.is_string() ? value.get<std::string>() : "";
}

absl::StatusOr<int64_t> CountLines(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, RandomAccessFile::Open(path));
  int64_t lines = 0;
  std::string piece;
  for (int64_t begin = 0; begin < file->size(); begin += static_cast<int64_t>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min(file->size() - begin, int64_t{1} << 16)));
    RETURN_IF_ERROR(file->Read(begin, static_cast<int64_t>(piece.size()), &piece[0]));
    lines += std::count(piece.begin(), piece.end(), '\n');
  }
  return lines;
}

absl::StatusOr<bundle::v1::GenerationManifest> MakeManifest(const GenerationSpec& spec,
                                                            const CallContext& call) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(spec.index);
  manifest.set_generation(spec.generation);
  manifest.set_item_kind(spec.item_kind);
  *manifest.mutable_embedding() = spec.embedding;
  manifest.set_encoder_model(spec.encoder_model);
  SetRerankers(spec.rerankers, &manifest);
  if (!spec.rerankers.empty()) SetFeatureDtype(spec.feature_dtype, &manifest);
  SetVectorDtype(spec.vector_dtype, &manifest);
  SetEncodingPrecision(spec.precision.precision, spec.precision.agreement, &manifest);
  manifest.set_parent_generation(spec.parent);
  if (!spec.parent.empty()) return manifest;
  absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrentOf({spec.store, spec.object_store}, spec.index, call);
  if (current.ok()) {
    manifest.set_parent_generation(current->generation());
  } else if (!absl::IsNotFound(current.status())) {
    return current.status();
  }
  return manifest;
}

// Younger temporary files may be another worker 0's, which is still writing.
constexpr absl::Duration kAbandoned = absl::Hours(1);

bool WasPublished(const bundle::v1::CurrentGeneration& current, const std::string& generation) {
  return current.generation() == generation ||
         std::any_of(current.previous().begin(), current.previous().end(),
                     [&](const bundle::v1::Publication& publication) {
                       return publication.generation() == generation;
                     });
}

bool WasRolledBack(const bundle::v1::CurrentGeneration& current, const std::string& generation) {
  const std::vector<std::string> rolled_back = RolledBack(current);
  return std::find(rolled_back.begin(), rolled_back.end(), generation) != rolled_back.end();
}

}  // namespace

absl::StatusOr<WrittenGeneration> FindWrittenGeneration(const std::string& store,
                                                        const std::string& index,
                                                        const std::string& generation,
                                                        const std::string& content) {
  ASSIGN_OR_RETURN(const bundle::v1::GenerationManifest manifest,
                   ReadGenerationManifest(store, index, generation));
  const std::string directory = GenerationDirectory(store, index, generation);
  const absl::StatusOr<std::string> text =
      ReadFile(JoinPath(directory, kContentFile), kMaxContentBytes);
  const nlohmann::json found = nlohmann::json::parse(text.ok() ? *text : "", /*cb=*/nullptr,
                                                     /*allow_exceptions=*/false);
  if (TextOf(found, kContentKey) != content) {
    return absl::AlreadyExistsError(absl::StrCat(
        "index ", index, " has a generation ", generation,
        " of other content, and generations never change; give this one another name"));
  }
  ASSIGN_OR_RETURN(const int64_t quarantined, CountLines(JoinPath(directory, kQuarantineFile)));
  return WrittenGeneration{manifest.item_count(), ShardFileBytes(manifest), quarantined,
                           /*already_there=*/true, TextOf(found, kRefusedKey)};
}

absl::StatusOr<std::string> RefusedHash(Quarantine& images, Quarantine& captions) {
  FieldHash hash;
  for (Quarantine* const bad : {&images, &captions}) {
    hash.AddNumber(bad->size());
    RETURN_IF_ERROR(bad->VisitAll([&](const CorpusProblem& problem) {
      hash.Add(problem.item_id);
      return absl::OkStatus();
    }));
  }
  return hash.Hex();
}

absl::Status DiscardUnpublished(const GenerationSpec& spec, const CallContext& call) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrentOf({spec.store, spec.object_store}, spec.index, call);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  if (current.ok() && WasPublished(*current, spec.generation)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "index ", spec.index, " has published generation ", spec.generation,
        ", which was made when other items were refused, and generations never change; give this "
        "one another name"));
  }
  const std::string path =
      JoinPath(GenerationDirectory(spec.store, spec.index, spec.generation), kManifestFile);
  Log(Severity::kWarning, "a generation that was never published is made anew",
      {{"manifest", path}, {"reason", "other items were refused when it was made"}});
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError("remove", path, errno);
}

absl::StatusOr<bundle::v1::ShardManifest> WriteGenerationShard(const GenerationSpec& spec,
                                                               int shard, ShardSource& rows) {
  std::vector<std::string> models;
  for (const NamedReranker& reranker : spec.rerankers) models.push_back(reranker.model);
  return WriteShardFrom(GenerationDirectory(spec.store, spec.index, spec.generation), shard,
                        spec.shard_count, spec.embedding.dimension(), models, rows,
                        spec.vector_dtype);
}

absl::StatusOr<WrittenGeneration> FinishGeneration(
    const GenerationSpec& spec, const std::vector<bundle::v1::ShardManifest>& shards,
    const QuerySource& probe_queries, Quarantine& quarantine, const Warnings& warnings,
    const CallContext& call) {
  absl::StatusOr<WrittenGeneration> written =
      FindWrittenGeneration(spec.store, spec.index, spec.generation, spec.content);
  if (written.ok() && !written->IsOf(spec)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "index ", spec.index, " has a generation ", spec.generation,
        " that was made meanwhile, when other items were refused; run the same command again"));
  }
  const std::string directory = GenerationDirectory(spec.store, spec.index, spec.generation);
  // Of a run that was killed when it had written the manifest.
  if (written.ok()) RETURN_IF_ERROR(RemoveIndexWork(directory));
  if (!absl::IsNotFound(written.status())) return written;

  ASSIGN_OR_RETURN(bundle::v1::GenerationManifest manifest, MakeManifest(spec, call));
  int64_t item_count = 0;
  for (const bundle::v1::ShardManifest& shard : shards) {
    *manifest.add_shards() = shard;
    item_count += shard.item_count();
  }
  manifest.set_item_count(item_count);
  ComputePool pool(spec.threads);
  RETURN_IF_ERROR(MakeIndex(directory, spec.index_wish, probe_queries, {spec.recall_floor}, &pool,
                            call, spec.progress, &manifest));
  RETURN_IF_ERROR(quarantine.WriteTo(JoinPath(directory, kQuarantineFile)));
  RETURN_IF_ERROR(warnings.WriteTo(JoinPath(directory, kWarningsFile)));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kContentFile), ContentJson(spec)));
  RETURN_IF_ERROR(RemoveTemporaryFiles(directory, call.clock()->Now() - kAbandoned));
  RETURN_IF_ERROR(WriteGenerationManifest(spec.store, manifest));
  RETURN_IF_ERROR(RemoveIndexWork(directory));
  return WrittenGeneration{manifest.item_count(), ShardFileBytes(manifest), quarantine.size(),
                           /*already_there=*/false};
}

absl::StatusOr<bool> PublishWritten(const JobStore& store, const std::string& index,
                                    const std::string& generation, bool already_there,
                                    const CallContext& call) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current = ReadCurrentOf(store, index, call);
  if (current.ok() && current->generation() == generation) return true;
  if (already_there && current.ok() && WasRolledBack(*current, generation)) {
    Log(Severity::kWarning, "not published: it was rolled back",
        {{"index", index}, {"generation", generation}});
    return false;
  }
  RETURN_IF_ERROR(PublishIn(store, index, generation, call));
  return true;
}

}  // namespace sightline
