#include "services/query_encoder/encode_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"

namespace sightline {
namespace {

// The call that a batch is computed for: alive as long as any of its tasks.
template <typename Task>
CallContext BatchCall(const std::vector<Task*>& tasks) {
  absl::Time latest = absl::InfinitePast();
  for (const Task* task : tasks) latest = std::max(latest, task->call.deadline());
  return CallContext(tasks[0]->call.clock(), latest);
}

template <typename Task>
std::vector<Task*> PointersTo(std::vector<Task>& batch) {
  std::vector<Task*> tasks;
  for (Task& task : batch) tasks.push_back(&task);
  return tasks;
}

std::vector<float> Row(const EmbeddingMatrix& matrix, int64_t i) {
  return std::vector<float>(matrix.row(i).begin(), matrix.row(i).end());
}

// Runs `encode` on a batch; if that fails for one member's fault, each member is tried
// alone, so that nobody pays for a stranger's bad input.
template <typename Task, typename Encode>
void EncodeBatch(const std::vector<Task*>& tasks, const Encode& encode) {
  const absl::Status status = encode(tasks);
  if (status.ok()) return;
  if (tasks.size() == 1 || status.code() != absl::StatusCode::kInvalidArgument) {
    for (Task* task : tasks) task->outcome->Set(status);
    return;
  }
  for (Task* task : tasks) {
    const absl::Status alone = encode({task});
    if (!alone.ok()) task->outcome->Set(alone);
  }
}

}  // namespace

EncodeEngine::EncodeEngine(const EncodeEngineOptions& options,
                           GenerationRegistry<EncoderGeneration>* generations, Clock* clock)
    : options_(options),
      generations_(generations),
      texts_(options.text, clock,
             [this](std::vector<TextTask> batch) { EncodeTexts(std::move(batch)); }),
      images_(options.image, clock,
              [this](std::vector<ImageTask> batch) { EncodeImages(std::move(batch)); }),
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

  const EncoderGeneration::Reranker* reranker = nullptr;
  if (request.want_features) {
    ASSIGN_OR_RETURN(reranker, FindReranker(entry.held->rerankers, request.reranker));
  }
  const Model* const features_for = reranker == nullptr ? nullptr : reranker->model.get();

  // A child of the call: when one query fails, the others are not worth computing.
  const CallContext child = call.Child();

  std::vector<EncodedOutcomePtr> outcomes;
  EncodeResponse response;
  if (reranker != nullptr) response.reranker = reranker->name;
  absl::Status failed;
  for (const EncodableQuery& query : request.queries) {
    outcomes.push_back(std::make_shared<EncodedOutcome>());
    failed = Start(query, entry.held, features_for, child, outcomes.back());
    if (!failed.ok()) break;
  }
  for (int i = 0; failed.ok() && i < count; ++i) {
    absl::StatusOr<Encoded> encoded = outcomes[i]->Await(child, "encode");
    if (!encoded.ok()) {
      failed = encoded.status();
      break;
    }
    if (i == 0) {
      response.embeddings = EmbeddingMatrix(count, static_cast<int>(encoded->embedding.size()));
    }
    std::copy(encoded->embedding.begin(), encoded->embedding.end(),
              response.embeddings.mutable_row(i).begin());
    if (request.want_features) response.features.push_back(std::move(encoded->features));
  }
  if (!failed.ok()) {
    child.cancellation()->Cancel();
    return failed;
  }
  return response;
}

absl::Status EncodeEngine::Start(const EncodableQuery& query,
                                 const std::shared_ptr<const EncoderGeneration>& generation,
                                 const Model* reranker, const CallContext& call,
                                 const EncodedOutcomePtr& outcome) {
  if (const auto* text = std::get_if<TextQuery>(&query)) {
    return StartText(*text, {generation, {}, {}, call, outcome}, reranker);
  }
  if (generation->encoder->image_encoder() == nullptr) {
    return absl::FailedPreconditionError("the index's model does not encode images");
  }
  if (const auto* regions = std::get_if<RegionsQuery>(&query)) {
    // Without regions it would be taken for a picture, which the model may not know.
    if (!regions->image->has_regions()) {
      return absl::InvalidArgumentError("an image without regions; send one at least");
    }
    return StartImage({generation, regions->image, {}, {}, reranker, call, outcome});
  }
  if (generation->encoder->region_extractor() == nullptr) {
    return absl::InvalidArgumentError(
        "the index's model takes precomputed regions, not pictures; send Regions");
  }
  const auto& image = std::get<ImageQuery>(query);
  ASSIGN_OR_RETURN(ImageHeader header, ReadImageHeader(*image.bytes, options_.limits));
  const int64_t megapixels = 1 + int64_t{header.width} * header.height / 1'000'000;
  return decodes_.Submit({generation, image.bytes, reranker, call, outcome}, nullptr, megapixels,
                         call, [outcome](absl::Status status) { outcome->Set(std::move(status)); });
}

absl::Status EncodeEngine::StartText(const TextQuery& query, TextTask task, const Model* reranker) {
  const EncoderGeneration& generation = *task.generation;
  if (generation.encoder->text_encoder() == nullptr) {
    return absl::FailedPreconditionError("the index's model does not encode text");
  }
  ASSIGN_OR_RETURN(task.tokens, generation.encoder->text_encoder()->Tokenize(query.text));
  if (reranker != nullptr) {
    ASSIGN_OR_RETURN(task.features, reranker->cross_encoder()->PrepareText(query.text));
  }
  const int64_t cost = static_cast<int64_t>(task.tokens.ids.size());
  const CallContext call = task.call;
  const EncodedOutcomePtr outcome = task.outcome;
  return texts_.Submit(std::move(task), generation.encoder.get(), cost, call,
                       [outcome](absl::Status status) { outcome->Set(std::move(status)); });
}

absl::Status EncodeEngine::StartImage(ImageTask task) {
  const Model* const encoder = task.generation->encoder.get();
  const CallContext call = task.call;
  const EncodedOutcomePtr outcome = task.outcome;
  return images_.Submit(std::move(task), encoder, 1, call,
                        [outcome](absl::Status status) { outcome->Set(std::move(status)); });
}

void EncodeEngine::DecodeAll(std::vector<DecodeTask> batch) {
  for (DecodeTask& task : batch) {
    absl::StatusOr<Pixels> pixels = DecodeImage(*task.bytes, options_.limits);
    if (!pixels.ok()) {
      task.outcome->Set(pixels.status());
      continue;
    }
    task.bytes = {};  // what follows may wait for long
    ImageTask next{task.generation, {}, {}, {}, task.reranker, task.call, task.outcome};
    // Queued pictures are small ones, whatever was sent.
    const Model& encoder = *task.generation->encoder;
    if (task.reranker != nullptr && task.reranker != &encoder &&
        task.reranker->region_extractor() != nullptr) {
      next.for_reranker.pixels = task.reranker->region_extractor()->Reduce(*pixels);
    }
    next.image.pixels = encoder.region_extractor()->Reduce(*std::move(pixels));
    const absl::Status status = StartImage(std::move(next));
    if (!status.ok()) task.outcome->Set(status);
  }
}

void EncodeEngine::EncodeTexts(std::vector<TextTask> batch) {
  const Model& model = *batch.front().generation->encoder;
  EncodeBatch(PointersTo(batch), [&](const std::vector<TextTask*>& tasks) -> absl::Status {
    std::vector<Tokens> tokens;
    for (TextTask* task : tasks) tokens.push_back(task->tokens);
    ASSIGN_OR_RETURN(EmbeddingMatrix rows, model.text_encoder()->Encode(tokens, BatchCall(tasks)));
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i]->outcome->Set(Encoded{Row(rows, i), std::move(tasks[i]->features)});
    }
    return absl::OkStatus();
  });
}

void EncodeEngine::EncodeImages(std::vector<ImageTask> batch) {
  const Model& model = *batch.front().generation->encoder;
  EncodeBatch(PointersTo(batch), [&](const std::vector<ImageTask*>& tasks) -> absl::Status {
    const CallContext call = BatchCall(tasks);
    RETURN_IF_ERROR(ExtractRegions(model, &ImageTask::image, tasks, call));
    std::vector<ImageInput> inputs;
    for (ImageTask* task : tasks) inputs.push_back(Seen(*task));
    ASSIGN_OR_RETURN(EmbeddingMatrix rows, model.image_encoder()->Encode(inputs, call));
    for (size_t i = 0; i < tasks.size(); ++i) {
      Encoded encoded{Row(rows, i), {}};
      if (tasks[i]->reranker != nullptr) {
        ASSIGN_OR_RETURN(encoded.features, PrepareFeatures(tasks[i], call));
      }
      tasks[i]->outcome->Set(std::move(encoded));
    }
    return absl::OkStatus();
  });
}

// What the task's reranker reads of a picture, made as corpus_encoder makes it.
absl::StatusOr<ItemFeatures> EncodeEngine::PrepareFeatures(ImageTask* task,
                                                           const CallContext& call) {
  const Model& reranker = *task->reranker;
  const ImageInput* seen = &Seen(*task);
  if (!task->for_reranker.pixels.rgb.empty()) {
    RETURN_IF_ERROR(ExtractRegions(reranker, &ImageTask::for_reranker, {task}, call));
    seen = &task->for_reranker;
  }
  ASSIGN_OR_RETURN(std::vector<ItemFeatures> features,
                   reranker.cross_encoder()->PrepareImages(absl::MakeConstSpan(seen, 1), call));
  return std::move(features[0]);
}

// What the encoder sees of a task.
const ImageInput& EncodeEngine::Seen(const ImageTask& task) {
  return task.regions->has_regions() ? *task.regions : task.image;
}

// Gives each task's `image` that has only pixels its regions.
absl::Status EncodeEngine::ExtractRegions(const Model& model, ImageInput ImageTask::*image,
                                          const std::vector<ImageTask*>& tasks,
                                          const CallContext& call) {
  std::vector<Pixels> pictures;
  std::vector<ImageTask*> undetected;
  for (ImageTask* task : tasks) {
    if ((task->*image).has_regions() || (task->*image).pixels.rgb.empty()) continue;
    pictures.push_back(std::move((task->*image).pixels));
    undetected.push_back(task);
  }
  if (pictures.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<RegionSet>> regions =
      model.region_extractor()->Extract(pictures, call);
  for (size_t i = 0; i < undetected.size(); ++i) {
    // The pixels go back: a batch that failed is tried one by one.
    ImageInput& into = undetected[i]->*image;
    into.pixels = std::move(pictures[i]);
    if (regions.ok()) into.regions = std::move((*regions)[i]);
  }
  return regions.status();
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
