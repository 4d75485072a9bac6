#include "tests/compatibility/store_samples.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/declared_combinations.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/generation.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_source.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T>
T Value(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A multiple of 1/8, so that no arithmetic rounds it.
float Number(int i) {
  return static_cast<float>(i * 7 % 31 - 15) / 8;
}

std::vector<float> Numbers(int first, int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(Number(first + i));
  return numbers;
}

void SetTransformer(bundle::v1::TransformerSpec* spec) {
  spec->set_layer_count(2);
  spec->set_hidden_size(8);
  spec->set_head_count(4);
  spec->set_intermediate_size(16);
  spec->set_vocabulary_size(6);
  spec->set_position_count(32);
  spec->set_token_type_count(3);
  spec->set_region_feature_size(10);
  spec->set_max_region_count(7);
  spec->set_region_layer_norm(true);
  spec->set_layer_norm_epsilon(1e-12f);
  spec->set_projection_hidden_size(12);
  spec->set_region_layer_norm_epsilon(1e-5f);
}

void SetGrid(bundle::v1::GridExtractorSpec* spec) {
  spec->set_image_size(32);
  for (const int channels : {4, 8}) {
    bundle::v1::GridStage* const stage = spec->add_stages();
    stage->set_channel_count(channels);
    stage->set_residual_block_count(channels / 4);
  }
  for (const float mean : {0.485f, 0.456f, 0.406f}) spec->add_mean(mean);
  for (const float deviation : {0.229f, 0.224f, 0.225f}) spec->add_standard_deviation(deviation);
}

ModelBundleManifest TransformerManifest() {
  ModelBundleManifest manifest;
  manifest.set_family("oscar");
  manifest.set_description("a sample \xE2\x80\x94 of nothing");
  bundle::v1::TokenizerSpec* const tokenizer = manifest.mutable_tokenizer();
  tokenizer->set_kind(bundle::v1::TokenizerSpec::WORDPIECE);
  tokenizer->set_vocabulary_file(std::string(kVocabularyFile));
  tokenizer->set_lowercase(true);
  tokenizer->set_max_token_count(24);
  manifest.mutable_embedding()->set_dimension(kSampleDimension);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  manifest.mutable_cross_encoder()->set_head_hidden_size(16);
  WriteCombinations({{{CombinationKind::kNormAddLambda, 0.3f}, true},
                     {{CombinationKind::kAddLambda, 0.75f}, true}},
                    manifest.mutable_cross_encoder());
  SetTransformer(manifest.mutable_transformer());
  SetGrid(manifest.mutable_grid_extractor());
  manifest.mutable_region_rule()->set_confidence_floor(0.2f);
  manifest.mutable_region_rule()->set_min_count(3);
  bundle::v1::SceneTextSpec* const scene_text = manifest.mutable_scene_text();
  scene_text->set_max_token_count(9);
  scene_text->set_first_position(20);
  scene_text->set_token_type(2);
  scene_text->set_separator_when_empty(true);
  manifest.mutable_tags()->set_max_token_count(30);
  manifest.mutable_tags()->set_token_type(1);
  bundle::v1::FixedLengthSpec* const lengths = manifest.mutable_fixed_lengths();
  lengths->set_text_length(24);
  lengths->set_tag_length(12);
  lengths->set_region_count(7);
  lengths->set_tag_padding_type(1);
  return manifest;
}

void SetSgraf(bundle::v1::SgrafSpec* spec) {
  spec->set_module(bundle::v1::SgrafSpec::SGR);
  spec->set_vocabulary_size(6);
  spec->set_word_size(3);
  spec->set_embedding_size(8);
  spec->set_similarity_size(4);
  spec->set_region_feature_size(10);
  spec->set_region_count(7);
  spec->set_step_count(3);
  spec->mutable_emde()->set_partition_count(2);
  spec->mutable_emde()->set_cell_count(4);
  spec->mutable_emde()->set_cell_size(5);
}

void SetTorchScript(bundle::v1::TorchScriptSpec* spec) {
  spec->set_text_encoder("text.pt");
  spec->set_image_encoder("image.pt");
  spec->set_cross_encoder("pairs.pt");
  spec->set_region_extractor("regions.pt");
  spec->mutable_pixels()->set_image_size(64);
  spec->mutable_pixels()->set_fit(bundle::v1::PixelSpec::CROP);
  spec->mutable_pixels()->set_filter(bundle::v1::PixelSpec::BICUBIC);
  for (const float mean : {0.5f, 0.25f, 0.125f}) spec->mutable_pixels()->add_mean(mean);
  for (const float deviation : {0.1f, 0.2f, 0.3f}) {
    spec->mutable_pixels()->add_standard_deviation(deviation);
  }
  spec->set_vocabulary_size(6);
  spec->set_region_feature_size(10);
  spec->set_max_region_count(7);
}

ModelBundleManifest* AddMember(const std::string& family, bundle::v1::TokenizerSpec::Kind tokenizer,
                               ModelBundleManifest* ensemble) {
  ModelBundleManifest* const member = ensemble->add_members();
  member->set_family(family);
  member->mutable_tokenizer()->set_kind(tokenizer);
  member->mutable_tokenizer()->set_vocabulary_file("words");
  member->mutable_tokenizer()->set_max_token_count(16);
  return member;
}

ModelBundleManifest EnsembleManifest() {
  ModelBundleManifest manifest;
  manifest.set_family("ensemble");
  manifest.mutable_cross_encoder()->set_score_kind("sigmoid");
  WriteCombinations(
      {{{CombinationKind::kReplace, 0}, false}, {{CombinationKind::kAddLambda, 0.5f}, true}},
      manifest.mutable_cross_encoder());
  using Tokenizer = bundle::v1::TokenizerSpec;
  SetSgraf(AddMember("sgraf", Tokenizer::WORD_LIST, &manifest)->mutable_sgraf());
  SetTorchScript(
      AddMember("torchscript", Tokenizer::BYTE_LEVEL_BPE, &manifest)->mutable_torch_script());
  ModelBundleManifest* const other = AddMember("torchscript", Tokenizer::SENTENCEPIECE, &manifest);
  other->mutable_torch_script()->mutable_pixels()->set_fit(bundle::v1::PixelSpec::STRETCH);
  other->mutable_torch_script()->mutable_pixels()->set_filter(bundle::v1::PixelSpec::BILINEAR);
  other->mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::INNER_PRODUCT);
  other->mutable_sgraf()->set_module(bundle::v1::SgrafSpec::SAF);
  return manifest;
}

// What papers' ablations leave out of a network.
ModelBundleManifest AblationManifest() {
  ModelBundleManifest manifest;
  manifest.set_family("vldeformer");
  manifest.mutable_embedding()->set_dimension(kSampleDimension);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_embedding()->set_rows(bundle::v1::EmbeddingSpec::FIRST_ROW);
  manifest.mutable_sgraf()->set_without_global_node(true);
  return manifest;
}

// A detector that knows classes.
ModelBundleManifest DetectorManifest() {
  ModelBundleManifest manifest;
  manifest.set_family("torchscript");
  manifest.mutable_torch_script()->set_region_extractor("regions.pt");
  manifest.mutable_torch_script()->set_region_class_count(5);
  return manifest;
}

FeatureTensor Tensor(const std::string& name, Dtype dtype, int64_t rows, int64_t columns,
                     int first) {
  FeatureTensor tensor{name, dtype, rows, columns, ""};
  tensor.bytes.resize(static_cast<size_t>(rows * columns) * DtypeSize(dtype));
  // Bytes that mean something as any dtype: no infinity and no NaN.
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<char>((first * 5 + static_cast<int>(i) * 3) % 0x3C);
  }
  return tensor;
}

EncodedItem Item(int i, std::string id, std::string caption, std::vector<std::string> tags) {
  EncodedItem item;
  item.record.item_id = std::move(id);
  item.record.caption = std::move(caption);
  if (i != 2) item.record.uri = absl::StrCat("file:///", i, ".png");
  item.record.tags = std::move(tags);
  item.embedding = Numbers(i * 11, kSampleDimension);
  return item;
}

// What of a generation's manifest is the same in all of this store.
bundle::v1::GenerationManifest ManifestOf(const std::string& index, const std::string& generation,
                                          const ModelBundle& encoder, size_t items) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(index);
  manifest.set_generation(generation);
  manifest.set_item_kind(index == kSampleImages ? bundle::v1::IMAGE : bundle::v1::CAPTION);
  manifest.set_item_count(static_cast<int64_t>(items));
  *manifest.mutable_embedding() = encoder.manifest.embedding();
  manifest.set_encoder_model(encoder.id);
  return manifest;
}

std::vector<std::vector<EncodedItem>> ByShard(std::vector<EncodedItem> items) {
  std::sort(items.begin(), items.end(), [](const EncodedItem& a, const EncodedItem& b) {
    return a.record.item_id < b.record.item_id;
  });
  std::vector<std::vector<EncodedItem>> shards(kSampleShards);
  for (EncodedItem& item : items) {
    shards[ShardOf(item.record.item_id, kSampleShards)].push_back(std::move(item));
  }
  return shards;
}

class SampleSource : public ShardSource {
 public:
  explicit SampleSource(const std::vector<EncodedItem>& items) : items_(items) {}
  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override { return &items_[i].record; }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override {
    return absl::MakeConstSpan(items_[i].embedding);
  }
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override {
    return &items_[i].features[reranker];
  }
  absl::string_view ContentHash(int64_t i) override {
    hash_ = SampleContentHash(items_[i]);
    return hash_;
  }

 private:
  const std::vector<EncodedItem>& items_;
  std::string hash_;
};

void WriteImages(const std::string& store, const std::vector<ModelBundle>& models) {
  const std::vector<EncodedItem> items = SampleItems();
  bundle::v1::GenerationManifest manifest =
      ManifestOf(kSampleImages, kSampleGeneration, models[0], items.size());
  manifest.set_create_time("2026-01-02T03:04:05Z");
  manifest.set_parent_generation("g1");
  SetRerankers({{"coarse", models[0].id}, {"fine", models[1].id}}, &manifest);
  const std::vector<std::string> rerankers = {models[0].id, models[1].id};
  const std::string directory = GenerationDirectory(store, kSampleImages, kSampleGeneration);
  Require(MakeDirectories(JoinPath(directory, "shards")));
  const std::vector<std::vector<EncodedItem>> shards = ByShard(items);
  for (int shard = 0; shard < kSampleShards; ++shard) {
    SampleSource source(shards[shard]);
    bundle::v1::ShardManifest written =
        Value(WriteShardFrom(directory, shard, kSampleShards, kSampleDimension, rerankers, source));
    *written.mutable_probes() = Value(WriteProbes(
        directory, ShardFileName(shard, kSampleShards, "probes"), SampleProbes(shards[shard])));
    *manifest.add_shards() = std::move(written);
  }
  manifest.mutable_recall_probe()->set_query_count(2);
  manifest.mutable_recall_probe()->set_neighbor_count(3);
  manifest.mutable_recall_probe()->set_floor(0.95);
  Require(WriteGenerationManifest(store, manifest));
}

void WritePlain(const std::string& store, const std::string& index, const std::string& generation,
                const ModelBundle& encoder, std::vector<EncodedItem> items) {
  bundle::v1::GenerationManifest manifest = ManifestOf(index, generation, encoder, items.size());
  const std::string directory = GenerationDirectory(store, index, generation);
  Require(MakeDirectories(JoinPath(directory, "shards")));
  *manifest.add_shards() =
      Value(WriteShard(directory, 0, 1, kSampleDimension, {}, std::move(items)));
  Require(WriteGenerationManifest(store, manifest));
}

// An index of one shard whose rows are in eight bits.
void WritePacked(const std::string& store, const ModelBundle& model) {
  bundle::v1::GenerationManifest manifest =
      ManifestOf(kSamplePacked, "g1", model, SamplePackedItems().size());
  manifest.set_item_kind(bundle::v1::IMAGE);
  SetRerankers({{kDefaultReranker, model.id}}, &manifest);
  manifest.set_feature_dtype("int8");
  const std::string directory = GenerationDirectory(store, kSamplePacked, "g1");
  Require(MakeDirectories(JoinPath(directory, "shards")));
  *manifest.add_shards() =
      Value(WriteShard(directory, 0, 1, kSampleDimension, {model.id}, SamplePackedItems()));
  Require(WriteGenerationManifest(store, manifest));
}

void WriteRounded(const std::string& store, const ModelBundle& encoder) {
  bundle::v1::GenerationManifest manifest =
      ManifestOf(kSampleRounded, "g1", encoder, SampleIndexedItems().size());
  manifest.set_item_kind(bundle::v1::IMAGE);
  SetEncodingPrecision(kSamplePrecision, kSampleAgreement, &manifest);
  const std::string directory = GenerationDirectory(store, kSampleRounded, "g1");
  Require(MakeDirectories(JoinPath(directory, "shards")));
  *manifest.add_shards() =
      Value(WriteShard(directory, 0, 1, kSampleDimension, {}, SampleIndexedItems()));
  Require(WriteGenerationManifest(store, manifest));
}

bundle::v1::EffortPoint Effort(int effort, double recall_at_10, double recall_at_100,
                               double seconds) {
  bundle::v1::EffortPoint point;
  point.set_effort(effort);
  point.set_recall_at_10(recall_at_10);
  point.set_recall_at_100(recall_at_100);
  point.set_seconds(seconds);
  return point;
}

void WriteIndexed(const std::string& store, const std::string& index, const ModelBundle& encoder) {
  const std::vector<EncodedItem> items = SampleIndexedItems();
  bundle::v1::GenerationManifest manifest = ManifestOf(index, "g1", encoder, items.size());
  manifest.set_item_kind(bundle::v1::IMAGE);
  manifest.set_vector_dtype("float16");
  *manifest.mutable_index_spec() = SampleIndexSpec(index);
  const std::string directory = GenerationDirectory(store, index, "g1");
  Require(MakeDirectories(JoinPath(directory, "shards")));
  bundle::v1::ShardManifest shard =
      Value(WriteShard(directory, 0, 1, kSampleDimension, {}, items, Dtype::kFloat16));
  *shard.add_efforts() = Effort(1, 0.5, 0.25, 0.0009765625);
  *shard.add_efforts() = Effort(16, 0.96875, 0.875, 0.00390625);
  const std::string file = ShardFileName(0, 1, manifest.index_spec().kind());
  Require(WriteFileAtomically(JoinPath(directory, file), kSampleIndexFile));
  bundle::v1::BundleFile* const described = shard.add_index_files();
  described->set_path(file);
  described->set_byte_count(static_cast<int64_t>(std::string(kSampleIndexFile).size()));
  described->set_sha256(Sha256Hex(kSampleIndexFile));
  *manifest.add_shards() = std::move(shard);
  Require(WriteGenerationManifest(store, manifest));
}

// As a prune leaves an index: of what was published before, the names alone.  Locks, which
// are empty, go too.
void Publish(const std::string& store, const ModelBundle& encoder) {
  for (const char* const other : {"g1", "g3"}) WritePlain(store, kSampleImages, other, encoder, {});
  for (const char* const generation : {"g1", kSampleGeneration, "g3"}) {
    const int number = generation[1] - '0';
    Require(
        PublishGeneration(store, kSampleImages, generation, SamplePublication(number)).status());
  }
  Require(RollBackGeneration(store, kSampleImages, SamplePublication(4)).status());
  Require(PublishGeneration(store, kSampleCaptions, "g1", SamplePublication(1)).status());
  for (const char* const other : {"g1", "g3"}) {
    std::filesystem::remove_all(GenerationDirectory(store, kSampleImages, other));
  }
  for (const char* const index : {kSampleImages, kSampleCaptions}) {
    std::filesystem::remove(JoinPath(IndexDirectory(store, index), ".publishing"));
  }
}

}  // namespace

std::vector<SampleModel> SampleModels() {
  return {{TransformerManifest(),
           {{std::string(kVocabularyFile), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfish\n"},
            {std::string(kWeightsFile), Bytes(Numbers(0, 16))}}},
          {EnsembleManifest(), {{std::string(kWeightsFile), Bytes(Numbers(16, 16))}}},
          {AblationManifest(), {{std::string(kWeightsFile), Bytes(Numbers(32, 16))}}},
          {DetectorManifest(), {{"regions.pt", Bytes(Numbers(48, 16))}}}};
}

std::vector<EncodedItem> SampleItems() {
  std::vector<EncodedItem> items = {
      Item(0, "pictures/000", "a red fish", {"fish", "red"}),
      Item(1, "pictures/001",
           "ein gro\xC3\x9F"
           "er Wal",
           {""}),
      Item(2, "pictures/002", "", {}),
      Item(3, "other #3/\xE2\x98\x83", "snow\nman", {"\xE2\x98\x83"}),
      Item(4, "pictures/004", "nothing", {"a", "b", "c"}),
  };
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    items[i].features = {{{Tensor("regions", Dtype::kFloat16, i % 3, 6, i),
                           Tensor("token_ids", Dtype::kInt32, 1 + i % 2, 1, i + 7)}},
                         {{Tensor("codes", Dtype::kInt8, 2, 4, i + 3)}}};
  }
  return items;
}

std::vector<EncodedItem> SamplePackedItems() {
  std::vector<EncodedItem> items = {Item(0, "pictures/000", "a red fish", {}),
                                    Item(1, "pictures/001", "a whale", {"sea"})};
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    items[i].features = {{{Tensor("regions", Dtype::kInt8, 2 + i, 6, i),
                           Tensor("regions_scales", Dtype::kFloat32, 2 + i, 1, i + 5),
                           Tensor("tags", Dtype::kInt32, 1 + i, 1, i + 7)}}};
  }
  return items;
}

std::vector<EncodedItem> SampleIndexedItems() {
  return {Item(0, "pictures/000", "a red fish", {"fish", "red"}),
          Item(1, "pictures/001", "a whale", {"sea"}), Item(2, "pictures/002", "", {})};
}

bundle::v1::IndexSpec SampleIndexSpec(const std::string& index) {
  bundle::v1::IndexSpec spec;
  spec.set_rows_on_disk(true);
  spec.set_default_recall(0.9375);
  spec.set_seed(7);
  if (index == kSampleLists) {
    spec.set_kind("ivf");
    spec.mutable_ivf()->set_list_count(2);
    spec.mutable_ivf()->set_code("pq4");
    spec.mutable_ivf()->set_pq_parts(5);
    spec.mutable_ivf()->set_refine(4);
  } else {
    spec.set_kind("hnsw");
    spec.mutable_hnsw()->set_link_count(16);
    spec.mutable_hnsw()->set_build_effort(100);
    spec.mutable_hnsw()->set_code("int8");
    spec.mutable_hnsw()->set_refine(2);
  }
  return spec;
}

std::string SampleContentHash(const EncodedItem& item) {
  Sha256 sha;
  sha.Update(item.record.item_id);
  return sha.Raw();
}

Probes SampleProbes(const std::vector<EncodedItem>& items) {
  Probes probes;
  probes.queries = EmbeddingMatrix(2, kSampleDimension);
  for (int query = 0; query < 2; ++query) {
    const std::vector<float> numbers = Numbers(query * 5 + 3, kSampleDimension);
    std::copy(numbers.begin(), numbers.end(), probes.queries.mutable_row(query).begin());
    std::vector<float> scores;
    for (const EncodedItem& item : items) {
      scores.push_back(
          std::inner_product(numbers.begin(), numbers.end(), item.embedding.begin(), 0.0f));
    }
    std::vector<int64_t> rows(items.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(),
                     [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    rows.resize(std::min<size_t>(rows.size(), 3));
    probes.neighbors.push_back(std::move(rows));
  }
  return probes;
}

absl::Time SamplePublication(int number) {
  return absl::FromUnixSeconds(1'767'323'045 + 3600 * number) + absl::Milliseconds(250);
}

std::vector<EncodedItem> SampleCaptions() {
  return {Item(5, "words/b", "a bird", {}), Item(6, "words/a", "ein Vogel", {})};
}

std::vector<RegionFileItem> SampleRegions() {
  RegionFileItem fish;
  fish.line.id = "pictures/000";
  fish.line.captions = {{"en", "a red fish"}, {"de", "ein roter Fisch"}};
  fish.line.tags = {"fish", "sea"};
  fish.line.ocr_tokens = {"STOP", "\xE2\x98\x83"};
  fish.regions.count = 2;
  fish.regions.feature_size = 3;
  fish.regions.features = Numbers(4, 6);
  fish.regions.boxes = {0, 0, 0.5f, 0.5f, 0.25f, 0.5f, 1, 1};
  fish.regions.box_sizes = {0.5f, 0.5f, 0.75f, 0.5f};
  fish.regions.confidences = {0.875f, 0.125f};
  RegionFileItem bare = fish;
  bare.line = {};
  bare.line.id = "pictures/002";
  bare.regions.count = 1;
  bare.regions.features.resize(3);
  bare.regions.boxes.resize(4);
  bare.regions.box_sizes.resize(2);
  bare.regions.confidences.resize(1);
  return {fish, bare};
}

std::vector<RegionFileItem> SampleLabelledRegions() {
  std::vector<RegionFileItem> items = SampleRegions();
  items[0].soft_labels = {0.5f, 0.25f, 0.25f, 0, 0.0625f, 0.9375f};
  items[1].soft_labels = {0.125f, 0.75f, 0.125f};
  return items;
}

UnitResult SampleUnit() {
  const std::vector<EncodedItem> items = SampleItems();
  UnitResult unit;
  unit.images.push_back({items[0].record.item_id, "", items[0].embedding, items[0].features});
  unit.images.push_back({"pictures/bad", "no picture", {}, {}});
  unit.images.push_back({"pictures/late", "took too long", {}, {}, /*may_pass=*/true});
  unit.captions.push_back(
      {items[0].record.item_id + "#en-1", "", items[1].embedding, items[1].features});
  return unit;
}

namespace {

void WriteRegions(const std::string& path, const std::vector<RegionFileItem>& items) {
  Require(MakeDirectories(path.substr(0, path.rfind('/'))));
  Require(WriteRegionFile(path, static_cast<int64_t>(items.size()), Dtype::kFloat16,
                          [&](int64_t i) { return items[i]; }));
}

}  // namespace

void WriteStoreSamples(const std::string& directory) {
  const std::string store = JoinPath(directory, kSampleStore);
  std::vector<ModelBundle> models;
  for (const SampleModel& model : SampleModels()) {
    models.push_back(Value(WriteModelBundle(store, model.manifest, model.files)));
  }
  WriteImages(store, models);
  WritePlain(store, kSampleCaptions, "g1", models[0], SampleCaptions());
  Publish(store, models[0]);
  WritePacked(store, models[0]);
  WriteRounded(store, models[0]);
  for (const char* const index : {kSampleLists, kSampleGraph}) {
    WriteIndexed(store, index, models[0]);
  }

  WriteRegions(JoinPath(directory, kSampleRegionFile), SampleRegions());
  WriteRegions(JoinPath(directory, kSampleLabelledRegionFile), SampleLabelledRegions());
  Require(WriteUnitFile(JoinPath(directory, kSampleUnitFile), kSampleUnitHash, kSampleDimension,
                        SampleUnit())
              .status());
}

}  // namespace sightline
