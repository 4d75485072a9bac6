// A store outlives the programs that read and write it: after an update, and after the way
// back.
//
// Each sample is read, and holds what it was made of; and what is written of the same today is
// the same, byte by byte, so that the earlier release reads it.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/declared_combinations.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/vectors_reader.h"
#include "common/bundle/verify.h"
#include "common/index/effort_curve.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/compatibility/coverage.h"
#include "tests/compatibility/store_samples.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using google::protobuf::util::MessageDifferencer;

const std::string kSamples = "tests/testdata/compatibility";
const std::string kStore = JoinPath(kSamples, kSampleStore);

template <typename T>
T Value(absl::StatusOr<T> value) {
  INFO(value.status());
  REQUIRE(value.ok());
  return *std::move(value);
}

// By the names of their folders, which say what is in them.
std::vector<ModelBundle> Models() {
  std::vector<ModelBundle> models;
  for (const std::string& id : Value(ListDirectory(JoinPath(kStore, "models")))) {
    models.push_back(Value(OpenModelBundle(ModelDirectory(kStore, id), true)));
  }
  return models;
}

const ModelBundle& ModelOf(const std::vector<ModelBundle>& models, const std::string& family) {
  const auto found = std::find_if(models.begin(), models.end(), [&](const ModelBundle& model) {
    return model.manifest.family() == family;
  });
  REQUIRE(found != models.end());
  return *found;
}

bundle::v1::GenerationManifest Images() {
  return Value(ReadGenerationManifest(kStore, kSampleImages, kSampleGeneration));
}

std::string PathOf(const bundle::v1::BundleFile& file) {
  return JoinPath(GenerationDirectory(kStore, kSampleImages, kSampleGeneration), file.path());
}

bool SameFeatures(const ItemFeatures& a, const ItemFeatures& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const FeatureTensor& x, const FeatureTensor& y) {
                      return x.name == y.name && x.dtype == y.dtype && x.rows == y.rows &&
                             x.columns == y.columns && x.bytes == y.bytes;
                    });
}

// Checks that `shard` has all of `items` that are its own, and nothing else.
void CheckShard(const ShardVectors& shard, const std::vector<EncodedItem>& items, int number,
                int shard_count) {
  int64_t own = 0;
  for (const EncodedItem& item : items) {
    if (ShardOf(item.record.item_id, shard_count) != number) continue;
    ++own;
    INFO(item.record.item_id);
    const int64_t row = shard.Find(item.record.item_id);
    REQUIRE(row >= 0);
    const ItemRecord record = Value(shard.Record(row));
    CHECK(record.item_id == item.record.item_id);
    CHECK(record.caption == item.record.caption);
    CHECK(record.uri == item.record.uri);
    CHECK(record.tags == item.record.tags);
    CHECK((StoredEmbedding(shard, row) == item.embedding));
  }
  CHECK(own > 0);
  CHECK(shard.size() == own);
}

TEST_CASE("bundles are what they were, under the same names") {
  const std::vector<ModelBundle> models = Models();
  REQUIRE(models.size() == SampleModels().size());
  for (const SampleModel& sample : SampleModels()) {
    const ModelBundle& model = ModelOf(models, sample.manifest.family());
    for (const auto& [name, bytes] : sample.files) {
      CHECK((Value(ReadFile(model.FilePath(name))) == bytes));
    }
    bundle::v1::ModelBundleManifest expected = sample.manifest;
    expected.set_format_version(1);
    *expected.mutable_files() = model.manifest.files();
    if (expected.has_embedding()) {
      expected.mutable_embedding()->set_space(EmbeddingSpaceOf(model.manifest));
    }
    std::string difference;
    MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    CHECK(differencer.Compare(expected, model.manifest));
    CHECK(difference == "");
  }
}

TEST_CASE("a bundle declares its combinations as it did") {
  const std::vector<ModelBundle> models = Models();
  const auto text = CombinationText;
  auto declared = Value(ReadCombinations(ModelOf(models, "oscar").manifest.cross_encoder()));
  CHECK(text(declared.text_to_image.combination) == "norm_add_lambda:0.3");
  CHECK(text(declared.image_to_text.combination) == "add_lambda:0.75");
  CHECK(declared.image_to_text.by_default);
  declared = Value(ReadCombinations(ModelOf(models, "ensemble").manifest.cross_encoder()));
  CHECK_FALSE(declared.text_to_image.by_default);
  CHECK(text(declared.image_to_text.combination) == "add_lambda:0.5");
  CHECK(declared.image_to_text.by_default);
}

TEST_CASE("every byte of a generation passes") {
  for (const char* const index : {kSampleImages, kSampleCaptions}) {
    INFO(index);
    const auto current = Value(ReadCurrent(kStore, index));
    const auto manifest = Value(ReadGenerationManifest(kStore, index, current.generation()));
    VerifyOptions options;
    options.sha256 = true;
    const absl::Status verified = VerifyGeneration(kStore, manifest, options);
    INFO(verified);
    CHECK(verified.ok());
    CHECK(CheckEmbeddingSpace(kStore, manifest).ok());
  }
}

TEST_CASE("a generation's manifest says what it said") {
  const std::vector<ModelBundle> models = Models();
  const bundle::v1::GenerationManifest manifest = Images();
  CHECK(manifest.item_kind() == bundle::v1::IMAGE);
  CHECK(manifest.item_count() == 5);
  CHECK(manifest.embedding().dimension() == kSampleDimension);
  CHECK(manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE);
  CHECK(manifest.encoder_model() == ModelOf(models, "oscar").id);
  CHECK(manifest.create_time() == "2026-01-02T03:04:05Z");
  CHECK(manifest.parent_generation() == "g1");
  CHECK((RerankersOf(manifest) ==
         std::vector<NamedReranker>{{"coarse", ModelOf(models, "oscar").id},
                                    {"fine", ModelOf(models, "ensemble").id}}));
  CHECK(manifest.recall_probe().query_count() == 2);
  CHECK(manifest.recall_probe().neighbor_count() == 3);
  CHECK(manifest.recall_probe().floor() == 0.95);
  const auto captions = Value(ReadGenerationManifest(kStore, kSampleCaptions, "g1"));
  CHECK(captions.item_kind() == bundle::v1::CAPTION);
  CHECK(RerankersOf(captions).empty());
  CHECK_FALSE(captions.has_recall_probe());
}

TEST_CASE("items are found with their records and embeddings") {
  const bundle::v1::GenerationManifest images = Images();
  REQUIRE(images.shards_size() == kSampleShards);
  for (int shard = 0; shard < kSampleShards; ++shard) {
    const auto loaded = Value(LoadShard(kStore, images, shard, {}, CallContext::Unbounded()));
    CheckShard(*loaded, SampleItems(), shard, kSampleShards);
  }
  const auto captions = Value(ReadGenerationManifest(kStore, kSampleCaptions, "g1"));
  const auto loaded = Value(LoadShard(kStore, captions, 0, {}, CallContext::Unbounded()));
  CheckShard(*loaded, SampleCaptions(), 0, 1);
}

TEST_CASE("items are found with their features and content hashes") {
  const bundle::v1::GenerationManifest manifest = Images();
  const std::vector<NamedReranker> rerankers = RerankersOf(manifest);
  for (const EncodedItem& item : SampleItems()) {
    INFO(item.record.item_id);
    const auto& shard = manifest.shards(ShardOf(item.record.item_id, kSampleShards));
    const auto vectors = Value(VectorsFile::Open(PathOf(shard.vectors()), shard, kSampleDimension));
    VectorsReader reader(*vectors);
    const int64_t row = Value(reader.Find(item.record.item_id));
    REQUIRE(row >= 0);
    CHECK((Value(reader.ContentHash(row)) == SampleContentHash(item)));
    const auto features = Value(FeatureStore::Open(PathOf(shard.features()), shard));
    for (size_t i = 0; i < rerankers.size(); ++i) {
      CHECK(SameFeatures(Value(features->Get(rerankers[i].model, {row})).at(0), item.features[i]));
    }
  }
}

TEST_CASE("rows in eight bits are found with their scales") {
  const auto manifest = Value(ReadGenerationManifest(kStore, kSamplePacked, "g1"));
  CHECK(FeatureDtypeOf(manifest) == Dtype::kInt8);
  CHECK(FeatureDtypeOf(Images()) == Dtype::kFloat16);
  VerifyOptions options;
  options.sha256 = true;
  CHECK(VerifyGeneration(kStore, manifest, options).ok());
  const std::string directory = GenerationDirectory(kStore, kSamplePacked, "g1");
  const auto features = Value(FeatureStore::Open(
      JoinPath(directory, manifest.shards(0).features().path()), manifest.shards(0)));
  const std::vector<EncodedItem> expected = SamplePackedItems();
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    CHECK(SameFeatures(Value(features->Get(manifest.reranker_model(), {row})).at(0),
                       expected[i].features[0]));
  }
}

TEST_CASE("a precision is told with how far it agrees") {
  const auto manifest = Value(ReadGenerationManifest(kStore, kSampleRounded, "g1"));
  CHECK(EncodingPrecisionOf(manifest) == kSamplePrecision);
  CHECK(manifest.encoding().agreement() == kSampleAgreement);
  CHECK(EncodingPrecisionOf(Images()) == "float32");
  VerifyOptions options;
  options.sha256 = true;
  CHECK(VerifyGeneration(kStore, manifest, options).ok());
}

TEST_CASE("vectors in sixteen bits, and what an index was built with and measured as") {
  for (const std::string index : {kSampleLists, kSampleGraph}) {
    INFO(index);
    const auto manifest = Value(ReadGenerationManifest(kStore, index, "g1"));
    CHECK(VectorDtypeOf(manifest) == Dtype::kFloat16);
    CHECK(VectorDtypeOf(Images()) == Dtype::kFloat32);
    CHECK(ManifestJson(manifest.index_spec()) == ManifestJson(SampleIndexSpec(index)));
    VerifyOptions options;
    options.sha256 = true;
    CHECK(VerifyGeneration(kStore, manifest, options).ok());
    for (const EmbeddingPlace place : {EmbeddingPlace::kMemory, EmbeddingPlace::kDisk}) {
      const auto loaded = Value(
          LoadShard(kStore, manifest, 0, {"", /*content=*/true, place}, CallContext::Unbounded()));
      CheckShard(*loaded, SampleIndexedItems(), 0, 1);
    }
    REQUIRE(manifest.shards(0).efforts_size() == 2);
    const EffortCurve efforts(manifest.shards(0));
    CHECK(efforts.RecallAt(16, 10) == 0.96875);
    CHECK(efforts.RecallAt(1, 100) == 0.25);
    CHECK(efforts.SecondsAt(16) == 0.00390625);
    CHECK(
        (Value(ReadFile(JoinPath(GenerationDirectory(kStore, index, "g1"),
                                 manifest.shards(0).index_files(0).path()))) == kSampleIndexFile));
  }
}

TEST_CASE("probes are what they were") {
  const bundle::v1::GenerationManifest manifest = Images();
  std::vector<std::vector<EncodedItem>> shards(kSampleShards);
  for (EncodedItem& item : SampleItems()) {
    shards[ShardOf(item.record.item_id, kSampleShards)].push_back(std::move(item));
  }
  for (int shard = 0; shard < kSampleShards; ++shard) {
    std::sort(shards[shard].begin(), shards[shard].end(),
              [](const EncodedItem& a, const EncodedItem& b) {
                return a.record.item_id < b.record.item_id;
              });
    const Probes expected = SampleProbes(shards[shard]);
    const Probes probes =
        Value(ReadProbes(PathOf(manifest.shards(shard).probes()), manifest, shard));
    CHECK((probes.queries.values() == expected.queries.values()));
    CHECK(probes.neighbors == expected.neighbors);
  }
}

TEST_CASE("CURRENT tells what was published, left and rolled back") {
  const bundle::v1::CurrentGeneration current = Value(ReadCurrent(kStore, kSampleImages));
  CHECK(current.generation() == kSampleGeneration);
  CHECK(current.sequence() == 4);
  REQUIRE(current.previous_size() == 2);
  CHECK(current.previous(0).generation() == "g3");
  CHECK(current.previous(0).sequence() == 3);
  CHECK(current.previous(0).rolled_back());
  CHECK(current.previous(0).leave_time() == "2026-01-02T07:04:05Z");
  CHECK(current.previous(1).generation() == "g1");
  CHECK(current.previous(1).sequence() == 1);
  CHECK_FALSE(current.previous(1).rolled_back());
  CHECK(current.previous(1).leave_time() == "2026-01-02T05:04:05Z");
}

void CheckRegionFile(const std::string& name, const std::vector<RegionFileItem>& expected) {
  const auto file = Value(RegionFile::Open(JoinPath(kSamples, name)));
  REQUIRE(file->item_count() == static_cast<int64_t>(expected.size()));
  CHECK(file->VerifyItems().ok());
  CHECK(file->feature_dtype() == Dtype::kFloat16);
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto item = static_cast<int64_t>(i);
    CHECK(ItemLineJson(Value(file->Item(item))) == ItemLineJson(expected[i].line));
    const RegionSet regions = Value(file->Regions(item, 1 << 20));
    CHECK(regions.count == expected[i].regions.count);
    CHECK(regions.features == expected[i].regions.features);
    CHECK(regions.boxes == expected[i].regions.boxes);
    CHECK(regions.box_sizes == expected[i].regions.box_sizes);
    CHECK(regions.confidences == expected[i].regions.confidences);
    CHECK(Value(file->SoftLabels(item, 1 << 20)) == expected[i].soft_labels);
  }
}

TEST_CASE("a region file has its items and their numbers, and its soft labels or none") {
  CheckRegionFile(kSampleRegionFile, SampleRegions());
  CheckRegionFile(kSampleLabelledRegionFile, SampleLabelledRegions());
}

void CheckUnitRows(UnitFile::Reader* reader, const std::vector<UnitFile::Row>& rows,
                   const std::vector<UnitRow>& expected) {
  REQUIRE(rows.size() == expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].item_id == expected[i].item_id);
    CHECK(rows[i].rejected == expected[i].rejected);
    if (!rows[i].rejected.empty()) continue;
    CHECK((Value(reader->Embedding(rows[i])) == absl::MakeConstSpan(expected[i].embedding)));
    std::vector<ItemFeatures> features(expected[i].features.size());
    for (const UnitFile::Tensor& tensor : rows[i].tensors) {
      FeatureTensor read = tensor.described;
      read.bytes = std::string(Value(reader->Bytes(tensor)));
      features.at(tensor.reranker).tensors.push_back(std::move(read));
    }
    for (size_t k = 0; k < features.size(); ++k) {
      CHECK(SameFeatures(features[k], expected[i].features[k]));
    }
  }
}

TEST_CASE("a unit that was finished need not be made again") {
  const auto file = Value(UnitFile::Open(JoinPath(kSamples, kSampleUnitFile), kSampleUnitHash,
                                         kSampleDimension, /*verify=*/true));
  const UnitResult expected = SampleUnit();
  CHECK(file->may_pass());
  UnitFile::Reader reader(*file);
  CheckUnitRows(&reader, file->images(), expected.images);
  CheckUnitRows(&reader, file->captions(), expected.captions);
}

TEST_CASE("what is written is what was written, byte by byte") {
  const TempDir dir;
  WriteStoreSamples(dir.path());
  int files = 0;
  for (const std::string folder : {"store", "regions", "units"}) {
    const auto written = Value(ListFilesBelow(dir.File(folder)));
    CHECK(written == Value(ListFilesBelow(JoinPath(kSamples, folder))));
    for (const std::string& file : written) {
      const std::string name = JoinPath(folder, file);
      INFO(name);
      CHECK((Value(ReadFile(dir.File(name))) == Value(ReadFile(JoinPath(kSamples, name)))));
      ++files;
    }
  }
  CHECK(files == 34);
}

TEST_CASE("every field of a manifest is in a sample") {
  Names set;
  for (const ModelBundle& model : Models()) AddWhatIsSet(model.manifest, &set);
  AddWhatIsSet(Images(), &set);
  AddWhatIsSet(Value(ReadGenerationManifest(kStore, kSampleCaptions, "g1")), &set);
  for (const char* const index : {kSamplePacked, kSampleRounded, kSampleLists, kSampleGraph}) {
    AddWhatIsSet(Value(ReadGenerationManifest(kStore, index, "g1")), &set);
  }
  AddWhatIsSet(Value(ReadCurrent(kStore, kSampleImages)), &set);
  Names could = WhatCouldBeSet(*bundle::v1::GenerationManifest::descriptor()->file());
  could.merge(WhatCouldBeSet(*bundle::v1::ModelBundleManifest::descriptor()->file()));
  Names missing;
  std::set_difference(could.begin(), could.end(), set.begin(), set.end(),
                      std::inserter(missing, missing.end()));
  for (const std::string& name : missing) FAIL_CHECK(name << " is in no sample");
  CHECK(could.size() > 100);
}

}  // namespace
}  // namespace sightline
