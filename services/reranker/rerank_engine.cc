#include "services/reranker/rerank_engine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/batching/run_each.h"
#include "common/batching/task_group.h"
#include "common/bundle/rerankers.h"
#include "common/models/precision/wished.h"

namespace sightline {
namespace {

// What a feature file says of a row, said of the request: a row that is not there is the
// caller's mistake, and a file without this cross-encoder's features is no missing item.
absl::Status AboutStored(const absl::Status& status, const StoredRef& ref) {
  const std::string features = absl::StrCat("features of row ", ref.row, " in shard ", ref.shard,
                                            " of index '", ref.target.index, "'");
  absl::StatusCode code = status.code();
  if (code == absl::StatusCode::kOutOfRange) code = absl::StatusCode::kInvalidArgument;
  if (code == absl::StatusCode::kNotFound) code = absl::StatusCode::kFailedPrecondition;
  if (code == status.code()) return WithPrefix(status, features);
  return absl::Status(code, absl::StrCat(features, ": ", status.message()));
}

// Whether the file is at fault as a whole: another request would fare no better.
bool IsOfFile(const absl::Status& status) {
  return IsFailedRead(status) || HasReason(status, reasons::kChecksumMismatch);
}

bool ReadsFeatures(const RerankRequest& request) {
  const auto is_stored = [](const RerankSide& side) {
    return std::holds_alternative<StoredRef>(side);
  };
  return is_stored(request.query) ||
         std::any_of(request.candidates.begin(), request.candidates.end(), is_stored);
}

// Counts a request while it reads features, if it does.
class ReadingRequest {
 public:
  ReadingRequest(std::atomic<int>* reading, bool reads)
      : reading_(reads ? reading : nullptr), now_(reads ? ++*reading : 0) {}
  ~ReadingRequest() {
    if (reading_ != nullptr) --*reading_;
  }
  ReadingRequest(const ReadingRequest&) = delete;
  ReadingRequest& operator=(const ReadingRequest&) = delete;

  absl::Status Check(int most) const {
    if (now_ <= most) return absl::OkStatus();
    return MakeError(reasons::kReadsBusy,
                     absl::StrCat("the server reads features for ", most,
                                  " requests, as many as it does; try again later"));
  }

 private:
  std::atomic<int>* const reading_;
  const int now_;
};

// The features of what one request names.
class FeatureReader {
 public:
  FeatureReader(GenerationRegistry<RerankGeneration>* generations, const Model& model)
      : generations_(generations), model_(model) {}

  FeatureReader(const FeatureReader&) = delete;
  FeatureReader& operator=(const FeatureReader&) = delete;

  // `held` is what `target` names, which outlives this; so do those that Of is given.
  void Know(const GenerationRef& target, std::shared_ptr<const RerankGeneration> held) {
    known_.emplace_back(&target, std::move(held));
  }

  absl::StatusOr<Shared<ItemFeatures>> Of(const RerankSide& side, bool is_text) {
    if (const auto* features = std::get_if<Shared<ItemFeatures>>(&side)) return *features;
    if (const auto* stored = std::get_if<StoredRef>(&side)) return Stored(*stored);
    if (!is_text) return absl::InvalidArgumentError("a text stands where an image belongs");
    return TextFeatures(model_, std::get<TextQuery>(side).text);
  }

 private:
  // Each target is looked for once, for all of its items, and served though it may be let go of
  // meanwhile.
  absl::StatusOr<std::shared_ptr<const RerankGeneration>> Find(const GenerationRef& target) {
    for (const auto& [other, held] : known_) {
      if (*other == target) return held;
    }
    ASSIGN_OR_RETURN(auto entry, generations_->Find(target.index, target.generation, target.space));
    Know(target, entry.held);
    return entry.held;
  }

  absl::StatusOr<ItemFeatures> Stored(const StoredRef& ref) {
    ASSIGN_OR_RETURN(const auto held, Find(ref.target));
    const auto store = held->features.find(ref.shard);
    if (store == held->features.end()) {
      return MakeError(reasons::kShardNotHeld,
                       absl::StrCat("no features of shard ", ref.shard, " of index '",
                                    ref.target.index, "' are held by this server"),
                       {{"index", ref.target.index}, {"shard", absl::StrCat(ref.shard)}});
    }
    absl::StatusOr<std::vector<ItemFeatures>> features =
        store->second->Get(model_.id(), absl::MakeConstSpan(&ref.row, 1));
    if (features.ok()) return std::move((*features)[0]);
    if (IsOfFile(features.status())) {
      // Where another request has found that out, this one is told as those that come after it.
      RETURN_IF_ERROR(
          generations_->Find(ref.target.index, ref.target.generation, ref.target.space).status());
      generations_->table()->Fail(ref.target.index, ref.target.generation, held.get(),
                                  features.status());
    }
    return AboutStored(features.status(), ref);
  }

  GenerationRegistry<RerankGeneration>* const generations_;
  const Model& model_;
  std::vector<std::pair<const GenerationRef*, std::shared_ptr<const RerankGeneration>>> known_;
};

}  // namespace

RerankEngine::RerankEngine(const RerankEngineOptions& options,
                           GenerationRegistry<RerankGeneration>* generations, Clock* clock)
    : options_(options),
      generations_(generations),
      pairs_(options.batching, clock,
             [this](std::vector<PairTask> batch) { ScorePairs(std::move(batch)); }) {}

absl::StatusOr<RerankResponse> RerankEngine::RerankCandidates(const RerankRequest& request,
                                                              const CallContext& call) {
  RETURN_IF_ERROR(call.Check("rerank"));
  const size_t count = request.candidates.size();
  if (count < 1 || count > static_cast<size_t>(options_.max_candidates)) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         count, " candidates; allowed are 1 to ", options_.max_candidates)),
                     "candidates");
  }
  ASSIGN_OR_RETURN(auto entry, generations_->Find(request.target.index, request.target.generation,
                                                  request.target.space));
  ASSIGN_OR_RETURN(const RerankGeneration::Reranker* const reranker,
                   FindReranker(entry.held->rerankers, request.reranker));
  if (reranker == nullptr) {
    return MakeError(reasons::kNoCrossEncoder,
                     absl::StrCat("index '", request.target.index,
                                  "' has no cross-encoder; it is retrieval only"),
                     {{"index", request.target.index}});
  }
  RETURN_IF_ERROR(CheckPrecision(request.wish, reranker->precision));
  const std::shared_ptr<const Model>& model = reranker->model;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Request> shared,
                   ResolveAll(request, entry.held, model, call));

  TaskGroup<float> scores(call, "rerank");
  for (const Shared<ItemFeatures>& candidate : shared->candidates) {
    const ScoringPair pair = request.query_is_text ? ScoringPair{&*shared->query, &*candidate}
                                                   : ScoringPair{&*candidate, &*shared->query};
    RETURN_IF_ERROR(pairs_.SubmitAwaited({shared, pair, scores.call(), scores.Add()}, model.get(),
                                         model->cross_encoder()->Cost(pair)));
  }
  RerankResponse response;
  response.score_kind = model->cross_encoder()->score_kind();
  response.reranker = reranker->name;
  response.precision = reranker->precision;
  absl::StatusOr<std::vector<float>> all = scores.AwaitAll();
  if (HasReason(all.status(), reasons::kDeviceFailed)) {
    generations_->table()->Fail(request.target.index, request.target.generation, entry.held.get(),
                                all.status());
  }
  ASSIGN_OR_RETURN(response.scores, std::move(all));
  return response;
}

// A file system that hangs ends no read; what can be done is to begin no other for a call that is
// over.
absl::StatusOr<std::shared_ptr<const RerankEngine::Request>> RerankEngine::ResolveAll(
    const RerankRequest& request, std::shared_ptr<const RerankGeneration> held,
    std::shared_ptr<const Model> model, const CallContext& call) const {
  const ReadingRequest reading(&reading_, ReadsFeatures(request));
  RETURN_IF_ERROR(reading.Check(options_.max_reading));
  FeatureReader features(generations_, *model);
  features.Know(request.target, std::move(held));
  auto resolved = std::make_shared<Request>();
  ASSIGN_OR_RETURN(resolved->query, features.Of(request.query, request.query_is_text));
  resolved->candidates.reserve(request.candidates.size());
  for (const RerankSide& candidate : request.candidates) {
    RETURN_IF_ERROR(call.Check("read features"));
    ASSIGN_OR_RETURN(Shared<ItemFeatures> own, features.Of(candidate, !request.query_is_text));
    resolved->candidates.push_back(std::move(own));
  }
  resolved->model = std::move(model);
  return resolved;
}

void RerankEngine::ScorePairs(std::vector<PairTask> batch) {
  std::vector<ScoringPair> pairs;
  for (const PairTask& task : batch) pairs.push_back(task.pair);
  const CrossEncoder& encoder = *batch.front().request->model->cross_encoder();
  const CallContext call = CallOfBatch(batch);
  const auto scores =
      RunEach<float>(absl::MakeConstSpan(pairs),
                     [&](absl::Span<const ScoringPair> some) { return encoder.Score(some, call); });
  for (size_t i = 0; i < batch.size(); ++i) batch[i].outcome->Set(scores[i]);
}

}  // namespace sightline
