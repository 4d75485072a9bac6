#include "common/evaluation/stored_index.h"

#include <map>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/verify.h"
#include "common/index/index_kinds.h"
#include "common/index/shard_view.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<StoredIndex>> StoredIndex::Open(const std::string& store,
                                                               const std::string& index,
                                                               ComputePool* pool,
                                                               const CallContext& call) {
  auto opened = absl::WrapUnique(new StoredIndex);
  ASSIGN_OR_RETURN(DesiredGeneration desired, ReadDesiredGeneration(store, index));
  opened->manifest_ = std::move(desired.manifest);
  RETURN_IF_ERROR(VerifyGeneration(store, opened->manifest_, VerifyOptions(), call));
  RETURN_IF_ERROR(opened->OpenShards(store, pool, call));
  return opened;
}

absl::Status StoredIndex::OpenShards(const std::string& store, ComputePool* pool,
                                     const CallContext& call) {
  const std::string directory =
      GenerationDirectory(store, manifest_.index(), manifest_.generation());
  const int dimension = manifest_.embedding().dimension();
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest_));
  for (int number = 0; number < manifest_.shards_size(); ++number) {
    const bundle::v1::ShardManifest& description = manifest_.shards(number);
    Shard shard;
    ASSIGN_OR_RETURN(shard.vectors,
                     ShardVectors::Open(JoinPath(directory, description.vectors().path()),
                                        description, dimension));
    RETURN_IF_ERROR(shard.vectors->Load(call, manifest_.index_spec().rows_on_disk()
                                                  ? EmbeddingPlace::kDisk
                                                  : EmbeddingPlace::kMemory));
    shard.efforts = EffortCurve(description);
    if (description.has_features()) {
      ASSIGN_OR_RETURN(
          shard.features,
          FeatureStore::Open(JoinPath(directory, description.features().path()), description));
    }
    ASSIGN_OR_RETURN(shard.index,
                     kind->open(directory, manifest_, number, ViewOf(*shard.vectors), pool, call));
    shards_.push_back(std::move(shard));
  }
  return absl::OkStatus();
}

std::string StoredIndex::Name() const {
  return absl::StrCat(manifest_.index(), "/", manifest_.generation());
}

absl::StatusOr<std::vector<std::vector<Candidate>>> StoredIndex::Search(
    const EmbeddingMatrix& queries, int top_k, const CallContext& call) const {
  // [query][shard]
  std::vector<std::vector<std::vector<Candidate>>> lists(queries.rows());
  for (size_t s = 0; s < shards_.size(); ++s) {
    SearchOptions options;
    options.top_k = top_k;
    options.effort = shards_[s].efforts.EffortFor(DefaultRecallOf(manifest_), top_k);
    ASSIGN_OR_RETURN(const auto found, shards_[s].index->Search(queries, options, call));
    for (size_t q = 0; q < found.size(); ++q) {
      std::vector<Candidate>& list = lists[q].emplace_back();
      list.reserve(found[q].size());
      for (const Neighbor& neighbor : found[q]) {
        list.push_back({std::string(shards_[s].vectors->item_id(neighbor.row)), static_cast<int>(s),
                        neighbor.row, neighbor.score});
      }
    }
  }
  std::vector<std::vector<Candidate>> merged;
  merged.reserve(lists.size());
  for (auto& list : lists) merged.push_back(MergeTopK(std::move(list), top_k));
  return merged;
}

absl::optional<Candidate> StoredIndex::Find(absl::string_view item_id) const {
  if (shards_.empty()) return absl::nullopt;
  const int shard = ShardOf(item_id, static_cast<int>(shards_.size()));
  const int64_t row = shards_[shard].vectors->Find(item_id);
  if (row < 0) return absl::nullopt;
  return Candidate{std::string(item_id), shard, row, 0};
}

absl::StatusOr<std::vector<float>> StoredIndex::Embedding(const Candidate& item) const {
  const ShardVectors& vectors = *shards_[item.shard].vectors;
  std::vector<float> embedding(static_cast<size_t>(vectors.dimension()));
  RETURN_IF_ERROR(vectors.CopyEmbedding(item.row, absl::MakeSpan(embedding)));
  return embedding;
}

absl::StatusOr<std::vector<ItemFeatures>> StoredIndex::Features(
    absl::string_view model, absl::Span<const Candidate> items) const {
  std::map<int, std::vector<size_t>> by_shard;
  for (size_t i = 0; i < items.size(); ++i) by_shard[items[i].shard].push_back(i);
  std::vector<ItemFeatures> features(items.size());
  for (const auto& [shard, places] : by_shard) {
    if (shards_[shard].features == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(Name(), " has no item features; it is retrieval only"));
    }
    std::vector<int64_t> rows;
    for (const size_t place : places) rows.push_back(items[place].row);
    ASSIGN_OR_RETURN(std::vector<ItemFeatures> found, shards_[shard].features->Get(model, rows));
    for (size_t i = 0; i < places.size(); ++i) features[places[i]] = std::move(found[i]);
  }
  return features;
}

absl::StatusOr<std::vector<ItemRecord>> StoredIndex::Records() const {
  std::vector<ItemRecord> records;
  records.reserve(manifest_.item_count());
  for (const Shard& shard : shards_) {
    for (int64_t row = 0; row < shard.vectors->size(); ++row) {
      ASSIGN_OR_RETURN(ItemRecord record, shard.vectors->Record(row));
      records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace sightline
