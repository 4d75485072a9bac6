#include "loadtest/synthesize/synthesis.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/shard_source.h"
#include "common/bundle/store_lock.h"
#include "common/index/index_builder.h"
#include "common/indexing/make_index.h"
#include "loadtest/synthesize/synthetic_regions.h"
#include "loadtest/synthesize/synthetic_shard.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

constexpr absl::string_view kContentFile = "synthesis.json";
constexpr int64_t kMaxContentBytes = 1 << 20;

std::string DirectoryOf(const SynthesisOptions& options) {
  return GenerationDirectory(options.store, options.index, options.generation);
}

// The generation as it was written before; NotFound if it was not, or not to its end.
absl::StatusOr<GenerationManifest> FindWritten(const SynthesisPlan& plan) {
  const SynthesisOptions& options = plan.options;
  ASSIGN_OR_RETURN(GenerationManifest manifest,
                   ReadGenerationManifest(options.store, options.index, options.generation));
  const std::string directory = DirectoryOf(options);
  const absl::StatusOr<std::string> content =
      ReadFile(JoinPath(directory, kContentFile), kMaxContentBytes);
  if (content.ok() && *content == plan.content) return manifest;
  return absl::AlreadyExistsError(
      absl::StrCat("index ", options.index, " has a generation ", options.generation,
                   " of other content, and generations never change; give another --generation"));
}

std::string Gigabytes(int64_t bytes) {
  return absl::StrFormat("%.2f GB", static_cast<double>(bytes) * 1e-9);
}

absl::Status CheckDisk(const SynthesisPlan& plan) {
  RETURN_IF_ERROR(MakeDirectories(plan.options.store));
  std::error_code error;
  const auto space = std::filesystem::space(plan.options.store, error);
  if (error || plan.byte_count < static_cast<int64_t>(space.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the generation takes about ", Gigabytes(plan.byte_count), ", but ",
                   plan.options.store, " has ", Gigabytes(static_cast<int64_t>(space.available)),
                   " left; make room, give another --store, or fewer --items or --regions"));
}

// The numbers of the items of each shard, ascending.
absl::StatusOr<std::vector<std::vector<uint32_t>>> ShareOut(const SynthesisOptions& options,
                                                            const CallContext& call) {
  std::vector<std::vector<uint32_t>> shards(options.shards);
  for (auto& shard : shards) {
    shard.reserve(static_cast<size_t>(options.items / options.shards * 11 / 10 + 16));
  }
  for (int64_t item = 0; item < options.items; ++item) {
    if (item % 65536 == 0) RETURN_IF_ERROR(call.Check("sharing out the items"));
    const auto number = static_cast<uint32_t>(item);
    shards[ShardOf(SyntheticItemId(number), options.shards)].push_back(number);
  }
  return shards;
}

absl::StatusOr<GenerationManifest> MakeManifest(const SynthesisPlan& plan) {
  const SynthesisOptions& options = plan.options;
  GenerationManifest manifest;
  manifest.set_index(options.index);
  manifest.set_generation(options.generation);
  manifest.set_item_kind(bundle::v1::IMAGE);
  manifest.set_item_count(options.items);
  *manifest.mutable_embedding() = plan.embedding;
  manifest.set_encoder_model(options.encoder_model);
  SetVectorDtype(options.vector_dtype, &manifest);
  if (!options.reranker_model.empty()) {
    SetRerankers({{kDefaultReranker, options.reranker_model}}, &manifest);
  }
  const absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrent(options.store, options.index);
  if (current.ok()) {
    manifest.set_parent_generation(current->generation());
  } else if (!absl::IsNotFound(current.status())) {
    return current.status();
  }
  return manifest;
}

// Vectors are made in float32, whatever they are stored as.
int64_t MadeVectorBytes(const SynthesisPlan& plan) {
  return plan.options.vectors.dimension * static_cast<int64_t>(sizeof(float));
}

absl::Status WriteShards(const SynthesisPlan& plan, const CallContext& call, ComputePool* pool,
                         Progress* progress, GenerationManifest* manifest) {
  const SynthesisOptions& options = plan.options;
  const std::unique_ptr<ItemVectors> vectors = VectorsOf(options);
  std::unique_ptr<SyntheticRegions> regions;
  if (options.regions > 0) {
    regions = std::make_unique<SyntheticRegions>(options.vectors.seed, options.regions,
                                                 plan.region_columns);
  }
  ASSIGN_OR_RETURN(const auto shards, ShareOut(options, call));
  progress->Begin("write", "MB",
                  options.items * (MadeVectorBytes(plan) + FeatureBytes(plan)) / 1'000'000);
  int64_t bytes = 0;
  const auto advance = [progress, &bytes](int64_t made) {
    const int64_t before = bytes / 1'000'000;
    bytes += made;
    if (bytes / 1'000'000 > before) progress->Advance(bytes / 1'000'000 - before);
  };
  std::vector<std::string> models;
  if (!options.reranker_model.empty()) models.push_back(options.reranker_model);
  const std::string directory = DirectoryOf(options);
  for (int shard = 0; shard < options.shards; ++shard) {
    SyntheticShard source(shards[shard], vectors.get(), regions.get(), pool, &call, advance);
    ASSIGN_OR_RETURN(*manifest->add_shards(),
                     WriteShardFrom(directory, shard, options.shards, options.vectors.dimension,
                                    models, source, options.vector_dtype));
  }
  progress->End();
  return absl::OkStatus();
}

// The probe queries are about some of the items, evenly spread.
EmbeddingMatrix ProbeQueriesOf(const SynthesisPlan& plan, int most) {
  const int64_t count = std::min<int64_t>(most, plan.options.items);
  std::vector<uint32_t> items;
  for (int64_t i = 0; i < count; ++i) {
    items.push_back(static_cast<uint32_t>(i * plan.options.items / count));
  }
  EmbeddingMatrix queries(count, plan.options.vectors.dimension);
  VectorsOf(plan.options)->FillQueries(items, queries.mutable_data());
  return queries;
}

absl::Status AddIndex(const SynthesisPlan& plan, const std::string& directory,
                      const CallContext& call, ComputePool* pool, Progress* progress,
                      GenerationManifest* manifest) {
  const QuerySource queries = [&plan](int count) { return ProbeQueriesOf(plan, count); };
  return MakeIndex(directory, plan.options.index_wish, queries, {}, pool, call, progress, manifest);
}

// `lock` is that of the generation.
absl::StatusOr<GenerationManifest> Write(const SynthesisPlan& plan, const StoreLock& /*lock*/,
                                         const CallContext& call, ComputePool* pool,
                                         Progress* progress) {
  const SynthesisOptions& options = plan.options;
  const std::string directory = DirectoryOf(options);
  ASSIGN_OR_RETURN(GenerationManifest manifest, MakeManifest(plan));
  auto remove_unfinished = absl::MakeCleanup([&directory] {
    std::error_code ignored;  // what stays costs space and is no generation
    std::filesystem::remove_all(directory, ignored);
  });
  absl::Status written = WriteShards(plan, call, pool, progress, &manifest);
  if (written.ok()) written = AddIndex(plan, directory, call, pool, progress, &manifest);
  if (absl::IsResourceExhausted(written)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(written.message(), "; what was written is removed"));
  }
  RETURN_IF_ERROR(written);
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kContentFile), plan.content));
  RETURN_IF_ERROR(RemoveTemporaryFiles(directory, absl::InfiniteFuture()));
  RETURN_IF_ERROR(WriteGenerationManifest(options.store, manifest));
  std::move(remove_unfinished).Cancel();
  RETURN_IF_ERROR(RemoveIndexWork(directory));
  return manifest;
}

// Whether CURRENT had to be changed.
absl::StatusOr<bool> Publish(const SynthesisOptions& options) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrent(options.store, options.index);
  if (current.ok() && current->generation() == options.generation) return false;
  RETURN_IF_ERROR(PublishGeneration(options.store, options.index, options.generation).status());
  return true;
}

}  // namespace

absl::StatusOr<SynthesisSummary> Synthesize(const SynthesisPlan& plan, const CallContext& call,
                                            ComputePool* pool, Progress* progress) {
  SynthesisSummary summary;
  summary.generation = plan.options.generation;
  absl::StatusOr<GenerationManifest> manifest = FindWritten(plan);
  if (absl::IsNotFound(manifest.status())) {
    RETURN_IF_ERROR(CheckDisk(plan));
    RETURN_IF_ERROR(MakeDirectories(DirectoryOf(plan.options)));
    ASSIGN_OR_RETURN(const StoreLock lock, LockGeneration(DirectoryOf(plan.options)));
    manifest = FindWritten(plan);  // by who had the lock before
    summary.already_there = manifest.ok();
    if (absl::IsNotFound(manifest.status())) {
      const absl::Time start = call.clock()->Now();
      manifest = Write(plan, lock, call, pool, progress);
      summary.write_time = call.clock()->Now() - start;
    }
  } else {
    summary.already_there = manifest.ok();
  }
  RETURN_IF_ERROR(manifest.status());
  summary.items = manifest->item_count();
  summary.byte_count = ShardFileBytes(*manifest);
  if (!plan.options.publish) return summary;
  RETURN_IF_ERROR(call.Check("publishing"));
  ASSIGN_OR_RETURN(summary.published, Publish(plan.options));
  return summary;
}

}  // namespace sightline
