#include "services/corpus_encoder/unit_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"
#include "common/embedding/embedding_matrix.h"
#include "common/models/item_encoder.h"

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

// Gives the row what was made of its item, or rejects it for that.
void Fill(EmbeddedItem made, UnitRow* row) {
  row->rejected = ProblemOf(made.embedding);
  if (!row->rejected.empty()) return;
  row->embedding = std::move(made.embedding);
  row->features = std::move(made.features);
}

// For what a model said of the row's item, with `kind` before it; `why`, if the item is not to
// blame.
absl::Status Reject(absl::string_view kind, const absl::Status& why, UnitRow* row) {
  if (!absl::IsInvalidArgument(why)) return why;
  row->rejected = absl::StrCat(kind, why.message());
  return absl::OkStatus();
}

absl::Status FillPictures(const CorpusModels& models, std::vector<DecodedPicture> pictures,
                          std::vector<UnitRow>& rows, const CallContext& call) {
  const std::vector<const Model*> rerankers = models.reranker_models();
  std::vector<size_t> indexes;
  std::vector<PictureToEncode> readable;
  for (size_t i = 0; i < pictures.size(); ++i) {
    DecodedPicture& picture = pictures[i];
    rows[i].rejected = std::move(picture.problem);
    rows[i].may_pass = picture.may_pass;
    if (!rows[i].rejected.empty()) continue;
    indexes.push_back(i);
    readable.push_back(
        {std::move(picture.image), std::move(picture.pixels), rerankers, models.feature_dtype});
  }
  auto encoded = EncodePictures(*models.encoder, std::move(readable), call);
  for (size_t i = 0; i < indexes.size(); ++i) {
    UnitRow* const row = &rows[indexes[i]];
    if (encoded[i].ok()) {
      Fill(*std::move(encoded[i]), row);
    } else {
      RETURN_IF_ERROR(Reject("the model refuses it: ", encoded[i].status(), row));
    }
  }
  return absl::OkStatus();
}

// A caption as the encoder reads it, and what the rerankers need of it.
struct ReadCaption {
  Tokens tokens;
  std::vector<ItemFeatures> features;
};

absl::StatusOr<ReadCaption> Read(const CorpusModels& models, absl::string_view text) {
  ReadCaption read;
  ASSIGN_OR_RETURN(read.tokens, models.encoder->Tokenize(text));
  for (const Model* reranker : models.reranker_models()) {
    ASSIGN_OR_RETURN(read.features.emplace_back(),
                     TextFeaturesFor(*reranker, *models.encoder, read.tokens, text));
  }
  return read;
}

absl::Status FillCaptions(const CorpusModels& models, const std::vector<CaptionItem>& captions,
                          std::vector<UnitRow>& rows, const CallContext& call) {
  constexpr absl::string_view kKind = "caption: ";
  std::vector<size_t> indexes;
  std::vector<Tokens> texts;
  std::vector<std::vector<ItemFeatures>> features;
  for (const CaptionItem& caption : captions) {
    rows.emplace_back().item_id = caption.item_id;
    absl::StatusOr<ReadCaption> read = Read(models, caption.text);
    if (!read.ok()) {
      RETURN_IF_ERROR(Reject(kKind, read.status(), &rows.back()));
      continue;
    }
    indexes.push_back(rows.size() - 1);
    texts.push_back(std::move(read->tokens));
    features.push_back(std::move(read->features));
  }
  auto encoded = EncodeTexts(*models.encoder, texts, call);
  for (size_t i = 0; i < indexes.size(); ++i) {
    UnitRow* const row = &rows[indexes[i]];
    if (encoded[i].ok()) {
      Fill({*std::move(encoded[i]), std::move(features[i])}, row);
    } else {
      RETURN_IF_ERROR(Reject(kKind, encoded[i].status(), row));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<const Model*> CorpusModels::reranker_models() const {
  std::vector<const Model*> models;
  for (const Reranker& reranker : rerankers) models.push_back(reranker.model.get());
  return models;
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
  const char* missing = encoder.text_encoder() == nullptr    ? "text encoder"
                        : encoder.image_encoder() == nullptr ? "image encoder"
                                                             : nullptr;
  if (missing != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "model ", encoder.id(), " has no ", missing, " and cannot encode this corpus",
        encoder.cross_encoder() == nullptr
            ? ""
            : "; it only reranks: name it as a reranker, beside a model that encodes"));
  }
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    if (reranker.model->cross_encoder() != nullptr) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "model ", reranker.model->id(), " has no cross-encoder and cannot rerank this corpus"));
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
  RETURN_IF_ERROR(FillPictures(models, std::move(pictures), result.images, call));
  std::vector<CaptionItem> captions;
  for (size_t i = 0; i < unit.pictures.size(); ++i) {
    if (!result.images[i].rejected.empty()) continue;
    std::vector<CaptionItem> own = CaptionItemsOf(unit.pictures[i].item, language);
    std::move(own.begin(), own.end(), std::back_inserter(captions));
  }
  RETURN_IF_ERROR(FillCaptions(models, captions, result.captions, call));
  return result;
}

}  // namespace sightline
