#include "services/query_encoder/encode_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/batching/task_group.h"
#include "common/bundle/rerankers.h"
#include "common/models/precision/wished.h"

namespace sightline {

EncodeEngine::EncodeEngine(const EncodeEngineOptions& options,
                           GenerationRegistry<EncoderGeneration>* generations, Clock* clock)
    : options_(options),
      generations_(generations),
      texts_(options.text, clock,
             [this](std::vector<TextTask> batch) { EncodeTextBatch(std::move(batch)); }),
      images_(options.image, clock,
              [this](std::vector<ImageTask> batch) { EncodeImageBatch(std::move(batch)); }),
      decodes_(options.decode, clock,
               [this](std::vector<DecodeTask> batch) { DecodeAll(std::move(batch)); }) {}

absl::StatusOr<EncodeResponse> EncodeEngine::EncodeQueries(const EncodeRequest& request,
                                                           const CallContext& call) {
  RETURN_IF_ERROR(call.Check("encode"));
  const int count = static_cast<int>(request.queries.size());
  if (count == 0 || count > options_.max_queries) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         count, " queries in one call; allowed are 1 to ", options_.max_queries)),
                     "queries");
  }
  ASSIGN_OR_RETURN(auto entry, generations_->Find(request.target.index, request.target.generation,
                                                  request.target.space));

  RETURN_IF_ERROR(CheckPrecision(request.wish, entry.held->precision));
  const EncoderGeneration::Reranker* reranker = nullptr;
  if (request.want_features) {
    ASSIGN_OR_RETURN(reranker, FindReranker(entry.held->rerankers, request.reranker));
  }
  const Model* const features_for = reranker == nullptr ? nullptr : reranker->model.get();

  TaskGroup<EmbeddedItem> tasks(call, "encode");
  for (const EncodableQuery& query : request.queries) {
    RETURN_IF_ERROR(Start(query, {entry.held, features_for, tasks.call(), tasks.Add()}));
  }
  absl::StatusOr<std::vector<EmbeddedItem>> all = tasks.AwaitAll();
  if (HasReason(all.status(), reasons::kDeviceFailed)) {
    generations_->table()->Fail(request.target.index, request.target.generation, entry.held.get(),
                                all.status());
  }
  ASSIGN_OR_RETURN(std::vector<EmbeddedItem> encoded, std::move(all));

  EncodeResponse response;
  if (reranker != nullptr) response.reranker = reranker->name;
  response.precision = entry.held->precision;
  response.embeddings = EmbeddingMatrix(count, static_cast<int>(encoded[0].embedding.size()));
  for (int i = 0; i < count; ++i) {
    std::copy(encoded[i].embedding.begin(), encoded[i].embedding.end(),
              response.embeddings.mutable_row(i).begin());
    if (!request.want_features) continue;
    response.features.push_back(reranker == nullptr ? ItemFeatures()
                                                    : std::move(encoded[i].features[0]));
  }
  return response;
}

absl::Status EncodeEngine::Start(const EncodableQuery& query, Task task) {
  if (const auto* text = std::get_if<TextQuery>(&query)) return StartText(*text, std::move(task));
  const Model& encoder = *task.generation->encoder;
  if (encoder.image_encoder() == nullptr) {
    return absl::FailedPreconditionError("the index's model does not encode images");
  }
  if (const auto* regions = std::get_if<RegionsQuery>(&query)) {
    // Without regions it would be taken for a picture, which the model may not know.
    if (!regions->image->has_regions()) {
      return absl::InvalidArgumentError("an image without regions; send one at least");
    }
    return StartImage({std::move(task), regions->image, {}});
  }
  if (encoder.region_extractor() == nullptr) {
    return absl::InvalidArgumentError(
        "the index's model takes precomputed regions, not pictures; send Regions");
  }
  const auto& image = std::get<ImageQuery>(query);
  ASSIGN_OR_RETURN(ImageHeader header, ReadImageHeader(*image.bytes, options_.limits));
  const int64_t megapixels = 1 + int64_t{header.width} * header.height / 1'000'000;
  return decodes_.SubmitAwaited({std::move(task), image.bytes}, nullptr, megapixels);
}

absl::Status EncodeEngine::StartText(const TextQuery& query, Task task) {
  const Model& encoder = *task.generation->encoder;
  if (encoder.text_encoder() == nullptr) {
    return absl::FailedPreconditionError("the index's model does not encode text");
  }
  TextTask text{std::move(task), {}, {}};
  ASSIGN_OR_RETURN(text.tokens, encoder.Tokenize(query.text));
  if (text.reranker != nullptr) {
    absl::StatusOr<ItemFeatures> features =
        TextFeaturesFor(*text.reranker, encoder, text.tokens, query.text);
    // What only the reranker refuses can be found, if not reranked: without features the reranker
    // is asked itself, and says why.
    if (!features.ok() && !absl::IsInvalidArgument(features.status())) return features.status();
    text.features.push_back(features.ok() ? *std::move(features) : ItemFeatures());
  }
  const int64_t cost = static_cast<int64_t>(text.tokens.ids.size());
  return texts_.SubmitAwaited(std::move(text), &encoder, cost);
}

absl::Status EncodeEngine::StartImage(ImageTask task) {
  const Model* const encoder = task.generation->encoder.get();
  return images_.SubmitAwaited(std::move(task), encoder, 1);
}

std::vector<const Model*> EncodeEngine::RerankersOf(const Task& task) {
  if (task.reranker == nullptr) return {};
  return {task.reranker};
}

void EncodeEngine::DecodeAll(std::vector<DecodeTask> batch) {
  for (DecodeTask& task : batch) {
    absl::StatusOr<Pixels> pixels = DecodeImage(*task.bytes, options_.limits);
    if (!pixels.ok()) {
      task.outcome->Set(pixels.status());
      continue;
    }
    task.bytes = {};  // what follows may wait for long
    // Queued pictures are small ones, whatever was sent.
    const auto extractors = PictureExtractors(*task.generation->encoder, RerankersOf(task));
    ImageTask next{static_cast<const Task&>(task), {}, {}};
    next.pixels.resize(extractors.size());
    for (size_t i = 1; i < extractors.size(); ++i) {
      if (extractors[i] == nullptr) continue;
      next.pixels[i] = std::make_shared<const Pixels>(extractors[i]->Reduce(*pixels));
    }
    // The encoder, which has one, comes last and is given the picture itself.
    next.pixels[0] = std::make_shared<const Pixels>(extractors[0]->Reduce(*std::move(pixels)));
    const absl::Status status = StartImage(std::move(next));
    if (!status.ok()) task.outcome->Set(status);
  }
}

void EncodeEngine::EncodeTextBatch(std::vector<TextTask> batch) {
  std::vector<Tokens> texts;
  for (TextTask& task : batch) texts.push_back(std::move(task.tokens));
  const Model& encoder = *batch.front().generation->encoder;
  auto encoded = EncodeTexts(encoder, texts, CallOfBatch(batch));
  for (size_t i = 0; i < batch.size(); ++i) {
    if (encoded[i].ok()) {
      batch[i].outcome->Set(EmbeddedItem{*std::move(encoded[i]), std::move(batch[i].features)});
    } else {
      batch[i].outcome->Set(encoded[i].status());
    }
  }
}

void EncodeEngine::EncodeImageBatch(std::vector<ImageTask> batch) {
  std::vector<PictureToEncode> pictures;
  for (ImageTask& task : batch) {
    pictures.push_back(
        {*task.regions, std::move(task.pixels), RerankersOf(task), task.generation->feature_dtype});
  }
  const Model& encoder = *batch.front().generation->encoder;
  auto encoded = EncodePictures(encoder, std::move(pictures), CallOfBatch(batch));
  for (size_t i = 0; i < batch.size(); ++i) batch[i].outcome->Set(std::move(encoded[i]));
}

void EncodeEngine::Drain() {
  decodes_.Drain();
  images_.Drain();
  texts_.Drain();
}

EncodeEngine::Stats EncodeEngine::stats() const {
  return {texts_.stats(), images_.stats(), decodes_.stats()};
}

}  // namespace sightline
