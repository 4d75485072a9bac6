#include "common/bundle/manifest.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/vector_dtype.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::CurrentGeneration;
using bundle::v1::EmbeddingSpec;
using bundle::v1::GenerationManifest;
using bundle::v1::GridExtractorSpec;
using bundle::v1::ModelBundleManifest;
using bundle::v1::TransformerSpec;

// A shard has four files at most and some points of its efforts.
constexpr int64_t kMaxObjects = 20 * limits::kMaxShards;

// For messages: a value from a hostile file, short and printable.
std::string Shown(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), text.size() > 100 ? "..." : "",
                      "'");
}

absl::Status Malformed(absl::string_view field, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", field, " ", why));
}

template <typename T>
absl::Status InRange(absl::string_view field, T value, T low, T high) {
  // Written so that NaN is out of range.
  if (value >= low && value <= high) return absl::OkStatus();
  return Malformed(field, absl::StrCat("is ", value, ", not ", low, " to ", high));
}

absl::Status CheckVersion(int version, int known) {
  if (version > known) {
    return MakeError(reasons::kNewerFormat,
                     absl::StrCat("manifest: format_version ", version, " is newer than the ",
                                  known, " that this program reads; update the program"));
  }
  if (version < 1) return Malformed("format_version", absl::StrCat("is ", version));
  return absl::OkStatus();
}

absl::Status CheckDigest(absl::string_view field, absl::string_view digest) {
  if (IsSha256Hex(digest)) return absl::OkStatus();
  return Malformed(field, absl::StrCat("is ", Shown(digest), ", not 64 lower-case hex digits"));
}

// Of UTF-8: all bytes but continuations begin a character.
int64_t CharacterCount(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

absl::Status CheckFile(absl::string_view field, const BundleFile& file) {
  if (!IsSafePath(file.path())) {
    return Malformed(absl::StrCat(field, ".path"),
                     absl::StrCat("is ", Shown(file.path()), ", which is not a safe path"));
  }
  if (file.path() == kManifestFile) return Malformed(field, "names the manifest itself");
  if (file.byte_count() < 0) return Malformed(absl::StrCat(field, ".byte_count"), "is negative");
  return CheckDigest(absl::StrCat(field, " ", file.path(), ".sha256"), file.sha256());
}

absl::Status CheckEmbedding(const EmbeddingSpec& embedding) {
  RETURN_IF_ERROR(InRange("embedding.dimension", embedding.dimension(), 1, limits::kMaxDimension));
  if (embedding.metric() != EmbeddingSpec::INNER_PRODUCT &&
      embedding.metric() != EmbeddingSpec::COSINE) {
    return Malformed("embedding.metric", absl::StrCat("is ", embedding.metric()));
  }
  return CheckDigest("embedding.space", embedding.space());
}

absl::Status CheckLambdas(const bundle::v1::CrossEncoderSpec& spec) {
  const std::pair<const char*, float> lambdas[] = {
      {"cross_encoder.combination_lambda", spec.combination_lambda()},
      {"cross_encoder.text_to_image.combination_lambda", spec.text_to_image().combination_lambda()},
      {"cross_encoder.image_to_text.combination_lambda",
       spec.image_to_text().combination_lambda()}};
  for (const auto& [field, lambda] : lambdas) {
    RETURN_IF_ERROR(InRange(field, lambda, 0.0f, 1.0f));
  }
  return absl::OkStatus();
}

// What bounds sums and products of any manifest's numbers; what a model can be made of is for
// its family to say (common/models/*/manifest.cc), and is less.
absl::Status CheckTransformer(const TransformerSpec& spec) {
  RETURN_IF_ERROR(InRange("transformer.layer_count", spec.layer_count(), 1, limits::kMaxLayers));
  RETURN_IF_ERROR(
      InRange("transformer.hidden_size", spec.hidden_size(), 1, limits::kMaxHiddenSize));
  RETURN_IF_ERROR(InRange("transformer.head_count", spec.head_count(), 1, spec.hidden_size()));
  if (spec.hidden_size() % spec.head_count() != 0) {
    return Malformed("transformer.hidden_size", "is not a multiple of head_count");
  }
  RETURN_IF_ERROR(InRange("transformer.intermediate_size", spec.intermediate_size(), 1, 65'536));
  RETURN_IF_ERROR(InRange("transformer.vocabulary_size", spec.vocabulary_size(), 1, 2'000'000));
  RETURN_IF_ERROR(InRange("transformer.position_count", spec.position_count(), 1, 65'536));
  RETURN_IF_ERROR(InRange("transformer.token_type_count", spec.token_type_count(), 1, 1024));
  RETURN_IF_ERROR(
      InRange("transformer.region_feature_size", spec.region_feature_size(), 0, 65'536));
  RETURN_IF_ERROR(InRange("transformer.max_region_count", spec.max_region_count(), 0,
                          limits::kMaxModelRegions));
  RETURN_IF_ERROR(InRange("transformer.layer_norm_epsilon", spec.layer_norm_epsilon(), 0.0f, 1.0f));
  return InRange("transformer.region_layer_norm_epsilon", spec.region_layer_norm_epsilon(), 0.0f,
                 1.0f);
}

absl::Status CheckGridExtractor(const GridExtractorSpec& spec) {
  RETURN_IF_ERROR(InRange("grid_extractor.image_size", spec.image_size(),
                          limits::kMinModelImageSize, limits::kMaxModelImageSize));
  RETURN_IF_ERROR(InRange("the number of grid_extractor.stages", spec.stages_size(), 1, 10));
  if (spec.image_size() % (1 << spec.stages_size()) != 0) {
    return Malformed("grid_extractor.image_size", "is not divisible by 2 to the number of stages");
  }
  for (const auto& stage : spec.stages()) {
    RETURN_IF_ERROR(InRange("grid_extractor.stages.channel_count", stage.channel_count(), 1,
                            limits::kMaxGridChannels));
    RETURN_IF_ERROR(InRange("grid_extractor.stages.residual_block_count",
                            stage.residual_block_count(), 0, limits::kMaxGridBlocks));
  }
  if (spec.mean_size() != 3) return Malformed("grid_extractor.mean", "has not three numbers");
  if (spec.standard_deviation_size() != 3) {
    return Malformed("grid_extractor.standard_deviation", "has not three numbers");
  }
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(InRange("grid_extractor.mean", spec.mean(i), -1e6f, 1e6f));
    RETURN_IF_ERROR(
        InRange("grid_extractor.standard_deviation", spec.standard_deviation(i), 1e-6f, 1e6f));
  }
  return absl::OkStatus();
}

absl::Status CheckTokenizer(const ModelBundleManifest& manifest) {
  const auto& tokenizer = manifest.tokenizer();
  if (tokenizer.kind() == bundle::v1::TokenizerSpec::KIND_UNSPECIFIED ||
      !bundle::v1::TokenizerSpec::Kind_IsValid(tokenizer.kind())) {
    return Malformed("tokenizer.kind", absl::StrCat("is ", tokenizer.kind()));
  }
  const bool listed = std::any_of(
      manifest.files().begin(), manifest.files().end(),
      [&](const BundleFile& file) { return file.path() == tokenizer.vocabulary_file(); });
  if (!listed) {
    return Malformed(
        "tokenizer.vocabulary_file",
        absl::StrCat("is ", Shown(tokenizer.vocabulary_file()), ", which is not among the files"));
  }
  return InRange("tokenizer.max_token_count", tokenizer.max_token_count(), 3, limits::kMaxTokens);
}

absl::Status CheckRecallProbe(const bundle::v1::RecallProbe& probe) {
  RETURN_IF_ERROR(
      InRange("recall_probe.query_count", probe.query_count(), 1, limits::kMaxProbeQueries));
  RETURN_IF_ERROR(InRange("recall_probe.neighbor_count", probe.neighbor_count(), 1,
                          limits::kMaxProbeNeighbors));
  return InRange("recall_probe.floor", probe.floor(), 0.0, 1.0);
}

// What the words mean nobody has to know who reads the embeddings.
absl::Status CheckEncoding(const bundle::v1::EncodingPrecision& encoding) {
  if (!IsValidName(encoding.precision(), limits::kMaxPrecisionNameLength)) {
    return Malformed("encoding.precision", absl::StrCat("is ", Shown(encoding.precision())));
  }
  return InRange("encoding.agreement", encoding.agreement(), 0.0, 1.0);
}

// The default must be among the named ones, or older programs would serve another.
absl::Status CheckRerankerFields(const GenerationManifest& manifest) {
  if (!manifest.reranker_model().empty()) {
    RETURN_IF_ERROR(CheckDigest("reranker_model", manifest.reranker_model()));
  }
  if (manifest.rerankers_size() == 0) return absl::OkStatus();
  std::vector<NamedReranker> rerankers;
  bool has_default = false;
  for (const bundle::v1::NamedReranker& reranker : manifest.rerankers()) {
    rerankers.push_back({reranker.name(), reranker.model()});
    has_default = has_default || reranker.model() == manifest.reranker_model();
  }
  if (const absl::Status status = CheckRerankers(rerankers); !status.ok()) {
    return Malformed("rerankers", absl::StrCat("are unsound: ", status.message()));
  }
  if (has_default) return absl::OkStatus();
  return Malformed("reranker_model", absl::StrCat("is ", Shown(manifest.reranker_model()),
                                                  ", which is none of rerankers"));
}

// What a later program may store: a name that there is, or none.
absl::Status CheckDtype(absl::string_view field, absl::string_view name,
                        absl::StatusOr<Dtype> (*parse)(absl::string_view)) {
  if (name.empty()) return absl::OkStatus();
  const absl::Status status = parse(name).status();
  if (status.ok()) return status;
  return MakeError(reasons::kNewerFormat,
                   absl::StrCat("manifest: ", field, " ", status.message(),
                                ", which this program reads; update the program"));
}

// Its form; whether there is one of that name its kind of index says.
absl::Status CheckCode(absl::string_view field, const std::string& code) {
  if (IsValidName(code, limits::kMaxIndexKindLength)) return absl::OkStatus();
  return Malformed(field, absl::StrCat("is ", Shown(code)));
}

// Rows themselves are scored exactly as they are met.
absl::Status CheckRefine(absl::string_view field, const std::string& code, int refine) {
  return InRange(field, refine, code == "rows" ? 0 : 1, 1000);
}

absl::Status CheckIvf(const bundle::v1::IvfSpec& ivf, int dimension) {
  RETURN_IF_ERROR(
      InRange("index_spec.ivf.list_count", ivf.list_count(), 1, limits::kMaxIndexLists));
  RETURN_IF_ERROR(CheckCode("index_spec.ivf.code", ivf.code()));
  RETURN_IF_ERROR(
      InRange("index_spec.ivf.pq_parts", ivf.pq_parts(), ivf.code() == "pq4" ? 1 : 0, dimension));
  return CheckRefine("index_spec.ivf.refine", ivf.code(), ivf.refine());
}

absl::Status CheckHnsw(const bundle::v1::HnswSpec& hnsw) {
  RETURN_IF_ERROR(InRange("index_spec.hnsw.link_count", hnsw.link_count(), 4, 128));
  RETURN_IF_ERROR(InRange("index_spec.hnsw.build_effort", hnsw.build_effort(), 8, 2000));
  RETURN_IF_ERROR(CheckCode("index_spec.hnsw.code", hnsw.code()));
  return CheckRefine("index_spec.hnsw.refine", hnsw.code(), hnsw.refine());
}

absl::Status CheckIndexSpec(const GenerationManifest& manifest) {
  const bundle::v1::IndexSpec& spec = manifest.index_spec();
  if (!IsValidName(spec.kind(), limits::kMaxIndexKindLength)) {
    return Malformed("index_spec.kind", absl::StrCat("is ", Shown(spec.kind())));
  }
  RETURN_IF_ERROR(InRange("index_spec.default_recall", spec.default_recall(), 0.0, 1.0));
  if (spec.has_ivf()) return CheckIvf(spec.ivf(), manifest.embedding().dimension());
  return spec.has_hnsw() ? CheckHnsw(spec.hnsw()) : absl::OkStatus();
}

absl::Status CheckEfforts(const std::string& shard, const bundle::v1::ShardManifest& manifest) {
  RETURN_IF_ERROR(InRange(absl::StrCat("the number of ", shard, ".efforts"),
                          manifest.efforts_size(), 0, limits::kMaxEffortPoints));
  int previous = 0;
  for (int i = 0; i < manifest.efforts_size(); ++i) {
    const bundle::v1::EffortPoint& point = manifest.efforts(i);
    const std::string field = absl::StrCat(shard, ".efforts[", i, "]");
    RETURN_IF_ERROR(
        InRange(absl::StrCat(field, ".effort"), point.effort(), previous + 1, limits::kMaxEffort));
    RETURN_IF_ERROR(InRange(absl::StrCat(field, ".recall_at_10"), point.recall_at_10(), 0.0, 1.0));
    RETURN_IF_ERROR(
        InRange(absl::StrCat(field, ".recall_at_100"), point.recall_at_100(), 0.0, 1.0));
    RETURN_IF_ERROR(InRange(absl::StrCat(field, ".seconds"), point.seconds(), 0.0,
                            std::numeric_limits<double>::max()));
    previous = point.effort();
  }
  return absl::OkStatus();
}

absl::Status CheckShards(const GenerationManifest& manifest) {
  RETURN_IF_ERROR(InRange("the number of shards", manifest.shards_size(), 1, limits::kMaxShards));
  std::set<std::string> paths;
  int64_t items = 0;
  for (int i = 0; i < manifest.shards_size(); ++i) {
    const auto& shard = manifest.shards(i);
    const std::string field = absl::StrCat("shards[", i, "]");
    if (shard.item_count() < 0 || __builtin_add_overflow(items, shard.item_count(), &items)) {
      return Malformed(absl::StrCat(field, ".item_count"), absl::StrCat("is ", shard.item_count()));
    }
    RETURN_IF_ERROR(InRange(absl::StrCat("the number of ", field, ".index_files"),
                            shard.index_files_size(), 0, limits::kMaxIndexFiles));
    RETURN_IF_ERROR(CheckEfforts(field, shard));
    bool taken = false;
    for (const ShardFile& file : FilesOf(shard)) {
      RETURN_IF_ERROR(CheckFile(absl::StrCat(field, ".", file.field), *file.description));
      taken = !paths.insert(file.description->path()).second || taken;
    }
    if (taken) return Malformed(field, "names a file that is named before");
    if (shard.has_features() != !manifest.reranker_model().empty()) {
      return Malformed(field, "must have features if, and only if, there is a reranker_model");
    }
    if (shard.has_probes() != manifest.has_recall_probe()) {
      return Malformed(field, "must have probes if, and only if, there is a recall_probe");
    }
  }
  if (items != manifest.item_count()) {
    return Malformed("item_count",
                     absl::StrCat("is ", manifest.item_count(), " but the shards have ", items));
  }
  return absl::OkStatus();
}

template <typename Manifest>
absl::StatusOr<Manifest> ParseJson(absl::string_view json) {
  if (static_cast<int64_t>(json.size()) > limits::kMaxManifestBytes) {
    return absl::DataLossError(absl::StrCat("manifest: ", json.size(), " bytes; at most ",
                                            limits::kMaxManifestBytes, " are read"));
  }
  // An empty object is two bytes of JSON and fifty times that in memory.
  if (std::count(json.begin(), json.end(), '{') > kMaxObjects) {
    return absl::DataLossError(absl::StrCat("manifest: more than ", kMaxObjects, " objects"));
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Manifest manifest;
  try {
    const auto status = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(json.data(), json.size()), &manifest, options);
    if (!status.ok()) {
      return absl::DataLossError(
          absl::StrCat("manifest: not the JSON of a ", Manifest::descriptor()->name(), ": ",
                       absl::CHexEscape(std::string(status.message()).substr(0, 300))));
    }
  } catch (const std::exception& error) {
    return absl::DataLossError(absl::StrCat("manifest: ", error.what()));
  }
  return manifest;
}

// What is the writer's fault when written is damage when read.
absl::Status AsDataLoss(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::DataLossError(status.message());
}

}  // namespace

absl::Status CheckModelBundleManifest(const ModelBundleManifest& manifest) {
  RETURN_IF_ERROR(CheckVersion(manifest.format_version(), kModelBundleFormatVersion));
  if (!IsValidName(manifest.family(), limits::kMaxFamilyNameLength)) {
    return Malformed("family", absl::StrCat("is ", Shown(manifest.family())));
  }
  if (CharacterCount(manifest.description()) > 500) {
    return Malformed("description", "is longer than 500 characters");
  }
  RETURN_IF_ERROR(InRange("the number of files", manifest.files_size(), 1, 64));
  for (int i = 0; i < manifest.files_size(); ++i) {
    RETURN_IF_ERROR(CheckFile(absl::StrCat("files[", i, "]"), manifest.files(i)));
    if (i > 0 && manifest.files(i).path() <= manifest.files(i - 1).path()) {
      return Malformed("files", "are not sorted by path, each once");
    }
  }
  if (manifest.has_tokenizer()) RETURN_IF_ERROR(CheckTokenizer(manifest));
  if (manifest.has_embedding()) RETURN_IF_ERROR(CheckEmbedding(manifest.embedding()));
  if (manifest.has_cross_encoder()) {
    RETURN_IF_ERROR(CheckLambdas(manifest.cross_encoder()));
  }
  if (manifest.has_transformer()) RETURN_IF_ERROR(CheckTransformer(manifest.transformer()));
  if (manifest.has_grid_extractor()) {
    RETURN_IF_ERROR(CheckGridExtractor(manifest.grid_extractor()));
  }
  return absl::OkStatus();
}

absl::Status CheckGenerationManifest(const GenerationManifest& manifest) {
  RETURN_IF_ERROR(CheckVersion(manifest.format_version(), kGenerationFormatVersion));
  if (!IsValidName(manifest.index(), limits::kMaxIndexNameLength)) {
    return Malformed("index", absl::StrCat("is ", Shown(manifest.index())));
  }
  if (!IsValidName(manifest.generation(), limits::kMaxGenerationNameLength)) {
    return Malformed("generation", absl::StrCat("is ", Shown(manifest.generation())));
  }
  if (!manifest.parent_generation().empty() &&
      !IsValidName(manifest.parent_generation(), limits::kMaxGenerationNameLength)) {
    return Malformed("parent_generation", absl::StrCat("is ", Shown(manifest.parent_generation())));
  }
  if (manifest.item_kind() != bundle::v1::IMAGE && manifest.item_kind() != bundle::v1::CAPTION) {
    return Malformed("item_kind", absl::StrCat("is ", manifest.item_kind()));
  }
  RETURN_IF_ERROR(CheckEmbedding(manifest.embedding()));
  RETURN_IF_ERROR(CheckDigest("encoder_model", manifest.encoder_model()));
  RETURN_IF_ERROR(CheckRerankerFields(manifest));
  RETURN_IF_ERROR(CheckDtype("feature_dtype", manifest.feature_dtype(), &ParseFeatureDtype));
  RETURN_IF_ERROR(CheckDtype("vector_dtype", manifest.vector_dtype(), &ParseVectorDtype));
  if (manifest.has_encoding()) RETURN_IF_ERROR(CheckEncoding(manifest.encoding()));
  if (manifest.create_time().size() > 64) return Malformed("create_time", "is too long");
  if (manifest.has_index_spec()) RETURN_IF_ERROR(CheckIndexSpec(manifest));
  if (manifest.has_recall_probe()) RETURN_IF_ERROR(CheckRecallProbe(manifest.recall_probe()));
  return CheckShards(manifest);
}

absl::StatusOr<ModelBundleManifest> ParseModelBundleManifest(absl::string_view json) {
  ASSIGN_OR_RETURN(ModelBundleManifest manifest, ParseJson<ModelBundleManifest>(json));
  RETURN_IF_ERROR(AsDataLoss(CheckModelBundleManifest(manifest)));
  return manifest;
}

absl::StatusOr<GenerationManifest> ParseGenerationManifest(absl::string_view json) {
  ASSIGN_OR_RETURN(GenerationManifest manifest, ParseJson<GenerationManifest>(json));
  RETURN_IF_ERROR(AsDataLoss(CheckGenerationManifest(manifest)));
  return manifest;
}

absl::StatusOr<CurrentGeneration> ParseCurrentGeneration(absl::string_view json) {
  ASSIGN_OR_RETURN(CurrentGeneration current, ParseJson<CurrentGeneration>(json));
  if (!IsValidName(current.generation(), limits::kMaxGenerationNameLength)) {
    return absl::DataLossError(
        absl::StrCat("manifest: generation is ", Shown(current.generation())));
  }
  // The last number would leave none for the next publication.
  if (current.sequence() < 1 || current.sequence() == INT64_MAX) {
    return absl::DataLossError(absl::StrCat("manifest: sequence is ", current.sequence()));
  }
  if (current.previous_size() > limits::kMaxPublications) {
    return absl::DataLossError(absl::StrCat("manifest: ", current.previous_size(),
                                            " publications; at most ", limits::kMaxPublications));
  }
  for (const bundle::v1::Publication& publication : current.previous()) {
    if (IsValidName(publication.generation(), limits::kMaxGenerationNameLength)) continue;
    return absl::DataLossError(
        absl::StrCat("manifest: previous generation is ", Shown(publication.generation())));
  }
  return current;
}

std::string ManifestJson(const google::protobuf::Message& manifest) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails for Any and map types only, which manifests do not hold.
  (void)google::protobuf::util::MessageToJsonString(manifest, &json, options);
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace sightline
