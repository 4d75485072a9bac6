#include "services/corpus_encoder/unit_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// What is wrong with an embedding as a number; empty if nothing is.
std::string ProblemOf(absl::Span<const float> embedding) {
  if (!AllFinite(embedding)) return "the model gives it an embedding with a NaN or an infinity";
  if (std::all_of(embedding.begin(), embedding.end(), [](float x) { return x == 0; })) {
    return "the model gives it an embedding that is all zero";
  }
  return "";
}

// Puts row i of `embeddings` into the row that `indexes[i]` names, or rejects that.
absl::Status FillEmbeddings(const Model& model, const EmbeddingMatrix& embeddings,
                            const std::vector<size_t>& indexes, std::vector<UnitRow>& rows) {
  if (embeddings.rows() != static_cast<int64_t>(indexes.size()) ||
      embeddings.dimension() != model.dimension()) {
    return absl::InternalError(absl::StrCat("model ", model.id(), " gave ", embeddings.rows(),
                                            " embeddings of ", embeddings.dimension(),
                                            " numbers for ", indexes.size(), " items; ",
                                            model.dimension(), " numbers each were expected"));
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    const absl::Span<const float> embedding = embeddings.row(static_cast<int64_t>(i));
    UnitRow& row = rows[indexes[i]];
    row.rejected = ProblemOf(embedding);
    if (row.rejected.empty()) {
      row.embedding.assign(embedding.begin(), embedding.end());
    } else {
      row.features.clear();
    }
  }
  return absl::OkStatus();
}

// Regions of the pictures of `indexes`, found by the `extractor`-th model in what was
// decoded for it, which is used up.
absl::StatusOr<std::vector<ImageInput>> ExtractRegions(const Model& model, size_t extractor,
                                                       const std::vector<size_t>& indexes,
                                                       std::vector<DecodedPicture>& pictures,
                                                       const CallContext& call) {
  std::vector<Pixels> pixels;
  for (const size_t i : indexes) pixels.push_back(std::move(pictures[i].pixels[extractor]));
  ASSIGN_OR_RETURN(std::vector<RegionSet> regions, model.region_extractor()->Extract(pixels, call));
  std::vector<ImageInput> images(regions.size());
  for (size_t i = 0; i < regions.size(); ++i) images[i].regions = std::move(regions[i]);
  return images;
}

absl::Status FillFeatures(const Model& reranker, const std::vector<ImageInput>& images,
                          const std::vector<size_t>& indexes, std::vector<UnitRow>& rows,
                          const CallContext& call) {
  ASSIGN_OR_RETURN(std::vector<ItemFeatures> features,
                   reranker.cross_encoder()->PrepareImages(images, call));
  if (features.size() != indexes.size()) {
    return absl::InternalError(absl::StrCat("model ", reranker.id(), " prepared ", features.size(),
                                            " of ", indexes.size(), " images"));
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    UnitRow& row = rows[indexes[i]];
    if (row.rejected.empty()) row.features.push_back(std::move(features[i]));
  }
  return absl::OkStatus();
}

absl::Status EncodePictures(const CorpusModels& models, std::vector<DecodedPicture> pictures,
                            std::vector<UnitRow>& rows, const CallContext& call) {
  std::vector<size_t> indexes;
  for (size_t i = 0; i < pictures.size(); ++i) {
    rows[i].rejected = std::move(pictures[i].problem);
    rows[i].may_pass = pictures[i].may_pass;
    if (rows[i].rejected.empty()) indexes.push_back(i);
  }
  if (indexes.empty()) return absl::OkStatus();

  const Model& encoder = *models.encoder;
  ASSIGN_OR_RETURN(std::vector<ImageInput> images,
                   ExtractRegions(encoder, 0, indexes, pictures, call));
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, encoder.image_encoder()->Encode(images, call));
  RETURN_IF_ERROR(FillEmbeddings(encoder, embeddings, indexes, rows));
  size_t extractor = 0;
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    const bool own_regions = reranker.model != models.encoder;
    std::vector<ImageInput> own;
    if (own_regions) {
      ASSIGN_OR_RETURN(own, ExtractRegions(*reranker.model, ++extractor, indexes, pictures, call));
    }
    RETURN_IF_ERROR(FillFeatures(*reranker.model, own_regions ? own : images, indexes, rows, call));
  }
  return absl::OkStatus();
}

// What each reranker needs of a caption.
absl::StatusOr<std::vector<ItemFeatures>> CaptionFeatures(const CorpusModels& models,
                                                          const CaptionItem& caption) {
  std::vector<ItemFeatures> features;
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    ASSIGN_OR_RETURN(ItemFeatures own, reranker.model->cross_encoder()->PrepareText(caption.text));
    features.push_back(std::move(own));
  }
  return features;
}

absl::Status EncodeCaptions(const CorpusModels& models, const std::vector<CaptionItem>& captions,
                            std::vector<UnitRow>& rows, const CallContext& call) {
  const Model& model = *models.encoder;
  std::vector<size_t> indexes;
  std::vector<Tokens> tokens;
  for (const CaptionItem& caption : captions) {
    UnitRow row;
    row.item_id = caption.item_id;
    absl::StatusOr<Tokens> tokenized = model.text_encoder()->Tokenize(caption.text);
    absl::Status status = tokenized.status();
    if (status.ok()) {
      auto features = CaptionFeatures(models, caption);
      status = features.status();
      if (status.ok()) row.features = *std::move(features);
    }
    if (status.ok()) {
      indexes.push_back(rows.size());
      tokens.push_back(*std::move(tokenized));
    } else if (absl::IsInvalidArgument(status)) {
      row.rejected = absl::StrCat("caption: ", status.message());
    } else {
      return status;
    }
    rows.push_back(std::move(row));
  }
  if (indexes.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, model.text_encoder()->Encode(tokens, call));
  return FillEmbeddings(model, embeddings, indexes, rows);
}

}  // namespace

std::vector<const RegionExtractor*> CorpusModels::extractors() const {
  std::vector<const RegionExtractor*> extractors = {encoder->region_extractor()};
  for (const Reranker& reranker : rerankers) {
    if (reranker.model != encoder) extractors.push_back(reranker.model->region_extractor());
  }
  return extractors;
}

CorpusModels MakeCorpusModels(std::shared_ptr<const Model> encoder,
                              std::vector<CorpusModels::Reranker> rerankers) {
  if (rerankers.empty() && encoder->cross_encoder() != nullptr) {
    rerankers.push_back({kDefaultReranker, encoder});
  }
  return {std::move(encoder), std::move(rerankers)};
}

absl::Status CheckModelsForCorpus(const CorpusModels& models) {
  const Model& encoder = *models.encoder;
  const char* missing = encoder.text_encoder() == nullptr       ? "text encoder"
                        : encoder.image_encoder() == nullptr    ? "image encoder"
                        : encoder.region_extractor() == nullptr ? "region extractor for pixels"
                                                                : nullptr;
  if (missing != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("model ", encoder.id(), " has no ", missing,
                                                      " and cannot encode this corpus"));
  }
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    missing = reranker.model->cross_encoder() == nullptr      ? "cross-encoder"
              : reranker.model->region_extractor() == nullptr ? "region extractor for pixels"
                                                              : nullptr;
    if (missing == nullptr) continue;
    return absl::FailedPreconditionError(absl::StrCat("model ", reranker.model->id(), " has no ",
                                                      missing, " and cannot rerank this corpus"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UnitResult> EncodeUnit(const CorpusModels& models, const WorkUnit& unit,
                                      std::vector<DecodedPicture> pictures,
                                      absl::string_view language, const CallContext& call) {
  UnitResult result;
  result.images.resize(unit.pictures.size());
  for (size_t i = 0; i < unit.pictures.size(); ++i) {
    result.images[i].item_id = unit.pictures[i].item.item_id;
  }
  RETURN_IF_ERROR(EncodePictures(models, std::move(pictures), result.images, call));
  std::vector<CaptionItem> captions;
  for (size_t i = 0; i < unit.pictures.size(); ++i) {
    if (!result.images[i].rejected.empty()) continue;
    std::vector<CaptionItem> own = CaptionItemsOf(unit.pictures[i].item, language);
    std::move(own.begin(), own.end(), std::back_inserter(captions));
  }
  RETURN_IF_ERROR(EncodeCaptions(models, captions, result.captions, call));
  return result;
}

}  // namespace sightline
