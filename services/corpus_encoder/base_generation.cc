#include "services/corpus_encoder/base_generation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/bundle/verify.h"

namespace sightline {
namespace {

// Of a section that a reader keeps (section_reader.h): little, since there are several in each
// shard of a base.
constexpr int64_t kPieceBytes = int64_t{128} << 10;

std::vector<std::string> ModelsOf(const std::vector<NamedReranker>& rerankers) {
  std::vector<std::string> models;
  for (const NamedReranker& reranker : rerankers) models.push_back(reranker.model);
  return models;
}

absl::Status CheckMadeAlike(const bundle::v1::GenerationManifest& base,
                            const BaseRequirements& required) {
  const auto differs = [&](absl::string_view what, absl::string_view is,
                           absl::string_view should_be) {
    return absl::FailedPreconditionError(absl::StrCat(
        "generation ", base.generation(), " of index ", base.index(), " has ", what, " ",
        is.empty() ? "none" : is, ", not ", should_be.empty() ? "none" : should_be,
        ": nothing of it can be carried over"));
  };
  if (base.item_kind() != required.item_kind) {
    return differs("items of kind", bundle::v1::ItemKind_Name(base.item_kind()),
                   bundle::v1::ItemKind_Name(required.item_kind));
  }
  if (base.encoder_model() != required.encoder_model) {
    return differs("the encoder", base.encoder_model(), required.encoder_model);
  }
  if (ModelsOf(RerankersOf(base)) != ModelsOf(required.rerankers)) {
    return differs("the rerankers", RerankersText(RerankersOf(base)),
                   RerankersText(required.rerankers));
  }
  const Dtype dtype = FeatureDtypeOf(base);
  if (!required.rerankers.empty() && dtype != required.feature_dtype) {
    return differs("item features in", DtypeName(dtype), DtypeName(required.feature_dtype));
  }
  if (VectorDtypeOf(base) != required.vector_dtype) {
    return differs("vectors in", DtypeName(VectorDtypeOf(base)), DtypeName(required.vector_dtype));
  }
  if (EncodingPrecisionOf(base) != required.precision) {
    return differs("embeddings computed in", EncodingPrecisionOf(base), required.precision);
  }
  if (ManifestJson(base.embedding()) != ManifestJson(required.embedding)) {
    return differs("the embedding space", base.embedding().space(), required.embedding.space());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BaseIndex>> BaseIndex::Open(const std::string& store,
                                                           const std::string& index,
                                                           const std::string& generation,
                                                           const BaseRequirements& required) {
  std::unique_ptr<BaseIndex> base(new BaseIndex);
  ASSIGN_OR_RETURN(base->manifest_, ReadGenerationManifest(store, index, generation));
  RETURN_IF_ERROR(CheckMadeAlike(base->manifest_, required));
  base->rerankers_ = required.rerankers;
  const std::string directory = GenerationDirectory(store, index, generation);
  for (const bundle::v1::ShardManifest& shard : base->manifest_.shards()) {
    ASSIGN_OR_RETURN(std::unique_ptr<VectorsFile> vectors,
                     VectorsFile::Open(JoinPath(directory, shard.vectors().path()), shard,
                                       required.embedding.dimension()));
    base->vectors_.push_back(std::move(vectors));
    if (required.rerankers.empty()) continue;
    ASSIGN_OR_RETURN(std::unique_ptr<FeatureFile> features,
                     FeatureFile::Open(JoinPath(directory, shard.features().path()), shard));
    base->features_.push_back(std::move(features));
  }
  return base;
}

bool BaseIndex::Holds(const Place& place) const {
  return place.shard >= 0 && place.shard < static_cast<int32_t>(vectors_.size()) &&
         place.row >= 0 && place.row < vectors_[place.shard]->size();
}

absl::Status BaseIndex::Verify(const std::string& store, WorkTally& tally,
                               const CallContext& call) const {
  RETURN_IF_ERROR(CheckLengths(store, manifest_, VerifyOptions()));
  for (int shard = 0; shard < manifest_.shards_size(); ++shard) {
    for (const bool vectors : {true, false}) {
      VerifyOptions options;
      options.shards = {shard};
      options.vectors = vectors;
      options.features = !vectors;
      RETURN_IF_ERROR(VerifyGeneration(store, manifest_, options, call));
      tally.Note();
    }
  }
  return absl::OkStatus();
}

BaseReader::BaseReader(const BaseIndex& base) : base_(&base) {
  for (const auto& file : base.vectors_) vectors_.emplace_back(*file, kPieceBytes);
  for (const auto& file : base.features_) features_.emplace_back(*file, kPieceBytes);
}

absl::StatusOr<absl::optional<BaseIndex::Place>> BaseReader::LookUp(
    absl::string_view item_id, absl::string_view content_hash) {
  BaseIndex::Place place;
  place.shard = ShardOf(item_id, static_cast<int>(vectors_.size()));
  VectorsReader& vectors = vectors_[place.shard];
  ASSIGN_OR_RETURN(place.row, vectors.Find(item_id));
  if (place.row < 0) return absl::nullopt;
  ASSIGN_OR_RETURN(const absl::string_view hash, vectors.ContentHash(place.row));
  if (hash != content_hash) return absl::nullopt;
  return place;
}

absl::StatusOr<absl::optional<BaseIndex::Place>> BaseReader::Find(absl::string_view item_id,
                                                                  absl::string_view content_hash) {
  absl::StatusOr<absl::optional<BaseIndex::Place>> place = LookUp(item_id, content_hash);
  if (place.ok()) return place;
  return WithPrefix(
      place.status(),
      absl::StrCat("what has changed since generation ", base_->generation(), " cannot be told",
                   IsFailedRead(place.status()) ? "; run the same command again" : ""));
}

absl::StatusOr<std::vector<float>> BaseReader::Embedding(const BaseIndex::Place& place) {
  std::vector<float> embedding(static_cast<size_t>(base_->vectors_[place.shard]->dimension()));
  RETURN_IF_ERROR(vectors_[place.shard].Embedding(place.row, absl::MakeSpan(embedding)));
  return embedding;
}

absl::StatusOr<ItemFeatures> BaseReader::Features(const BaseIndex::Place& place, int reranker) {
  return features_[place.shard].Get(base_->rerankers_[reranker].model, place.row);
}

BaseReaders::BaseReaders(const BaseGeneration& base) {
  if (base.images != nullptr) images = std::make_unique<BaseReader>(*base.images);
  if (base.captions != nullptr) captions = std::make_unique<BaseReader>(*base.captions);
}

}  // namespace sightline
