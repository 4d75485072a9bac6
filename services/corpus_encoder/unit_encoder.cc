#include "services/corpus_encoder/unit_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

absl::Status CheckEmbedding(const Model& model, absl::string_view item_id,
                            absl::Span<const float> embedding) {
  const auto broken = [&](absl::string_view what) {
    return absl::InternalError(absl::StrCat("model ", model.id(), " gave item ", item_id, " ", what,
                                            "; the model is broken or does not fit"));
  };
  if (static_cast<int>(embedding.size()) != model.dimension()) {
    return broken(absl::StrCat("an embedding of ", embedding.size(), " numbers instead of ",
                               model.dimension()));
  }
  if (!AllFinite(embedding)) return broken("an embedding with a NaN or an infinity in it");
  if (std::all_of(embedding.begin(), embedding.end(), [](float x) { return x == 0; })) {
    return broken("an embedding that is all zero");
  }
  return absl::OkStatus();
}

// Puts row i of `embeddings` into the row that `indexes[i]` names.
absl::Status FillEmbeddings(const Model& model, const EmbeddingMatrix& embeddings,
                            const std::vector<size_t>& indexes, std::vector<UnitRow>& rows) {
  if (embeddings.rows() != static_cast<int64_t>(indexes.size())) {
    return absl::InternalError(absl::StrCat("model ", model.id(), " gave ", embeddings.rows(),
                                            " embeddings for ", indexes.size(), " items"));
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    const absl::Span<const float> embedding = embeddings.row(static_cast<int64_t>(i));
    UnitRow& row = rows[indexes[i]];
    RETURN_IF_ERROR(CheckEmbedding(model, row.item_id, embedding));
    row.embedding.assign(embedding.begin(), embedding.end());
  }
  return absl::OkStatus();
}

absl::Status EncodePictures(const Model& model, std::vector<DecodedPicture> pictures,
                            std::vector<UnitRow>& rows, const CallContext& call) {
  std::vector<size_t> indexes;
  std::vector<Pixels> pixels;
  for (size_t i = 0; i < pictures.size(); ++i) {
    rows[i].rejected = std::move(pictures[i].problem);
    if (!rows[i].rejected.empty()) continue;
    indexes.push_back(i);
    pixels.push_back(std::move(pictures[i].pixels));
  }
  if (indexes.empty()) return absl::OkStatus();

  ASSIGN_OR_RETURN(std::vector<RegionSet> regions, model.region_extractor()->Extract(pixels, call));
  pixels.clear();
  std::vector<ImageInput> images(regions.size());
  for (size_t i = 0; i < regions.size(); ++i) images[i].regions = std::move(regions[i]);
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, model.image_encoder()->Encode(images, call));
  RETURN_IF_ERROR(FillEmbeddings(model, embeddings, indexes, rows));
  if (model.cross_encoder() == nullptr) return absl::OkStatus();

  ASSIGN_OR_RETURN(std::vector<ItemFeatures> features,
                   model.cross_encoder()->PrepareImages(images, call));
  if (features.size() != indexes.size()) {
    return absl::InternalError(absl::StrCat("model ", model.id(), " prepared ", features.size(),
                                            " of ", indexes.size(), " images"));
  }
  for (size_t i = 0; i < indexes.size(); ++i) rows[indexes[i]].features = std::move(features[i]);
  return absl::OkStatus();
}

absl::Status EncodeCaptions(const Model& model, const std::vector<CaptionItem>& captions,
                            std::vector<UnitRow>& rows, const CallContext& call) {
  std::vector<size_t> indexes;
  std::vector<Tokens> tokens;
  for (const CaptionItem& caption : captions) {
    UnitRow row;
    row.item_id = caption.item_id;
    absl::StatusOr<Tokens> tokenized = model.text_encoder()->Tokenize(caption.text);
    if (tokenized.ok()) {
      indexes.push_back(rows.size());
      tokens.push_back(*std::move(tokenized));
    } else if (absl::IsInvalidArgument(tokenized.status())) {
      row.rejected = absl::StrCat("caption: ", tokenized.status().message());
    } else {
      return tokenized.status();
    }
    if (row.rejected.empty() && model.cross_encoder() != nullptr) {
      ASSIGN_OR_RETURN(row.features, model.cross_encoder()->PrepareText(caption.text));
    }
    rows.push_back(std::move(row));
  }
  if (indexes.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, model.text_encoder()->Encode(tokens, call));
  return FillEmbeddings(model, embeddings, indexes, rows);
}

}  // namespace

absl::Status CheckModelForCorpus(const Model& model) {
  const char* missing = model.text_encoder() == nullptr       ? "text encoder"
                        : model.image_encoder() == nullptr    ? "image encoder"
                        : model.region_extractor() == nullptr ? "region extractor for pixels"
                                                              : nullptr;
  if (missing == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("model ", model.id(), " has no ", missing, " and cannot encode this corpus"));
}

absl::StatusOr<UnitResult> EncodeUnit(const Model& model, const WorkUnit& unit,
                                      std::vector<DecodedPicture> pictures,
                                      absl::string_view language, const CallContext& call) {
  UnitResult result;
  result.images.resize(unit.pictures.size());
  for (size_t i = 0; i < unit.pictures.size(); ++i) {
    result.images[i].item_id = unit.pictures[i].item.item_id;
  }
  RETURN_IF_ERROR(EncodePictures(model, std::move(pictures), result.images, call));
  std::vector<CaptionItem> captions;
  for (size_t i = 0; i < unit.pictures.size(); ++i) {
    if (!result.images[i].rejected.empty()) continue;
    std::vector<CaptionItem> own = CaptionItemsOf(unit.pictures[i].item, language);
    std::move(own.begin(), own.end(), std::back_inserter(captions));
  }
  RETURN_IF_ERROR(EncodeCaptions(model, captions, result.captions, call));
  return result;
}

}  // namespace sightline
