#include "services/sightlinectl/describe_command.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/container.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/formats/safetensors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string Bytes(size_t count) {
  return std::string(count, '\0');
}

std::string Text(const std::string& target, const DescribeOptions& options = {}) {
  const auto text = Describe(target, options);
  INFO(text.status());
  REQUIRE(text.ok());
  return *text;
}

// A whole file of 2 x 3 and 4 numbers, and one damaged byte if asked.
std::string WriteContainer(const TempDir& dir) {
  const std::string path = dir.File("numbers.bin");
  auto writer = ContainerWriter::Create(path);
  REQUIRE(writer.ok());
  REQUIRE((*writer)->Declare("matrix", Dtype::kFloat32, {2, 3}, /*padded_rows=*/true).ok());
  REQUIRE((*writer)->Declare("list", Dtype::kInt64, {4}).ok());
  REQUIRE((*writer)->Append(Bytes(2 * 3 * 4)).ok());
  REQUIRE((*writer)->Append(Bytes(4 * 8)).ok());
  REQUIRE((*writer)->Finish().ok());
  return path;
}

TEST_CASE("a container is told section by section") {
  TempDir dir;
  const std::string path = WriteContainer(dir);
  REQUIRE(Text(path) ==
          absl::StrCat("container ", path,
                       "\n"
                       "  2 sections, 8 224 bytes\n"
                       "  section  dtype    shape   stride  offset  length  checksums\n"
                       "  matrix   float32  [2, 3]      64   4 096     128          1\n"
                       "  list     int64    [4]          8   8 192      32          1\n"));
}

TEST_CASE("verifying finds a damaged byte, and describing alone does not look") {
  TempDir dir;
  const std::string path = WriteContainer(dir);
  DescribeOptions verify;
  verify.verify = true;
  REQUIRE(absl::EndsWith(Text(path, verify), "matches its checksums\n"));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 1);
    file.put('x');
  }
  REQUIRE(Describe(path, {}).ok());
  REQUIRE(Describe(path, verify).status().code() == absl::StatusCode::kDataLoss);
}

std::string Weights() {
  static const std::string zeros = Bytes(64);
  std::map<std::string, TensorView> tensors;
  tensors["layer.weight"] = {TensorDtype::kF32, {2, 3}, absl::string_view(zeros).substr(0, 24)};
  tensors["layer.bias"] = {TensorDtype::kF16, {3}, absl::string_view(zeros).substr(0, 6)};
  return SerializeSafetensors(tensors);
}

constexpr char kTensors[] =
    "  tensor        dtype  shape   bytes\n"
    "  layer.bias    F16    [3]         6\n"
    "  layer.weight  F32    [2, 3]     24\n";

TEST_CASE("a safetensors file is told tensor by tensor") {
  TempDir dir;
  const std::string path = dir.File("weights.safetensors");
  REQUIRE(WriteFileAtomically(path, Weights()).ok());
  REQUIRE(Text(path) == absl::StrCat("safetensors file ", path,
                                     "\n"
                                     "  2 tensors, 9 parameters\n",
                                     kTensors));
}

ModelBundle WriteBundle(const std::string& store) {
  bundle::v1::ModelBundleManifest manifest;
  manifest.set_family("oscar");
  manifest.set_description("a model for a test");
  manifest.mutable_embedding()->set_dimension(256);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  manifest.mutable_cross_encoder()->set_combination("add_lambda");
  manifest.mutable_cross_encoder()->set_combination_lambda(0.5f);
  const auto bundle = WriteModelBundle(store, manifest, {{std::string(kWeightsFile), Weights()}});
  INFO(bundle.status());
  REQUIRE(bundle.ok());
  return *bundle;
}

TEST_CASE("a model bundle is told by folder and by id") {
  TempDir dir;
  const ModelBundle bundle = WriteBundle(dir.path());
  const std::string text = Text(bundle.directory);
  REQUIRE(absl::StartsWith(
      text, absl::StrCat("model bundle ", bundle.id,
                         "\n"
                         "  family         oscar\n"
                         "  description    a model for a test\n"
                         "  embedding      256 numbers, cosine, space ",
                         bundle.manifest.embedding().space(),
                         "\n"
                         "  cross-encoder  softmax_match, combined by add_lambda:0.5\n"
                         "  parameters     9 in 2 tensors\n"
                         "  file                 bytes  sha256\n"
                         "  weights.safetensors  ")));
  DescribeOptions by_id;
  by_id.place.folder = dir.path();
  REQUIRE(Text(bundle.id, by_id) == text);
  by_id.tensors = true;
  REQUIRE(Text(bundle.id, by_id) == absl::StrCat(text, kTensors));
}

TEST_CASE("verifying a bundle finds a replaced file") {
  TempDir dir;
  const ModelBundle bundle = WriteBundle(dir.path());
  DescribeOptions verify;
  verify.verify = true;
  REQUIRE(absl::EndsWith(Text(bundle.directory, verify), "matches its checksums\n"));
  std::string weights = Weights();
  weights.back() = 'x';
  std::ofstream(bundle.FilePath(kWeightsFile), std::ios::binary) << weights;
  REQUIRE(Describe(bundle.directory, {}).ok());
  REQUIRE(Describe(bundle.directory, verify).status().code() == absl::StatusCode::kDataLoss);
}

void WriteGeneration(const std::string& store, const std::string& name,
                     const std::vector<NamedReranker>& rerankers = {},
                     Dtype feature_dtype = kDefaultFeatureDtype) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index("pictures");
  manifest.set_generation(name);
  manifest.set_item_kind(bundle::v1::IMAGE);
  manifest.set_item_count(1);
  manifest.mutable_embedding()->set_dimension(2);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_embedding()->set_space(std::string(64, 'a'));
  manifest.set_encoder_model(std::string(64, 'b'));
  EncodedItem item;
  item.record.item_id = "fish";
  item.embedding = {0.6f, 0.8f};
  item.features.resize(rerankers.size());
  SetRerankers(rerankers, &manifest);
  SetFeatureDtype(feature_dtype, &manifest);
  std::vector<std::string> models;
  for (const NamedReranker& reranker : rerankers) models.push_back(reranker.model);
  const std::string directory = GenerationDirectory(store, "pictures", name);
  REQUIRE(MakeDirectories(directory).ok());
  const auto shard = WriteShard(directory, 0, 1, 2, models, {item});
  INFO(shard.status());
  REQUIRE(shard.ok());
  *manifest.add_shards() = *shard;
  const absl::Status written = WriteGenerationManifest(store, manifest);
  INFO(written);
  REQUIRE(written.ok());
}

TEST_CASE("a generation is told by folder, by name and as what is current") {
  TempDir dir;
  WriteGeneration(dir.path(), "g1");
  WriteGeneration(dir.path(), "g2");
  REQUIRE(PublishGeneration(dir.path(), "pictures", "g2").ok());
  DescribeOptions options;
  options.place.folder = dir.path();
  const std::string text = Text("pictures", options);
  REQUIRE(absl::StartsWith(
      text, absl::StrCat("generation pictures/g2\n"
                         "  items      1 images\n"
                         "  embedding  2 numbers, cosine, space ",
                         std::string(64, 'a'),
                         "\n"
                         "  encoder    ",
                         std::string(64, 'b'),
                         "\n"
                         "  reranker   none\n"
                         "  current    yes, sequence 1\n"
                         "  shard  items  vectors                         bytes  features  bytes\n"
                         "      0      1  shards/00000-of-00001.vectors  ")));
  const std::string alone = Text("pictures/g2", options);
  REQUIRE(text == absl::StrCat(alone,
                               "published\n"
                               "  sequence  generation  left at\n"
                               "         1  g2          -        current\n"));
  REQUIRE(Text(GenerationDirectory(dir.path(), "pictures", "g2")) == alone);
  REQUIRE(absl::StrContains(Text("pictures/g1", options), "  current    no\n"));
  options.verify = true;
  REQUIRE(Text("pictures/g1", options).find("verified") != std::string::npos);
}

TEST_CASE("an index is told with all that was published, and what was rolled back") {
  TempDir dir;
  for (const char* name : {"g1", "g2", "g3"}) {
    WriteGeneration(dir.path(), name);
    REQUIRE(PublishGeneration(dir.path(), "pictures", name, absl::FromUnixSeconds(0)).ok());
  }
  REQUIRE(RollBackGeneration(dir.path(), "pictures", absl::FromUnixSeconds(60)).ok());
  DescribeOptions options;
  options.place.folder = dir.path();
  REQUIRE(absl::EndsWith(Text("pictures", options),
                         "published\n"
                         "  sequence  generation  left at\n"
                         "         4  g2          -                     current\n"
                         "         3  g3          1970-01-01T00:01:00Z  rolled back\n"
                         "         1  g1          1970-01-01T00:00:00Z\n"));
}

TEST_CASE("a generation tells its rerankers, by name if there are several") {
  TempDir dir;
  const std::string fast(64, 'c'), fine(64, 'd');
  WriteGeneration(dir.path(), "g1", {{"default", fast}});
  WriteGeneration(dir.path(), "g2", {{"default", fast}, {"fine", fine}}, Dtype::kInt8);
  DescribeOptions options;
  options.place.folder = dir.path();
  REQUIRE(absl::StrContains(Text("pictures/g1", options),
                            "\n  reranker       " + fast + "\n  item features  float16, "));
  const std::string text = Text("pictures/g2", options);
  REQUIRE(absl::StrContains(text, "\n  reranker default  " + fast + "\n"));
  REQUIRE(absl::StrContains(text, "\n  reranker fine     " + fine + "\n"));
  REQUIRE(absl::StrContains(text, "\n  item features     int8, "));
}

TEST_CASE("a generation tells what its kind of index has built, where there is anything") {
  TempDir dir;
  WriteGeneration(dir.path(), "g1");
  const std::string directory = GenerationDirectory(dir.path(), "pictures", "g1");
  REQUIRE_FALSE(absl::StrContains(Text(directory), "index files"));
  auto manifest = *ReadGenerationManifest(dir.path(), "pictures", "g1");
  for (const char* name : {"shards/0.graph", "shards/0.lists"}) {
    REQUIRE(WriteFileAtomically(JoinPath(directory, name), "1234567").ok());
    bundle::v1::BundleFile* const file = manifest.mutable_shards(0)->add_index_files();
    file->set_path(name);
    file->set_byte_count(7);
    file->set_sha256(Sha256Hex("1234567"));
  }
  std::filesystem::remove(JoinPath(directory, kManifestFile));
  REQUIRE(WriteGenerationManifest(dir.path(), manifest).ok());
  const std::string text = Text(directory);
  INFO(text);
  REQUIRE(absl::StrContains(text, "features  bytes  index files                     bytes\n"));
  REQUIRE(absl::StrContains(text, "none          0  shards/0.graph, shards/0.lists   7, 7\n"));
  DescribeOptions verify;
  verify.verify = true;
  REQUIRE(Describe(directory, verify).ok());
  REQUIRE(WriteFileAtomically(JoinPath(directory, "shards/0.lists"), "1234568").ok());
  REQUIRE(Describe(directory, verify).status().code() == absl::StatusCode::kDataLoss);
}

TEST_CASE("a generation tells how it is searched, and what that was measured as") {
  TempDir dir;
  WriteGeneration(dir.path(), "g1");
  const std::string directory = GenerationDirectory(dir.path(), "pictures", "g1");
  for (const char* absent : {"\n  vectors", "\n  precision", "\n  index ", "\nefforts\n"}) {
    INFO(absent);
    REQUIRE_FALSE(absl::StrContains(Text(directory), absent));
  }
  auto manifest = *ReadGenerationManifest(dir.path(), "pictures", "g1");
  manifest.set_vector_dtype("float16");
  manifest.mutable_encoding()->set_precision("bfloat16");
  manifest.mutable_encoding()->set_agreement(0.9875);
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_rows_on_disk(true);
  spec->set_default_recall(0.9);
  spec->set_seed(3);
  for (const int effort : {8, 4096}) {
    bundle::v1::EffortPoint* const point = manifest.mutable_shards(0)->add_efforts();
    point->set_effort(effort);
    point->set_recall_at_10(0.5);
    point->set_recall_at_100(0.25);
    point->set_seconds(effort / 1e6);
  }
  const auto text = [&] {
    std::filesystem::remove(JoinPath(directory, kManifestFile));
    REQUIRE(WriteGenerationManifest(dir.path(), manifest).ok());
    return Text(directory);
  };
  spec->set_kind("ivf");
  spec->mutable_ivf()->set_list_count(512);
  spec->mutable_ivf()->set_code("pq4");
  spec->mutable_ivf()->set_pq_parts(2);
  spec->mutable_ivf()->set_refine(10);
  const std::string lists = text();
  INFO(lists);
  REQUIRE(absl::StrContains(lists, "\n  vectors    float16\n"));
  REQUIRE(absl::StrContains(lists,
                            "\n  precision  bfloat16, which finds 98.8 % of float32's ten best\n"));
  REQUIRE(absl::StrContains(lists,
                            "\n  index      ivf, rows on disk, recall 0.9, seed 3, list_count 512, "
                            "code pq4, pq_parts 2, refine 10\n"));
  REQUIRE(absl::EndsWith(lists,
                         "efforts\n"
                         "  shard  effort  recall@10  recall@100  ms a query\n"
                         "      0       8     0.5000      0.2500       0.008\n"
                         "      0   4 096     0.5000      0.2500       4.096\n"));
  spec->set_kind("hnsw");
  spec->set_rows_on_disk(false);
  spec->mutable_hnsw()->set_link_count(16);
  spec->mutable_hnsw()->set_build_effort(200);
  spec->mutable_hnsw()->set_code("rows");
  REQUIRE(absl::StrContains(
      text(),
      "\n  index      hnsw, recall 0.9, seed 3, link_count 16, build_effort 200, code rows\n"));
}

TEST_CASE("what is none of these is refused with a way out") {
  TempDir dir;
  const auto message = [](const std::string& target, const DescribeOptions& options = {}) {
    return std::string(Describe(target, options).status().message());
  };
  REQUIRE(absl::StrContains(message("no-such-thing"),
                            "for an id, add --store DIR or --object-store URL"));
  REQUIRE(WriteFileAtomically(dir.File("notes.txt"), "hello").ok());
  REQUIRE(absl::StrContains(message(dir.File("notes.txt")), "neither a container nor"));
  REQUIRE(absl::StrContains(message(dir.path()), "does not lie in a store"));
  DescribeOptions options;
  options.place.folder = dir.path();
  REQUIRE(absl::StrContains(message("a/b/c", options), "is no model id"));
  REQUIRE(Describe("pictures", options).status().code() == absl::StatusCode::kNotFound);
  REQUIRE(Describe("../x/y", options).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sightline
