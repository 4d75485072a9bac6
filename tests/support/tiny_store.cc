#include "tests/support/tiny_store.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/image/decode.h"
#include "common/index/index_builder.h"
#include "common/indexing/make_index.h"
#include "common/models/init_model.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/oscar/small_manifest.h"
#include "tests/common/image/encode.h"

namespace sightline {
namespace {

const char* const kColors[] = {"red", "green", "blue", "yellow", "black", "white", "pink"};
const char* const kThings[] = {"fish", "house", "tree", "car", "bird"};
const char* const kPlaces[] = {"sea", "hill", "street"};

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T>
T Value(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

std::string Vocabulary() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]",   "[SEP]", "[MASK]", "a", "on",
                                     "the",   "to",    "picture", "with",  "warm",   "up"};
  for (const char* word : kColors) tokens.push_back(word);
  for (const char* word : kThings) tokens.push_back(word);
  for (const char* word : kPlaces) tokens.push_back(word);
  for (char c = 'b'; c <= 'z'; ++c) {
    tokens.push_back(std::string(1, c));
    tokens.push_back(absl::StrCat("##", std::string(1, c)));
  }
  return absl::StrCat(absl::StrJoin(tokens, "\n"), "\n");
}

bundle::v1::ModelBundleManifest TinyManifest() {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  manifest.mutable_embedding()->set_dimension(32);
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  transformer->set_layer_count(2);
  transformer->set_hidden_size(32);
  transformer->set_head_count(2);
  transformer->set_intermediate_size(64);
  transformer->set_region_feature_size(16 + 6);
  transformer->set_max_region_count(16);
  bundle::v1::GridExtractorSpec* grid = manifest.mutable_grid_extractor();
  grid->set_image_size(32);
  grid->clear_stages();
  for (const int channels : {8, 8, 16}) grid->add_stages()->set_channel_count(channels);
  return manifest;
}

// No two alike.
Pixels Picture(int i) {
  Pixels pixels = Gradient(40 + i % 7, 30 + i % 5);
  for (size_t p = 0; p < pixels.rgb.size(); ++p) {
    pixels.rgb[p] = static_cast<uint8_t>(pixels.rgb[p] * (1 + i % 3) + 37 * i * (1 + p % 3));
  }
  return pixels;
}

TinyItem MakeItem(const Model& model, int i) {
  char id[32];
  std::snprintf(id, sizeof(id), "pictures/%03d", i);
  TinyItem item;
  item.image_id = id;
  item.caption_id = absl::StrCat(id, "#en-1");
  item.caption =
      absl::StrCat("a ", kColors[i % 7], " ", kThings[i % 5], " on the ", kPlaces[i / 35 % 3]);
  item.picture = EncodePng(Picture(i));
  item.tags = {kColors[i % 7]};
  if (i % 10 == 0) item.tags.push_back("tenth");
  const CallContext call = CallContext::Unbounded();
  ImageInput image;
  const Pixels pixels = Value(DecodeImage(item.picture, DecodeLimits()));
  image.regions = Value(model.region_extractor()->Extract({pixels}, call))[0];
  item.image_embedding = Value(model.image_encoder()->Encode({image}, call));
  item.image_features = Value(StoredAs(
      kDefaultFeatureDtype, Value(model.cross_encoder()->PrepareImages({image}, call))[0]));
  const Tokens tokens = Value(model.Tokenize(item.caption));
  item.caption_embedding = Value(model.text_encoder()->Encode({tokens}, call));
  item.caption_features = Value(TextFeatures(model, item.caption));
  return item;
}

EncodedItem ToEncoded(const TinyItem& item, bool is_image) {
  EncodedItem encoded;
  encoded.record.item_id = is_image ? item.image_id : item.caption_id;
  encoded.record.caption = item.caption;
  encoded.record.uri = absl::StrCat("file:///", item.image_id, ".png");
  encoded.record.tags = item.tags;
  const EmbeddingMatrix& row = is_image ? item.image_embedding : item.caption_embedding;
  encoded.embedding.assign(row.values().begin(), row.values().end());
  encoded.features = {is_image ? item.image_features : item.caption_features};
  return encoded;
}

// A reranker beside the store's own model.
struct OtherReranker {
  std::string name;
  const TinyStore* store;
};

void WriteIndex(const TinyStore& store, bool images, const std::string& generation,
                const std::vector<TinyItem>& items, const bundle::v1::IndexSpec& spec = {},
                const OtherReranker* other = nullptr) {
  const std::string index = images ? kTinyImages : kTinyCaptions;
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(index);
  manifest.set_generation(generation);
  manifest.set_item_kind(images ? bundle::v1::IMAGE : bundle::v1::CAPTION);
  manifest.set_item_count(static_cast<int64_t>(items.size()));
  manifest.mutable_embedding()->set_dimension(store.model->dimension());
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_embedding()->set_space(store.model->space());
  manifest.set_encoder_model(store.model->id());
  std::vector<NamedReranker> rerankers = {{kDefaultReranker, store.model->id()}};
  if (other != nullptr) rerankers.push_back({other->name, other->store->model->id()});
  SetRerankers(rerankers, &manifest);
  std::vector<std::string> models;
  for (const NamedReranker& reranker : rerankers) models.push_back(reranker.model);
  std::vector<std::vector<EncodedItem>> shards(store.shard_count);
  for (const TinyItem& item : items) {
    EncodedItem encoded = ToEncoded(item, images);
    if (other != nullptr) {
      const TinyItem& own = other->store->item(item.image_id);
      encoded.features.push_back(images ? own.image_features : own.caption_features);
    }
    shards[ShardOf(encoded.record.item_id, store.shard_count)].push_back(std::move(encoded));
  }
  const std::string directory = GenerationDirectory(store.path, index, generation);
  Require(MakeDirectories(JoinPath(directory, "shards")));
  for (int shard = 0; shard < store.shard_count; ++shard) {
    *manifest.add_shards() =
        Value(WriteShard(directory, shard, store.shard_count, store.model->dimension(), models,
                         std::move(shards[shard])));
  }
  // As a corpus encoder does: what the other modality asks.
  EmbeddingMatrix queries(static_cast<int64_t>(items.size()), store.model->dimension());
  for (size_t i = 0; i < items.size(); ++i) {
    const EmbeddingMatrix& query = images ? items[i].caption_embedding : items[i].image_embedding;
    std::copy(query.values().begin(), query.values().end(),
              queries.mutable_row(static_cast<int64_t>(i)).begin());
  }
  IndexWish wish;
  wish.spec = spec;
  Require(MakeIndex(
      directory, wish, [&queries](int) { return queries; }, {}, store.pool.get(),
      CallContext::Unbounded(), nullptr, &manifest));
  Require(WriteGenerationManifest(store.path, manifest));
  Require(RemoveIndexWork(directory));
}

}  // namespace

void WriteTinyGeneration(const TinyStore& store, const std::string& generation, int divisor,
                         int remainder, const bundle::v1::IndexSpec& spec) {
  std::vector<TinyItem> items;
  for (size_t i = 0; i < store.items.size(); ++i) {
    if (static_cast<int>(i) % divisor == remainder) items.push_back(store.items[i]);
  }
  WriteIndex(store, /*images=*/true, generation, items, spec);
  WriteIndex(store, /*images=*/false, generation, items, spec);
}

void WriteTinyGenerationOfTwo(const TinyStore& store, const TinyStore& other,
                              const std::string& name_of_other, const std::string& generation) {
  const OtherReranker reranker{name_of_other, &other};
  WriteIndex(store, /*images=*/true, generation, store.items, {}, &reranker);
  WriteIndex(store, /*images=*/false, generation, store.items, {}, &reranker);
}

const TinyItem& TinyStore::item(const std::string& id) const {
  for (const TinyItem& item : items) {
    if (item.image_id == id || item.caption_id == id) return item;
  }
  throw std::runtime_error("no item " + id);
}

namespace {

// A store at `directory` whose model is made of `seed`, with all items encoded by it.
TinyStore Encode(const std::string& directory, int item_count, const InitOptions& options) {
  TinyStore store;
  store.path = directory;
  store.pool = std::make_unique<ComputePool>(1);
  const ModelBundle bundle = Value(InitModel(directory, TinyManifest(), Vocabulary(), options));
  store.model = Value(LoadModel(bundle, ModelOptions{store.pool.get()}));
  for (int i = 0; i < item_count; ++i) store.items.push_back(MakeItem(*store.model, i));
  return store;
}

}  // namespace

TinyStore MakeTinyStore(const std::string& directory, int item_count) {
  TinyStore store = Encode(directory, item_count, {});
  WriteTinyGeneration(store, kTinyGeneration, 1, 0);
  Require(PublishGeneration(store.path, kTinyImages, kTinyGeneration).status());
  Require(PublishGeneration(store.path, kTinyCaptions, kTinyGeneration).status());
  return store;
}

TinyStore WithOtherModel(const TinyStore& store) {
  InitOptions options;
  options.seed += 1;
  return Encode(store.path, static_cast<int>(store.items.size()), options);
}

}  // namespace sightline
