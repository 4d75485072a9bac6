#include "common/bundle/manifest.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/layout.h"
#include "common/bundle/vector_dtype.h"
#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;
using bundle::v1::ModelBundleManifest;

TEST_CASE("manifests survive the way through JSON, and equal ones give equal bytes") {
  const ModelBundleManifest model = SoundModelManifest();
  const std::string json = ManifestJson(model);
  REQUIRE(ManifestJson(*ParseModelBundleManifest(json)) == json);
  REQUIRE(ParseModelBundleManifest(json)->SerializeAsString() == model.SerializeAsString());
  REQUIRE(json.find("\"format_version\": 1") != std::string::npos);
  REQUIRE(json.back() == '\n');

  const GenerationManifest generation = SoundGenerationManifest();
  const std::string text = ManifestJson(generation);
  REQUIRE(ManifestJson(*ParseGenerationManifest(text)) == text);
}

TEST_CASE("the floats of a manifest keep every bit") {
  ModelBundleManifest model = SoundModelManifest();
  for (const float epsilon : {1e-12f, 1e-5f, 0.1f, 1.17549435e-38f}) {
    model.mutable_transformer()->set_layer_norm_epsilon(epsilon);
    REQUIRE(ParseModelBundleManifest(ManifestJson(model))->transformer().layer_norm_epsilon() ==
            epsilon);
  }
}

TEST_CASE("fields of the future are ignored, formats of the future refused") {
  std::string json = ManifestJson(SoundGenerationManifest());
  json.insert(1, "\"invented_later\": {\"a\": [1, {}]},");
  REQUIRE(ParseGenerationManifest(json).ok());

  GenerationManifest generation = SoundGenerationManifest();
  generation.set_format_version(2);
  REQUIRE(absl::IsFailedPrecondition(ParseGenerationManifest(ManifestJson(generation)).status()));
  ModelBundleManifest model = SoundModelManifest();
  model.set_format_version(2);
  REQUIRE(absl::IsFailedPrecondition(ParseModelBundleManifest(ManifestJson(model)).status()));
}

TEST_CASE("a model manifest is refused for every number out of its bounds") {
  using Change = std::function<void(ModelBundleManifest&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"format_version", [](auto& m) { m.set_format_version(0); }},
      {"family", [](auto& m) { m.set_family(""); }},
      {"family", [](auto& m) { m.set_family("../oscar"); }},
      {"description", [](auto& m) { m.set_description(std::string(501, 'x')); }},
      {"files", [](auto& m) { m.clear_files(); }},
      {"files", [](auto& m) { m.mutable_files()->SwapElements(0, 1); }},
      {"files", [](auto& m) { *m.add_files() = m.files(1); }},
      {"path", [](auto& m) { m.mutable_files(0)->set_path("../vocab.txt"); }},
      {"path", [](auto& m) { m.mutable_files(0)->set_path("/etc/passwd"); }},
      {"path", [](auto& m) { m.mutable_files(0)->set_path(""); }},
      {"the manifest itself", [](auto& m) { m.mutable_files(0)->set_path("manifest.json"); }},
      {"byte_count", [](auto& m) { m.mutable_files(0)->set_byte_count(-1); }},
      {"sha256", [](auto& m) { m.mutable_files(0)->set_sha256("abc"); }},
      {"number of files",
       [](auto& m) {
         m.clear_files();
         for (int i = 10; i < 75; ++i) {
           *m.add_files() = SoundFile("f" + std::to_string(i));
         }
       }},
      {"tokenizer.kind",
       [](auto& m) {
         m.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::KIND_UNSPECIFIED);
       }},
      {"tokenizer.kind",
       [](auto& m) {
         m.mutable_tokenizer()->set_kind(static_cast<bundle::v1::TokenizerSpec::Kind>(42));
       }},
      {"vocabulary_file", [](auto& m) { m.mutable_tokenizer()->set_vocabulary_file("gone"); }},
      {"max_token_count", [](auto& m) { m.mutable_tokenizer()->set_max_token_count(2); }},
      {"max_token_count", [](auto& m) { m.mutable_tokenizer()->set_max_token_count(513); }},
      {"dimension", [](auto& m) { m.mutable_embedding()->set_dimension(0); }},
      {"dimension", [](auto& m) { m.mutable_embedding()->set_dimension(4097); }},
      {"metric", [](auto& m) { m.mutable_embedding()->clear_metric(); }},
      {"space", [](auto& m) { m.mutable_embedding()->set_space("home"); }},
      {"lambda", [](auto& m) { m.mutable_cross_encoder()->set_combination_lambda(1.5f); }},
      {"lambda", [](auto& m) { m.mutable_cross_encoder()->set_combination_lambda(-1); }},
      {"image_to_text.combination_lambda",
       [](auto& m) {
         m.mutable_cross_encoder()->mutable_image_to_text()->set_combination_lambda(1.5f);
       }},
      {"layer_count", [](auto& m) { m.mutable_transformer()->set_layer_count(49); }},
      {"hidden_size", [](auto& m) { m.mutable_transformer()->set_hidden_size(4100); }},
      {"hidden_size", [](auto& m) { m.mutable_transformer()->set_hidden_size(-64); }},
      {"hidden_size", [](auto& m) { m.mutable_transformer()->set_head_count(5); }},
      {"head_count", [](auto& m) { m.mutable_transformer()->set_head_count(0); }},
      {"intermediate_size", [](auto& m) { m.mutable_transformer()->set_intermediate_size(0); }},
      {"vocabulary_size", [](auto& m) { m.mutable_transformer()->set_vocabulary_size(0); }},
      {"position_count", [](auto& m) { m.mutable_transformer()->set_position_count(1 << 30); }},
      {"token_type_count", [](auto& m) { m.mutable_transformer()->set_token_type_count(0); }},
      {"region_feature_size",
       [](auto& m) { m.mutable_transformer()->set_region_feature_size(-1); }},
      {"max_region_count", [](auto& m) { m.mutable_transformer()->set_max_region_count(1025); }},
      {"epsilon", [](auto& m) { m.mutable_transformer()->set_layer_norm_epsilon(-1e-5f); }},
      {"region_layer_norm_epsilon",
       [](auto& m) { m.mutable_transformer()->set_region_layer_norm_epsilon(2); }},
      {"image_size", [](auto& m) { m.mutable_grid_extractor()->set_image_size(15); }},
      {"divisible", [](auto& m) { m.mutable_grid_extractor()->set_image_size(66); }},
      {"stages", [](auto& m) { m.mutable_grid_extractor()->clear_stages(); }},
      {"channel_count",
       [](auto& m) { m.mutable_grid_extractor()->mutable_stages(0)->set_channel_count(0); }},
      {"residual_block_count",
       [](auto& m) {
         m.mutable_grid_extractor()->mutable_stages(0)->set_residual_block_count(17);
       }},
      {"mean", [](auto& m) { m.mutable_grid_extractor()->add_mean(0); }},
      {"standard_deviation",
       [](auto& m) { m.mutable_grid_extractor()->set_standard_deviation(1, 0); }},
  };
  REQUIRE(CheckModelBundleManifest(SoundModelManifest()).ok());
  for (const auto& [field, change] : changes) {
    ModelBundleManifest manifest = SoundModelManifest();
    change(manifest);
    const absl::Status status = CheckModelBundleManifest(manifest);
    CAPTURE(field, std::string(status.message()));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(std::string(status.message()).find(field) != std::string::npos);
    REQUIRE(absl::IsDataLoss(ParseModelBundleManifest(ManifestJson(manifest)).status()));
  }
}

TEST_CASE("numbers that are none are out of bounds") {
  std::string json = ManifestJson(SoundModelManifest());
  const size_t at = json.find("\"combination_lambda\": ");
  json.replace(at, json.find_first_of(",\n}", at) - at, "\"combination_lambda\": \"NaN\"");
  const auto status = ParseModelBundleManifest(json).status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(std::string(status.message()).find("combination_lambda is nan") != std::string::npos);
}

TEST_CASE("a description is counted in characters, not in bytes") {
  ModelBundleManifest manifest = SoundModelManifest();
  std::string text;
  for (int i = 0; i < 500; ++i) text += "\xE2\x82\xAC";
  manifest.set_description(text);
  REQUIRE(CheckModelBundleManifest(manifest).ok());
}

void AddReranker(const std::string& name, const std::string& model, GenerationManifest& manifest) {
  bundle::v1::NamedReranker* const reranker = manifest.add_rerankers();
  reranker->set_name(name);
  reranker->set_model(Sha256Hex(model));
}

void AddIndexFiles(int count, bundle::v1::ShardManifest* shard) {
  for (int i = 0; i < count; ++i) {
    *shard->add_index_files() = SoundFile("graph" + std::to_string(i));
  }
}

TEST_CASE("a shard may have as many files of its index as a reader takes") {
  GenerationManifest manifest = SoundGenerationManifest();
  AddIndexFiles(16, manifest.mutable_shards(0));
  const std::string json = ManifestJson(manifest);
  const auto read = ParseGenerationManifest(json);
  REQUIRE(read.ok());
  CHECK(read->shards(0).index_files(15).path() == "graph15");
  CHECK(ManifestJson(*read) == json);
}

// As programs have written it that knew no files of an index.
constexpr char kOldManifest[] = R"({
 "format_version": 1,
 "index": "images",
 "generation": "g-1",
 "item_kind": "IMAGE",
 "item_count": "5",
 "embedding": {
  "dimension": 64,
  "metric": "COSINE",
  "space": "SPACE"
 },
 "encoder_model": "SPACE",
 "shards": [
  {
   "item_count": "5",
   "vectors": {
    "path": "shards/00000-of-00001.vectors",
    "byte_count": "12",
    "sha256": "SPACE"
   },
   "probes": {
    "path": "shards/00000-of-00001.probes",
    "byte_count": "12",
    "sha256": "SPACE"
   }
  }
 ],
 "recall_probe": {
  "query_count": 1,
  "neighbor_count": 1,
  "floor": 0.5
 }
}
)";

TEST_CASE("a manifest of before indexes had files is read and written as it was, byte for byte") {
  std::string json = kOldManifest;
  for (size_t at = json.find("SPACE"); at != std::string::npos; at = json.find("SPACE")) {
    json.replace(at, 5, std::string(64, 'a'));
  }
  const auto read = ParseGenerationManifest(json);
  REQUIRE(read.ok());
  CHECK(read->shards(0).index_files_size() == 0);
  CHECK(ManifestJson(*read) == json);
}

TEST_CASE("what rows are kept as is told only where it is not what it always was") {
  GenerationManifest manifest = SoundGenerationManifest();
  const std::string json = ManifestJson(manifest);
  REQUIRE(FeatureDtypeOf(manifest) == Dtype::kFloat16);
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kFloat32, Dtype::kFloat16}) {
    SetFeatureDtype(dtype, &manifest);
    const auto read = ParseGenerationManifest(ManifestJson(manifest));
    REQUIRE(read.ok());
    REQUIRE(FeatureDtypeOf(*read) == dtype);
  }
  REQUIRE(ManifestJson(manifest) == json);
  for (const char* name : {"int4", "int32", "unknown", "Int8"}) {
    manifest.set_feature_dtype(name);
    const absl::Status status = ParseGenerationManifest(ManifestJson(manifest)).status();
    REQUIRE(HasReason(status, reasons::kNewerFormat));
    REQUIRE_THAT(std::string(status.message()),
                 Catch::Contains(name) && Catch::Contains("float16, float32, int8"));
  }
}

TEST_CASE("what vectors are stored as is told only where it is not what it always was") {
  GenerationManifest manifest = SoundGenerationManifest();
  const std::string json = ManifestJson(manifest);
  REQUIRE(VectorDtypeOf(manifest) == Dtype::kFloat32);
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32}) {
    SetVectorDtype(dtype, &manifest);
    const auto read = ParseGenerationManifest(ManifestJson(manifest));
    REQUIRE(read.ok());
    REQUIRE(VectorDtypeOf(*read) == dtype);
  }
  REQUIRE(ManifestJson(manifest) == json);
  for (const char* name : {"int8", "float64", "Float16"}) {
    manifest.set_vector_dtype(name);
    const absl::Status status = ParseGenerationManifest(ManifestJson(manifest)).status();
    REQUIRE(HasReason(status, reasons::kNewerFormat));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(name) &&
                                                    Catch::Contains("vector_dtype") &&
                                                    Catch::Contains("float32, float16"));
  }
}

TEST_CASE("a generation states a precision, but for the default, with how far it agrees") {
  GenerationManifest manifest = SoundGenerationManifest();
  const std::string json = ManifestJson(manifest);
  CHECK(EncodingPrecisionOf(manifest) == "float32");
  SetEncodingPrecision("bfloat16", 0.9875, &manifest);
  const auto read = ParseGenerationManifest(ManifestJson(manifest));
  REQUIRE(read.ok());
  CHECK(EncodingPrecisionOf(*read) == "bfloat16");
  CHECK(read->encoding().agreement() == 0.9875);
  // What a later program computes in changes nothing for who reads it.
  SetEncodingPrecision("float8_e4m3", 0.5, &manifest);
  CHECK(ParseGenerationManifest(ManifestJson(manifest)).ok());
  for (const auto& [name, agreement] :
       {std::pair("", 0.5), {"a name", 0.5}, {"bfloat16", 1.5}, {"bfloat16", -0.5}}) {
    CAPTURE(name, agreement);
    SetEncodingPrecision(name, agreement, &manifest);
    CHECK(absl::IsDataLoss(ParseGenerationManifest(ManifestJson(manifest)).status()));
  }
  SetEncodingPrecision("float32", 1, &manifest);
  CHECK(ManifestJson(manifest) == json);
}

bundle::v1::IvfSpec* SetIvf(GenerationManifest& manifest) {
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("ivf");
  bundle::v1::IvfSpec* const ivf = spec->mutable_ivf();
  ivf->set_list_count(1'048'576);
  ivf->set_code("pq4");
  ivf->set_pq_parts(manifest.embedding().dimension());
  ivf->set_refine(1000);
  return ivf;
}

bundle::v1::HnswSpec* SetHnsw(GenerationManifest& manifest) {
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("hnsw");
  bundle::v1::HnswSpec* const hnsw = spec->mutable_hnsw();
  hnsw->set_link_count(128);
  hnsw->set_build_effort(2000);
  hnsw->set_code("int8");
  hnsw->set_refine(1);
  return hnsw;
}

bundle::v1::EffortPoint* AddEffort(int effort, GenerationManifest& manifest) {
  bundle::v1::EffortPoint* const point = manifest.mutable_shards(1)->add_efforts();
  point->set_effort(effort);
  point->set_recall_at_10(0.5);
  point->set_recall_at_100(1);
  point->set_seconds(0.001);
  return point;
}

TEST_CASE("parameters of indexes and efforts are read as they were written, up to their bounds") {
  GenerationManifest manifest = SoundGenerationManifest();
  manifest.mutable_index_spec()->set_rows_on_disk(true);
  manifest.mutable_index_spec()->set_default_recall(1);
  manifest.mutable_index_spec()->set_seed(-7);
  SECTION("ivf") {
    SetIvf(manifest);
  }
  SECTION("ivf without codes") {
    bundle::v1::IvfSpec* const ivf = SetIvf(manifest);
    ivf->set_code("rows");
    ivf->set_pq_parts(0);
    ivf->set_refine(0);
  }
  SECTION("hnsw") {
    SetHnsw(manifest);
  }
  SECTION("of a code that only a later kind knows") {
    SetHnsw(manifest)->set_code("turbo-2");
  }
  for (int effort = 1; effort <= 63; ++effort) AddEffort(effort, manifest);
  AddEffort(1'000'000, manifest);
  const auto read = ParseGenerationManifest(ManifestJson(manifest));
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(ManifestJson(*read) == ManifestJson(manifest));
}

TEST_CASE("a generation manifest is refused for everything that does not fit") {
  using Change = std::function<void(GenerationManifest&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"format_version", [](auto& m) { m.set_format_version(-1); }},
      {"index", [](auto& m) { m.set_index(""); }},
      {"index", [](auto& m) { m.set_index("../images"); }},
      {"index", [](auto& m) { m.set_index(std::string(64, 'a')); }},
      {"generation", [](auto& m) { m.set_generation("a/b"); }},
      {"generation", [](auto& m) { m.set_generation(std::string(129, 'a')); }},
      {"parent_generation", [](auto& m) { m.set_parent_generation(".."); }},
      {"item_kind", [](auto& m) { m.clear_item_kind(); }},
      {"item_count", [](auto& m) { m.set_item_count(6); }},
      {"dimension", [](auto& m) { m.clear_embedding(); }},
      {"encoder_model", [](auto& m) { m.set_encoder_model("x"); }},
      {"reranker_model", [](auto& m) { m.set_reranker_model("x"); }},
      {"features", [](auto& m) { m.set_reranker_model(""); }},
      {"none of rerankers", [](auto& m) { AddReranker("fine", "another", m); }},
      {"none of rerankers",
       [](auto& m) {
         AddReranker("fine", "reranker", m);
         m.set_reranker_model("");
       }},
      {"'Fine' must be named", [](auto& m) { AddReranker("Fine", "reranker", m); }},
      {"must be named", [](auto& m) { AddReranker("", "reranker", m); }},
      {"must be named", [](auto& m) { AddReranker(std::string(64, 'a'), "reranker", m); }},
      {"there twice",
       [](auto& m) {
         AddReranker("fine", "reranker", m);
         AddReranker("fine", "another", m);
       }},
      {"another name already",
       [](auto& m) {
         AddReranker("fine", "reranker", m);
         AddReranker("finer", "reranker", m);
       }},
      {"not a bundle's id",
       [](auto& m) {
         AddReranker("fine", "reranker", m);
         m.add_rerankers()->set_name("finer");
       }},
      {"at most 8",
       [](auto& m) {
         AddReranker("fine", "reranker", m);
         for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
           AddReranker(name, name, m);
         }
       }},
      {"features", [](auto& m) { m.mutable_shards(1)->clear_features(); }},
      {"number of shards", [](auto& m) { m.clear_shards(); }},
      {"shards[0].item_count", [](auto& m) { m.mutable_shards(0)->set_item_count(-1); }},
      {"shards[1].item_count",
       [](auto& m) {
         m.mutable_shards(0)->set_item_count(INT64_MAX);
         m.mutable_shards(1)->set_item_count(INT64_MAX);
       }},
      {"shards[0].vectors.path",
       [](auto& m) { m.mutable_shards(0)->mutable_vectors()->set_path("../../x"); }},
      {"shards[1].features.path",
       [](auto& m) { m.mutable_shards(1)->mutable_features()->set_path("a//b"); }},
      {"named before",
       [](auto& m) {
         m.mutable_shards(1)->mutable_vectors()->set_path(m.shards(0).features().path());
       }},
      {"create_time", [](auto& m) { m.set_create_time(std::string(65, '1')); }},
      {"the number of shards[1].index_files is 17",
       [](auto& m) { AddIndexFiles(17, m.mutable_shards(1)); }},
      {"shards[0].index_files[1].path is '../graph'",
       [](auto& m) {
         AddIndexFiles(2, m.mutable_shards(0));
         m.mutable_shards(0)->mutable_index_files(1)->set_path("../graph");
       }},
      {"shards[0].index_files[0].path is ''",
       [](auto& m) { m.mutable_shards(0)->add_index_files(); }},
      {"shards[0].index_files[0] names the manifest itself",
       [](auto& m) { *m.mutable_shards(0)->add_index_files() = SoundFile("manifest.json"); }},
      {"shards[0].index_files[0].byte_count",
       [](auto& m) {
         AddIndexFiles(1, m.mutable_shards(0));
         m.mutable_shards(0)->mutable_index_files(0)->set_byte_count(-1);
       }},
      {"shards[0].index_files[0] graph0.sha256",
       [](auto& m) {
         AddIndexFiles(1, m.mutable_shards(0));
         m.mutable_shards(0)->mutable_index_files(0)->set_sha256("abc");
       }},
      {"index_spec.kind is 'IVF'", [](auto& m) { m.mutable_index_spec()->set_kind("IVF"); }},
      {"index_spec.default_recall is 1.5",
       [](auto& m) {
         SetIvf(m);
         m.mutable_index_spec()->set_default_recall(1.5);
       }},
      {"index_spec.default_recall is nan",
       [](auto& m) {
         SetIvf(m);
         m.mutable_index_spec()->set_default_recall(std::nan(""));
       }},
      {"index_spec.ivf.list_count is 0", [](auto& m) { SetIvf(m)->set_list_count(0); }},
      {"index_spec.ivf.list_count is 1048577",
       [](auto& m) { SetIvf(m)->set_list_count(1'048'577); }},
      {"index_spec.ivf.code is ''", [](auto& m) { SetIvf(m)->clear_code(); }},
      {"index_spec.ivf.code is '../pq'", [](auto& m) { SetIvf(m)->set_code("../pq"); }},
      {"index_spec.ivf.pq_parts is 0", [](auto& m) { SetIvf(m)->set_pq_parts(0); }},
      {"index_spec.ivf.pq_parts",
       [](auto& m) { SetIvf(m)->set_pq_parts(m.embedding().dimension() + 1); }},
      {"index_spec.ivf.pq_parts is -1",
       [](auto& m) {
         SetIvf(m)->set_code("int8");
         m.mutable_index_spec()->mutable_ivf()->set_pq_parts(-1);
       }},
      {"index_spec.ivf.refine is 0", [](auto& m) { SetIvf(m)->set_refine(0); }},
      {"index_spec.ivf.refine is 1001", [](auto& m) { SetIvf(m)->set_refine(1001); }},
      {"index_spec.hnsw.link_count is 3", [](auto& m) { SetHnsw(m)->set_link_count(3); }},
      {"index_spec.hnsw.link_count is 129", [](auto& m) { SetHnsw(m)->set_link_count(129); }},
      {"index_spec.hnsw.build_effort is 7", [](auto& m) { SetHnsw(m)->set_build_effort(7); }},
      {"index_spec.hnsw.build_effort is 2001", [](auto& m) { SetHnsw(m)->set_build_effort(2001); }},
      {"index_spec.hnsw.code is 'A'", [](auto& m) { SetHnsw(m)->set_code("A"); }},
      {"index_spec.hnsw.refine is -1",
       [](auto& m) {
         SetHnsw(m)->set_code("rows");
         m.mutable_index_spec()->mutable_hnsw()->set_refine(-1);
       }},
      {"the number of shards[1].efforts is 65",
       [](auto& m) {
         for (int effort = 1; effort <= 65; ++effort) AddEffort(effort, m);
       }},
      {"shards[1].efforts[0].effort is 0", [](auto& m) { AddEffort(0, m); }},
      {"shards[1].efforts[0].effort is 1000001", [](auto& m) { AddEffort(1'000'001, m); }},
      {"shards[1].efforts[1].effort is 5",
       [](auto& m) {
         AddEffort(5, m);
         AddEffort(5, m);
       }},
      {"shards[1].efforts[0].recall_at_10 is 1.1",
       [](auto& m) { AddEffort(5, m)->set_recall_at_10(1.1); }},
      {"shards[1].efforts[0].recall_at_100 is -1",
       [](auto& m) { AddEffort(5, m)->set_recall_at_100(-1); }},
      {"shards[1].efforts[0].seconds is -1", [](auto& m) { AddEffort(5, m)->set_seconds(-1); }},
      {"shards[1].efforts[0].seconds is inf",
       [](auto& m) { AddEffort(5, m)->set_seconds(std::numeric_limits<double>::infinity()); }},
      {"shards[1] names a file that is named before",
       [](auto& m) {
         AddIndexFiles(1, m.mutable_shards(0));
         AddIndexFiles(1, m.mutable_shards(1));
       }},
  };
  REQUIRE(CheckGenerationManifest(SoundGenerationManifest()).ok());
  for (const auto& [field, change] : changes) {
    GenerationManifest manifest = SoundGenerationManifest();
    change(manifest);
    const absl::Status status = CheckGenerationManifest(manifest);
    CAPTURE(field, std::string(status.message()));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(std::string(status.message()).find(field) != std::string::npos);
    REQUIRE(absl::IsDataLoss(ParseGenerationManifest(ManifestJson(manifest)).status()));
  }
}

TEST_CASE("CURRENT names a generation and a number that can grow") {
  REQUIRE(ParseCurrentGeneration(R"({"generation":"a-1","sequence":"7"})")->sequence() == 7);
  REQUIRE(ParseCurrentGeneration(R"({"generation":"a-1","sequence":7})")->generation() == "a-1");
  for (const char* json :
       {"", "{}", "[]", "a-1", R"({"generation":"a-1"})", R"({"sequence":1})",
        R"({"generation":"../a","sequence":1})", R"({"generation":"a","sequence":0})",
        R"({"generation":"a","sequence":-1})", R"({"generation":"a","sequence":"x"})",
        R"({"generation":"a","sequence":"9223372036854775807"})",
        R"({"generation":"a","sequence":"9223372036854775808"})"}) {
    CAPTURE(json);
    REQUIRE(absl::IsDataLoss(ParseCurrentGeneration(json).status()));
  }
}

TEST_CASE("truncated and damaged manifests are refused or sound") {
  const std::string sound = ManifestJson(SoundGenerationManifest());
  for (size_t length = 0; length + 2 < sound.size(); ++length) {
    if (!absl::IsDataLoss(ParseGenerationManifest(sound.substr(0, length)).status())) {
      FAIL("length " << length);
    }
  }
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string json = sound;
    for (int flips = 0; flips < 2; ++flips) {
      const size_t bit = random() % (8 * json.size());
      json[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
    const auto manifest = ParseGenerationManifest(json);
    if (manifest.ok() && !CheckGenerationManifest(*manifest).ok()) FAIL("round " << round);
  }
}

TEST_CASE("deep and wide JSON is refused before it grows") {
  REQUIRE(absl::IsDataLoss(ParseGenerationManifest(std::string(1'000'000, '[')).status()));
  std::string deep;
  for (int i = 0; i < 30'000; ++i) deep += "{\"x\":";
  REQUIRE(absl::IsDataLoss(ParseGenerationManifest(deep).status()));
  std::string wide = "{\"shards\":[";
  for (int i = 0; i < 250'000; ++i) wide += "{},";
  const auto status = ParseGenerationManifest(wide + "{}]}").status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(std::string(status.message()).find("objects") != std::string::npos);
  REQUIRE(
      absl::IsDataLoss(ParseGenerationManifest(std::string((size_t{16} << 20) + 1, ' ')).status()));
}

TEST_CASE("safe paths cannot leave their folder") {
  for (const char* path : {"vocab.txt", "a/b", "shards/00000-of-00002.vectors", "A_b-c.d"}) {
    CAPTURE(path);
    REQUIRE(IsSafePath(path));
  }
  for (const char* path :
       {"", "/", "/a", "a/", "a//b", "..", "../a", "a/../b", "a/..", ".", "./a", "a/./b", ".hidden",
        "a/.hidden", "a..b", "a b", "a\\b", "a\nb", "\xC3\xA4"}) {
    CAPTURE(path);
    REQUIRE_FALSE(IsSafePath(path));
  }
  REQUIRE_FALSE(IsSafePath(absl::string_view("a\0b", 3)));
  REQUIRE(IsSafePath(std::string(200, 'a')));
  REQUIRE_FALSE(IsSafePath(std::string(201, 'a')));
}

TEST_CASE("names are lower-case words that can be path components") {
  for (const char* name : {"a", "0", "images", "2024-05-01_a"}) REQUIRE(IsValidName(name, 63));
  for (const char* name : {"", "-a", "_a", "A", "a.b", "a/b", "..", "a b", "\xC3\xA4"}) {
    CAPTURE(name);
    REQUIRE_FALSE(IsValidName(name, 63));
  }
  REQUIRE(IsValidName(std::string(63, 'a'), 63));
  REQUIRE_FALSE(IsValidName(std::string(64, 'a'), 63));
}

TEST_CASE("an item's shard is what other programs compute too") {
  // python3: int.from_bytes(hashlib.sha256(id).digest()[:8], "big") % n
  REQUIRE(ShardOf("", 7) == 1);
  REQUIRE(ShardOf("stamps/animals/cat", 2) == 1);
  REQUIRE(ShardOf("stamps/animals/cat", 1000) == 771);
  REQUIRE(ShardOf("emoji/1f41f", 10000) == 5706);
  REQUIRE(ShardOf("anything", 1) == 0);
}

}  // namespace
}  // namespace sightline
