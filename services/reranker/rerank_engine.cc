#include "services/reranker/rerank_engine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"

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
  const std::shared_ptr<const Model>& model = reranker->model;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Request> shared, ResolveAll(request, model, call));

  // A child of the call: when one pair fails, the others are not worth computing.
  const CallContext child = call.Child();

  std::vector<std::shared_ptr<Outcome<float>>> outcomes;
  absl::Status failed;
  for (const Shared<ItemFeatures>& candidate : shared->candidates) {
    const ScoringPair pair = request.query_is_text ? ScoringPair{&*shared->query, &*candidate}
                                                   : ScoringPair{&*candidate, &*shared->query};
    outcomes.push_back(std::make_shared<Outcome<float>>());
    failed = pairs_.Submit(
        {shared, pair, child, outcomes.back()}, model.get(), model->cross_encoder()->Cost(pair),
        child,
        [outcome = outcomes.back()](absl::Status status) { outcome->Set(std::move(status)); });
    if (!failed.ok()) break;
  }
  RerankResponse response;
  response.score_kind = model->cross_encoder()->score_kind();
  response.reranker = reranker->name;
  for (size_t i = 0; failed.ok() && i < outcomes.size(); ++i) {
    absl::StatusOr<float> score = outcomes[i]->Await(child, "rerank");
    failed = score.status();
    if (score.ok()) response.scores.push_back(*score);
  }
  if (!failed.ok()) {
    child.cancellation()->Cancel();
    return failed;
  }
  return response;
}

absl::StatusOr<Shared<ItemFeatures>> RerankEngine::Resolve(const RerankSide& side, bool is_text,
                                                           const Model& model) const {
  if (const auto* features = std::get_if<Shared<ItemFeatures>>(&side)) return *features;
  if (const auto* stored = std::get_if<StoredRef>(&side)) {
    return Stored(*stored, model);
  }
  if (!is_text) {
    return absl::InvalidArgumentError("a text stands where an image belongs");
  }
  return model.cross_encoder()->PrepareText(std::get<TextQuery>(side).text);
}

// A file system that hangs ends no read; what can be done is to begin no other for a call that is
// over.
absl::StatusOr<std::shared_ptr<const RerankEngine::Request>> RerankEngine::ResolveAll(
    const RerankRequest& request, std::shared_ptr<const Model> model,
    const CallContext& call) const {
  const ReadingRequest reading(&reading_, ReadsFeatures(request));
  RETURN_IF_ERROR(reading.Check(options_.max_reading));
  auto resolved = std::make_shared<Request>();
  resolved->model = std::move(model);
  ASSIGN_OR_RETURN(resolved->query,
                   Resolve(request.query, request.query_is_text, *resolved->model));
  resolved->candidates.reserve(request.candidates.size());
  for (const RerankSide& candidate : request.candidates) {
    RETURN_IF_ERROR(call.Check("read features"));
    ASSIGN_OR_RETURN(Shared<ItemFeatures> features,
                     Resolve(candidate, !request.query_is_text, *resolved->model));
    resolved->candidates.push_back(std::move(features));
  }
  return resolved;
}

absl::StatusOr<ItemFeatures> RerankEngine::Stored(const StoredRef& ref, const Model& model) const {
  ASSIGN_OR_RETURN(auto entry,
                   generations_->Find(ref.target.index, ref.target.generation, ref.target.space));
  const auto store = entry.held->features.find(ref.shard);
  if (store == entry.held->features.end()) {
    return MakeError(reasons::kShardNotHeld,
                     absl::StrCat("no features of shard ", ref.shard, " of index '",
                                  ref.target.index, "' are held by this server"),
                     {{"index", ref.target.index}, {"shard", absl::StrCat(ref.shard)}});
  }
  absl::StatusOr<std::vector<ItemFeatures>> features =
      store->second->Get(model.id(), absl::MakeConstSpan(&ref.row, 1));
  if (!features.ok()) {
    if (IsOfFile(features.status())) {
      generations_->table()->Fail(ref.target.index, ref.target.generation, entry.held.get(),
                                  features.status());
    }
    return AboutStored(features.status(), ref);
  }
  return std::move((*features)[0]);
}

void RerankEngine::ScorePairs(std::vector<PairTask> batch) {
  std::vector<ScoringPair> pairs;
  absl::Time latest = absl::InfinitePast();
  for (const PairTask& task : batch) {
    pairs.push_back(task.pair);
    latest = std::max(latest, task.call.deadline());
  }
  const CallContext call(batch.front().call.clock(), latest);
  const CrossEncoder& encoder = *batch.front().request->model->cross_encoder();
  const absl::StatusOr<std::vector<float>> scores = encoder.Score(pairs, call);
  if (scores.ok()) {
    for (size_t i = 0; i < batch.size(); ++i) batch[i].outcome->Set((*scores)[i]);
    return;
  }
  // One pair's bad features must not fail the strangers in its batch.
  const bool one_by_one =
      batch.size() > 1 && scores.status().code() == absl::StatusCode::kInvalidArgument;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!one_by_one) {
      batch[i].outcome->Set(scores.status());
      continue;
    }
    absl::StatusOr<std::vector<float>> alone =
        encoder.Score(absl::MakeConstSpan(&pairs[i], 1), call);
    if (alone.ok()) {
      batch[i].outcome->Set((*alone)[0]);
    } else {
      batch[i].outcome->Set(alone.status());
    }
  }
}

}  // namespace sightline
