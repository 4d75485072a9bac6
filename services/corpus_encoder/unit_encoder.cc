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

// Fills in the regions of the pictures of `indexes` that were decoded, found by the
// `extractor`-th model in what was decoded for it, which is given up.
absl::Status ExtractRegions(const Model& model, size_t extractor,
                            const std::vector<size_t>& indexes,
                            std::vector<DecodedPicture>& pictures, std::vector<ImageInput>& images,
                            const CallContext& call) {
  std::vector<Pixels> pixels;
  std::vector<ImageInput*> targets;
  for (size_t i = 0; i < indexes.size(); ++i) {
    DecodedPicture& picture = pictures[indexes[i]];
    if (picture.pixels.empty()) continue;
    // A copy: another extractor may be waiting for the same.
    pixels.push_back(*picture.pixels[extractor]);
    picture.pixels[extractor] = nullptr;
    targets.push_back(&images[i]);
  }
  if (pixels.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<RegionSet> regions, model.region_extractor()->Extract(pixels, call));
  for (size_t i = 0; i < targets.size(); ++i) targets[i]->regions = std::move(regions[i]);
  return absl::OkStatus();
}

// What `run` makes of `images`, which are those of `indexes`.  Those that it refuses alone are
// rejected for it, and dropped from both.
template <typename Run>
auto RunWithoutRefused(const Run& run, std::vector<size_t>& indexes,
                       std::vector<ImageInput>& images, std::vector<UnitRow>& rows)
    -> decltype(run(images)) {
  auto result = run(images);
  if (!absl::IsInvalidArgument(result.status())) return result;
  std::vector<size_t> good_indexes;
  std::vector<ImageInput> good_images;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const absl::Status alone = run(absl::MakeConstSpan(&images[i], 1)).status();
    if (alone.ok()) {
      good_indexes.push_back(indexes[i]);
      good_images.push_back(std::move(images[i]));
    } else if (absl::IsInvalidArgument(alone)) {
      rows[indexes[i]].rejected = absl::StrCat("the model refuses it: ", alone.message());
      rows[indexes[i]].embedding.clear();
    } else {
      return alone;
    }
  }
  indexes = std::move(good_indexes);
  images = std::move(good_images);
  return run(images);
}

// As the `place`-th reranker's.
absl::Status FillFeatures(const Model& reranker, size_t place, std::vector<ImageInput>& images,
                          std::vector<size_t>& indexes, std::vector<UnitRow>& rows,
                          const CallContext& call) {
  const auto prepare = [&](absl::Span<const ImageInput> some) {
    return reranker.cross_encoder()->PrepareImages(some, call);
  };
  ASSIGN_OR_RETURN(std::vector<ItemFeatures> features,
                   RunWithoutRefused(prepare, indexes, images, rows));
  if (features.size() != indexes.size()) {
    return absl::InternalError(absl::StrCat("model ", reranker.id(), " prepared ", features.size(),
                                            " of ", indexes.size(), " images"));
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    UnitRow& row = rows[indexes[i]];
    if (row.features.size() <= place) row.features.resize(place + 1);
    row.features[place] = std::move(features[i]);
  }
  return absl::OkStatus();
}

// Of every reranker, the one that encodes first: `images` hold the regions that it has found,
// until another looks for its own.
absl::Status FillAllFeatures(const CorpusModels& models, std::vector<ImageInput>& images,
                             std::vector<size_t>& indexes, std::vector<DecodedPicture>& pictures,
                             std::vector<UnitRow>& rows, const CallContext& call) {
  const std::vector<CorpusModels::Reranker>& rerankers = models.rerankers;
  for (size_t i = 0; i < rerankers.size(); ++i) {
    if (rerankers[i].model != models.encoder) continue;
    RETURN_IF_ERROR(FillFeatures(*rerankers[i].model, i, images, indexes, rows, call));
  }
  size_t extractor = 0;
  for (size_t i = 0; i < rerankers.size(); ++i) {
    const Model& model = *rerankers[i].model;
    if (rerankers[i].model == models.encoder) continue;
    RETURN_IF_ERROR(ExtractRegions(model, ++extractor, indexes, pictures, images, call));
    RETURN_IF_ERROR(FillFeatures(model, i, images, indexes, rows, call));
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
  std::vector<ImageInput> images;
  for (const size_t i : indexes) images.push_back(std::move(pictures[i].image));
  RETURN_IF_ERROR(ExtractRegions(encoder, 0, indexes, pictures, images, call));
  const auto encode = [&](absl::Span<const ImageInput> some) {
    return encoder.image_encoder()->Encode(some, call);
  };
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings,
                   RunWithoutRefused(encode, indexes, images, rows));
  RETURN_IF_ERROR(FillEmbeddings(encoder, embeddings, indexes, rows));
  if (models.rerankers.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(FillAllFeatures(models, images, indexes, pictures, rows, call));
  for (UnitRow& row : rows) {
    if (!row.rejected.empty()) row.features.clear();
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
