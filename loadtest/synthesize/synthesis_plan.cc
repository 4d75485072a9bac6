#include "loadtest/synthesize/synthesis_plan.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/shard_files.h"
#include "common/indexing/index_settings.h"
#include "loadtest/synthesize/grown_vectors.h"
#include "loadtest/synthesize/synthetic_shard.h"

namespace sightline {
namespace {

using bundle::v1::EmbeddingSpec;
using bundle::v1::ModelBundleManifest;

// Raise it when the same options begin to give other bytes.
constexpr int kContentFormat = 3;
constexpr size_t kNameDigits = 12;

// Id, caption, uri and their offsets; a shard's headers and gaps.  Both rounded up.
constexpr int64_t kRecordBytes = 110;
constexpr int64_t kShardBytes = 48 << 10;

absl::StatusOr<ModelBundleManifest> ReadBundle(absl::string_view flag, const std::string& store,
                                               const std::string& id) {
  if (!IsSha256Hex(id)) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, " '",
                                                   absl::CHexEscape(id.substr(0, 100)),
                                                   "' is no bundle's id: 64 hex digits"));
  }
  const absl::StatusOr<ModelBundle> bundle =
      OpenModelBundle(ModelDirectory(store, id), /*verify_checksums=*/false);
  if (bundle.ok()) return bundle->manifest;
  return absl::Status(bundle.status().code(),
                      absl::StrCat("--", flag, ": ", bundle.status().message(),
                                   "; `sightlinectl init-model --store ", store,
                                   "` makes a bundle with random weights"));
}

absl::Status CheckNumbers(const SynthesisOptions& options) {
  if (options.store.empty()) return absl::InvalidArgumentError("--store is missing");
  if (!IsValidName(options.index, limits::kMaxIndexNameLength)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--index '", absl::CHexEscape(options.index.substr(0, 100)),
                     "' is no index name: a-z, 0-9, _ and -, at most ", limits::kMaxIndexNameLength,
                     " characters"));
  }
  if (options.items < 1 || options.items > kMostSyntheticItems) {
    return absl::InvalidArgumentError(
        absl::StrCat("--items is ", options.items, "; 1 to ", kMostSyntheticItems, " can be made"));
  }
  if (options.shards < 1 || options.shards > limits::kMaxShards) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shards is ", options.shards, ", not 1 to ", limits::kMaxShards));
  }
  if (options.vectors.clusters < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--clusters is ", options.vectors.clusters, "; 1 means none"));
  }
  return absl::OkStatus();
}

// What items grow from has to be of the space that they are said to be of.
absl::Status CheckLike(const SynthesisPlan& plan, bool has_encoder) {
  const StoredPairs& like = *plan.options.like;
  if (like.embeddings.queries.rows() == 0) {
    return absl::InvalidArgumentError(
        "the store of --like has no captions about its pictures; name another");
  }
  if (like.embeddings.items.dimension() != plan.embedding.dimension()) {
    return absl::InvalidArgumentError(absl::StrCat("embeddings of the store of --like have ",
                                                   like.embeddings.items.dimension(),
                                                   " numbers, not ", plan.embedding.dimension()));
  }
  if (has_encoder && like.space != plan.embedding.space()) {
    return absl::InvalidArgumentError(absl::StrCat("the store of --like is of embedding space ",
                                                   like.space, ", but --encoder-model is of ",
                                                   plan.embedding.space()));
  }
  return absl::OkStatus();
}

// The space of the encoder, or one that no other program knows.
absl::Status PlanEmbedding(SynthesisPlan* plan) {
  SynthesisOptions& options = plan->options;
  int& dimension = options.vectors.dimension;
  if (dimension < 0 || dimension > limits::kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dimension is ", dimension, ", not 1 to ", limits::kMaxDimension));
  }
  if (options.encoder_model.empty()) {
    if (dimension == 0 && options.like != nullptr) {
      dimension = options.like->embeddings.items.dimension();
    }
    if (dimension == 0) {
      return absl::InvalidArgumentError(
          "give --dimension, or --encoder-model or --like to take it from");
    }
    const std::string id = Sha256Hex(absl::StrCat("sightline synthetic space ", dimension));
    options.encoder_model = id;
    plan->embedding.set_dimension(dimension);
    plan->embedding.set_metric(EmbeddingSpec::COSINE);
    plan->embedding.set_space(id);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ModelBundleManifest model,
                   ReadBundle("encoder-model", options.store, options.encoder_model));
  if (!model.has_embedding()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--encoder-model ", options.encoder_model, " is a pure cross-encoder"));
  }
  plan->embedding = model.embedding();
  if (dimension == 0) dimension = model.embedding().dimension();
  if (dimension != model.embedding().dimension()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dimension is ", dimension, ", but the embeddings of --encoder-model have ",
                     model.embedding().dimension(), " numbers; leave --dimension out"));
  }
  return absl::OkStatus();
}

// Which rows the reranker reads of an item: common/models/README.md, "item features".
absl::Status PlanFeatures(SynthesisPlan* plan) {
  SynthesisOptions& options = plan->options;
  if (options.reranker_model.empty()) {
    if (options.regions == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("--regions ", options.regions,
                     " are for a reranker; give --reranker-model too, or neither"));
  }
  ASSIGN_OR_RETURN(const ModelBundleManifest model,
                   ReadBundle("reranker-model", options.store, options.reranker_model));
  if (!model.has_cross_encoder() || model.family() != "oscar") {
    return absl::FailedPreconditionError(
        absl::StrCat("--reranker-model ", options.reranker_model, " is of family ", model.family(),
                     model.has_cross_encoder() ? "" : " and has no cross-encoder",
                     "; features are made for cross-encoders of family oscar"));
  }
  const int most = model.transformer().max_region_count();
  if (options.regions == 0) options.regions = most;
  if (options.regions < 1 || options.regions > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--regions is ", options.regions, "; --reranker-model reads 1 to ", most, " of an item"));
  }
  plan->region_columns = model.transformer().hidden_size();
  return absl::OkStatus();
}

template <typename T>
absl::string_view BytesOf(absl::Span<const T> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

std::string DigestOf(const PairedEmbeddings& pairs) {
  Sha256 digest;
  digest.Update(BytesOf(absl::MakeConstSpan(pairs.items.values())));
  digest.Update(BytesOf(absl::MakeConstSpan(pairs.queries.values())));
  digest.Update(BytesOf(absl::MakeConstSpan(pairs.about)));
  return digest.Hex();
}

std::string ContentJson(const SynthesisPlan& plan) {
  const SynthesisOptions& options = plan.options;
  nlohmann::ordered_json json = {
      {"format", kContentFormat},
      {"seed", options.vectors.seed},
      {"items", options.items},
      {"shards", options.shards},
      {"dimension", options.vectors.dimension},
      {"clusters", options.vectors.clusters},
      {"shape", nlohmann::ordered_json::parse(VectorShapeJson(options.vectors.shape))},
      {"space", plan.embedding.space()},
      {"encoder_model", options.encoder_model},
      {"reranker_model", options.reranker_model},
      {"regions", options.regions},
      {"region_columns", plan.region_columns},
  };
  // What was made before there was a choice has the default.
  if (options.vector_dtype != kDefaultVectorDtype) {
    json["vector_dtype"] = DtypeName(options.vector_dtype);
  }
  if (options.like != nullptr) json["like"] = DigestOf(options.like->embeddings);
  if (!options.index_wish.is_empty()) json["index"] = options.index_wish.Text();
  return absl::StrCat(json.dump(2), "\n");
}

}  // namespace

int64_t FeatureBytes(const SynthesisPlan& plan) {
  return int64_t{plan.options.regions} * plan.region_columns *
         static_cast<int64_t>(DtypeSize(Dtype::kFloat16));
}

int64_t VectorBytes(const SynthesisPlan& plan) {
  return plan.options.vectors.dimension *
         static_cast<int64_t>(DtypeSize(plan.options.vector_dtype));
}

std::unique_ptr<ItemVectors> VectorsOf(const SynthesisOptions& options) {
  if (options.like == nullptr) return std::make_unique<SyntheticVectors>(options.vectors);
  return std::make_unique<GrownVectors>(
      std::shared_ptr<const PairedEmbeddings>(options.like, &options.like->embeddings),
      options.vectors.seed, options.vectors.shape.own_share);
}

absl::StatusOr<SynthesisPlan> PlanSynthesis(const SynthesisOptions& options) {
  RETURN_IF_ERROR(CheckNumbers(options));
  SynthesisPlan plan;
  plan.options = options;
  RETURN_IF_ERROR(PlanEmbedding(&plan));
  if (options.like != nullptr) {
    RETURN_IF_ERROR(CheckLike(plan, /*has_encoder=*/!options.encoder_model.empty()));
  }
  RETURN_IF_ERROR(PlanFeatures(&plan));
  RETURN_IF_ERROR(CheckIndexWish(options.index_wish, plan.embedding.dimension()));
  if (options.vectors.clusters == 0) {
    plan.options.vectors.clusters = ClustersFor(options.items);
  }
  plan.content = ContentJson(plan);
  if (options.generation.empty()) {
    plan.options.generation =
        absl::StrCat("synthetic-", Sha256Hex(plan.content).substr(0, kNameDigits));
  } else if (!IsValidName(options.generation, limits::kMaxGenerationNameLength)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--generation '", absl::CHexEscape(options.generation.substr(0, 100)),
                     "' is no generation name: a-z, 0-9, _ and -"));
  }
  const int64_t row_bytes = (VectorBytes(plan) + 63) / 64 * 64;
  plan.byte_count = options.items * (row_bytes + kRecordBytes + FeatureBytes(plan)) +
                    options.shards * kShardBytes;
  return plan;
}

}  // namespace sightline
