#include "tests/services/word_store.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/bundle/tag_postings.h"
#include "common/index/index_kinds.h"
#include "common/index/shard_view.h"

namespace sightline {
namespace {

template <typename T>
T OrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return *std::move(value);
}

EncodedItem Encoded(const WordItem& item, bool caption) {
  const WordIds ids = IdsOf(item.words);
  EncodedItem encoded;
  encoded.record.item_id = item.item_id;
  encoded.record.caption = item.words;
  encoded.record.uri = absl::StrCat("file:///", item.item_id);
  encoded.record.tags = {"word"};
  encoded.embedding = EmbeddingOf(ids);
  encoded.features = {caption ? TextFeaturesOf(ids) : ImageFeaturesOf(ids)};
  return encoded;
}

}  // namespace

std::vector<WordItem> MakeWordItems(const std::string& index, int count) {
  static constexpr const char* kThings[] = {"fish", "bird", "house", "tree", "boat"};
  static constexpr const char* kColours[] = {"red", "blue", "green"};
  std::vector<WordItem> items;
  for (int i = 0; i < count; ++i) {
    items.push_back({absl::StrCat(index, "/", absl::Dec(i, absl::kZeroPad3)),
                     absl::StrCat(kColours[i % 3], " ", kThings[i % 5], " number", i)});
  }
  return items;
}

std::vector<WordItem> WordIndex::ItemsOf(int shard) const {
  std::vector<WordItem> own;
  for (const WordItem& item : items) {
    if (ShardOf(item.item_id, manifest.shards_size()) == shard) own.push_back(item);
  }
  std::sort(own.begin(), own.end(),
            [](const WordItem& a, const WordItem& b) { return a.item_id < b.item_id; });
  return own;
}

WordIndex WriteWordIndex(const std::string& store, const std::string& index, bool captions,
                         int shards, std::vector<WordItem> items,
                         const FakeServingModelOptions& model, const std::string& generation,
                         const std::vector<NamedReranker>& more_rerankers) {
  WordIndex written;
  written.directory = GenerationDirectory(store, index, generation);
  written.captions = captions;
  bundle::v1::GenerationManifest& manifest = written.manifest;
  manifest.set_index(index);
  manifest.set_generation(generation);
  manifest.set_item_kind(captions ? bundle::v1::CAPTION : bundle::v1::IMAGE);
  manifest.set_item_count(static_cast<int64_t>(items.size()));
  manifest.mutable_embedding()->set_dimension(FakeServingModel::kDimension);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::INNER_PRODUCT);
  manifest.mutable_embedding()->set_space(model.space);
  manifest.set_encoder_model(model.id);
  std::vector<NamedReranker> rerankers = {{kDefaultReranker, model.id}};
  rerankers.insert(rerankers.end(), more_rerankers.begin(), more_rerankers.end());
  SetRerankers(rerankers, &manifest);
  std::vector<std::string> models;
  for (const NamedReranker& reranker : rerankers) models.push_back(reranker.model);
  std::vector<std::vector<EncodedItem>> by_shard(shards);
  for (const WordItem& item : items) {
    EncodedItem encoded = Encoded(item, captions);
    encoded.features.resize(models.size(), encoded.features[0]);
    by_shard[ShardOf(item.item_id, shards)].push_back(std::move(encoded));
  }
  for (int shard = 0; shard < shards; ++shard) {
    *manifest.add_shards() = OrThrow(WriteShard(
        written.directory, shard, shards, FakeServingModel::kDimension, models, by_shard[shard]));
  }
  written.items = std::move(items);
  return written;
}

std::vector<int> AllShards(const WordIndex& index) {
  std::vector<int> shards(index.manifest.shards_size());
  std::iota(shards.begin(), shards.end(), 0);
  return shards;
}

std::shared_ptr<const SearchGeneration> OpenForSearch(const WordIndex& index, ComputePool* pool,
                                                      const std::vector<int>& shards) {
  auto held = std::make_shared<SearchGeneration>();
  const IndexKind* const kind = OrThrow(IndexKindOf(index.manifest));
  const CallContext call = CallContext::Unbounded();
  for (const int shard : shards) {
    const bundle::v1::ShardManifest& description = index.manifest.shards(shard);
    SearchableShard opened;
    opened.vectors =
        OrThrow(ShardVectors::Open(absl::StrCat(index.directory, "/", description.vectors().path()),
                                   description, FakeServingModel::kDimension));
    const absl::Status loaded = opened.vectors->Load(call);
    if (!loaded.ok()) throw std::runtime_error(loaded.ToString());
    opened.tags = OrThrow(TagPostings::Build(*opened.vectors, call));
    opened.index = OrThrow(
        kind->open(index.directory, index.manifest, shard, ViewOf(*opened.vectors), pool, call));
    held->shards[shard] = std::make_shared<const SearchableShard>(std::move(opened));
  }
  return held;
}

std::shared_ptr<const RerankGeneration> OpenForRerank(
    const WordIndex& index, std::vector<std::shared_ptr<const Model>> models,
    const std::vector<int>& shards) {
  auto held = std::make_shared<RerankGeneration>();
  const std::vector<NamedReranker> named = RerankersOf(index.manifest);
  for (size_t i = 0; i < named.size(); ++i) {
    held->rerankers.push_back({named[i].name, std::move(models.at(i))});
  }
  for (const int shard : shards) {
    const bundle::v1::ShardManifest& description = index.manifest.shards(shard);
    held->features[shard] = OrThrow(FeatureStore::Open(
        absl::StrCat(index.directory, "/", description.features().path()), description));
  }
  return held;
}

}  // namespace sightline
