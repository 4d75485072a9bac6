#include "loadtest/generate/load_generator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "loadtest/measure/answer_checks.h"

namespace sightline {
namespace {

bool WasToBeReranked(const SearchResult& result) {
  return result.rerank == RerankOutcome::kComplete || result.rerank == RerankOutcome::kPartial ||
         result.rerank == RerankOutcome::kFailed;
}

// What the checks look at: all of a request but a picture, which may have megabytes.
SearchRequest WithoutPicture(const SearchRequest& request) {
  SearchRequest light;
  light.index = request.index;
  light.top_k = request.top_k;
  light.depth = request.depth;
  light.combination = request.combination;
  light.want_records = request.want_records;
  light.filter = request.filter;
  if (const auto* item = std::get_if<ItemQuery>(&request.query)) light.query = *item;
  return light;
}

// As an observation has them.
std::vector<std::string> Precisions(const SearchResult& result) {
  std::vector<std::string> precisions;
  const auto add = [&precisions](const char* of, const std::string& precision) {
    if (!precision.empty()) precisions.push_back(absl::StrCat(of, " ", precision));
  };
  add("encoder", result.encoder_precision);
  add("reranker", result.reranker_precision);
  return precisions;
}

// As an observation has it: to two digits, so that efforts which are lowered a little more or less
// do not make a line each.
std::string EffortName(const SearchEffort& effort) {
  const std::string name = effort.exact        ? "exact"
                           : effort.recall > 0 ? absl::StrFormat("recall %.2f", effort.recall)
                                               : "recall not measured";
  return effort.reduced ? absl::StrCat(name, " reduced") : name;
}

void CompareWith(const ExactAnswer& exact, const SearchResult& result, Observation* observation) {
  observation->exact_answer_known = true;
  if (result.target.generation != exact.generation) return;
  observation->nearest_items = static_cast<int>(exact.nearest.size());
  observation->nearest_found = NearestFound(exact.nearest, result.hits);
}

// More than that is no number of items, and sums of it would not fit.
constexpr int64_t kMostItems = 1'000'000'000;

}  // namespace

struct LoadGenerator::Flight {
  absl::Time start;  // of the run
  Observation observation;
  absl::Duration deadline;  // since the run's start
  absl::Duration due;       // likewise, had it been sent when it was meant to be
  absl::Span<const std::string> known_items;
  const ExactAnswer* exact_answer = nullptr;
  SearchRequest request;
};

LoadGenerator::LoadGenerator(const GeneratorOptions& options,
                             std::vector<std::shared_ptr<SearchClient>> clients, PlanRequest plan,
                             Recorder* recorder, Clock* clock)
    : options_(options),
      clients_(std::move(clients)),
      plan_(std::move(plan)),
      recorder_(recorder),
      clock_(clock) {}

absl::Status LoadGenerator::Run(Arrivals arrivals, const CallContext& call) {
  const absl::Time start = clock_->Now();
  // Woken early when cancelled.  The generator may be gone by then, so the callback holds
  // what it wakes.
  struct Waker {
    explicit Waker(LoadGenerator* woken) : generator(woken) {}
    Mutex mutex;                                 // taken before the generator's
    LoadGenerator* generator GUARDED_BY(mutex);  // null once it may be gone
  };
  const auto waker = std::make_shared<Waker>(this);
  const auto waking = call.cancellation()->OnCancel([waker] {
    MutexLock lock(waker->mutex);
    if (waker->generator == nullptr) return;
    MutexLock wake(waker->generator->mutex_);
    waker->generator->changed_.NotifyAll();
  });

  absl::Status status;
  for (int64_t number = 0; absl::optional<absl::Duration> at = arrivals(); ++number) {
    if (!AwaitTurn(start + *at, call)) {
      status = call.Check("generating load");
      break;
    }
    Send(number, start, *at);
  }
  AwaitAnswers();
  MutexLock lock(waker->mutex);
  waker->generator = nullptr;
  return status;
}

// Takes a place among the outstanding.  False when the call has ended.
bool LoadGenerator::AwaitTurn(absl::Time turn, const CallContext& call) {
  MutexLock lock(mutex_);
  while (!call.cancelled() && clock_->Now() < turn) clock_->WaitUntil(changed_, mutex_, turn);
  while (!call.cancelled() && outstanding_ >= options_.max_outstanding) {
    waits_for_room_ = true;
    clock_->WaitUntil(changed_, mutex_, absl::InfiniteFuture());
  }
  waits_for_room_ = false;
  if (call.cancelled()) return false;
  ++outstanding_;
  return true;
}

void LoadGenerator::Send(int64_t number, absl::Time start, absl::Duration intended) {
  PlannedRequest planned = plan_(number);
  auto flight = std::make_shared<Flight>();
  flight->start = start;
  flight->observation.intended = intended;
  flight->observation.kind = planned.kind;
  flight->observation.filtered = !planned.request.filter.empty();
  flight->known_items = planned.known_items;
  if (options_.exact_answers != nullptr) {
    flight->exact_answer = options_.exact_answers->Find(planned.kind, planned.question);
  }
  if (options_.check_answers) flight->request = WithoutPicture(planned.request);

  const absl::Time now = clock_->Now();
  flight->observation.sent = now - start;
  flight->deadline = flight->observation.sent + planned.deadline;
  flight->due = intended + planned.deadline;
  SearchClient* const client = clients_[number % clients_.size()].get();
  client->SearchItems(CallContext(clock_, now + planned.deadline), std::move(planned.request),
                      [this, flight = std::move(flight)](absl::StatusOr<SearchResult> result) {
                        End(flight.get(), result);
                      });
}

void LoadGenerator::End(Flight* flight, const absl::StatusOr<SearchResult>& result) {
  Observation& observation = flight->observation;
  observation.ended = clock_->Now() - flight->start;
  observation.code = result.status().code();
  if (result.ok()) {
    observation.generation = result->target.generation;
    observation.precisions = Precisions(*result);
    observation.effort = EffortName(result->effort);
    observation.matched_items = std::min(result->matched_item_count, kMostItems);
    observation.shard_count = result->shard_count;
    observation.answered_shard_count = result->answered_shard_count;
    observation.degraded = result->degraded;
    observation.times = result->times;
    if (WasToBeReranked(*result)) {
      // An index that has fewer was asked for those.
      observation.asked_depth = result->rerank == RerankOutcome::kComplete
                                    ? result->achieved_depth
                                    : result->requested_depth;
      observation.scored_depth = result->achieved_depth;
    }
    observation.in_time = observation.ended <= flight->due;
    if (flight->exact_answer != nullptr) {
      CompareWith(*flight->exact_answer, *result, &observation);
    }
    if (options_.check_answers) {
      observation.known_item_asked = !flight->known_items.empty();
      observation.known_item_found = AnyAmong(flight->known_items, result->hits);
      // What retrieval found first may have been reranked to anywhere among the candidates.
      observation.first_judged = observation.known_item_asked && WasToBeReranked(*result) &&
                                 flight->request.top_k >= result->requested_depth;
      if (observation.first_judged) {
        observation.first_right = FirstAmong(flight->known_items, result->hits);
        observation.first_retrieved_right = FirstRetrievedAmong(flight->known_items, result->hits);
      }
      observation.failures =
          CheckAnswer(flight->request, *result, observation.ended, flight->deadline);
    }
  }
  recorder_->Record(observation);

  MutexLock lock(mutex_);
  --outstanding_;
  // Nothing of the generator is touched once the lock is released: it may be gone.
  if (waits_for_room_ || (waits_for_end_ && outstanding_ == 0)) changed_.NotifyAll();
}

void LoadGenerator::AwaitAnswers() {
  MutexLock lock(mutex_);
  waits_for_end_ = true;
  while (outstanding_ > 0) clock_->WaitUntil(changed_, mutex_, absl::InfiniteFuture());
}

}  // namespace sightline
