#include "loadtest/generate/load_generator.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/loadtest/generate/simulated_clock.h"
#include "tests/loadtest/measure/share_within.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// A server with one worker and an endless queue, in simulated time.
class QueueingServer : public SearchClient {
 public:
  using ServiceTime = std::function<absl::Duration()>;

  QueueingServer(SimulatedClock* clock, ServiceTime service)
      : clock_(clock), service_(std::move(service)), free_at_(clock->Now()) {}

  // Nothing is worked on from `from` to `until`.
  void StallBetween(absl::Time from, absl::Time until) {
    stall_from_ = from;
    stall_until_ = until;
  }

  void SearchItems(const CallContext& call, SearchRequest request,
                   Done<SearchResult> done) override {
    ++asked;
    most_waiting = std::max(most_waiting, ++waiting_);
    absl::Time begin = std::max(clock_->Now(), free_at_);
    if (begin >= stall_from_ && begin < stall_until_) begin = stall_until_;
    free_at_ = begin + service_();
    const bool late = free_at_ > call.deadline();
    clock_->At(std::min(free_at_, call.deadline()), [this, late, request, done = std::move(done)] {
      --waiting_;
      if (late) {
        done(absl::DeadlineExceededError("too slow"));
      } else {
        done(Answer(request));
      }
    });
  }
  void ScorePairs(const CallContext&, ScorePairsRequest, Done<ScorePairsResult>) override {
    FAIL("not asked for");
  }
  void GetItems(const CallContext&, GetItemsRequest, Done<GetItemsResult>) override {
    FAIL("not asked for");
  }

  int64_t asked = 0;
  int64_t most_waiting = 0;
  bool repeats_an_item = false;
  bool reranks = false;  // the first two: the second of them comes first

 private:
  SearchResult Answer(const SearchRequest& request) const {
    SearchResult result;
    result.target = {request.index, "g1", "space"};
    result.shard_count = result.answered_shard_count = 2;
    result.encoder_precision = "float32";
    for (int i = 0; i < request.top_k; ++i) {
      Hit hit;
      hit.item_id = "item" + std::to_string(repeats_an_item ? 0 : i);
      hit.row = i;
      hit.score = hit.retrieval_score = static_cast<float>(1.0 - 0.1 * i);
      result.hits.push_back(hit);
    }
    if (reranks) {
      result.rerank = RerankOutcome::kPartial;
      result.requested_depth = 3;
      result.achieved_depth = 2;
      result.reranker_precision = "int8";
      std::swap(result.hits[0], result.hits[1]);
    }
    return result;
  }

  SimulatedClock* const clock_;
  const ServiceTime service_;
  absl::Time free_at_;
  absl::Time stall_from_ = absl::InfiniteFuture(), stall_until_ = absl::InfiniteFuture();
  int64_t waiting_ = 0;
};

QueueingServer::ServiceTime Always(absl::Duration time) {
  return [time] { return time; };
}

PlannedRequest Plan(int64_t) {
  PlannedRequest planned;
  planned.request.index = "images";
  planned.request.query = TextQuery{"a red fish"};
  planned.request.top_k = 3;
  planned.deadline = absl::Seconds(100);
  return planned;
}

struct Rig {
  explicit Rig(QueueingServer::ServiceTime service, absl::Duration length)
      : server(std::make_shared<QueueingServer>(&clock, std::move(service))),
        start(clock.Now()),
        recorder({{"text"}, absl::ZeroDuration(), length}) {}

  absl::Status Run(Arrivals arrivals) {
    LoadGenerator generator(options, {server}, plan, &recorder, &clock);
    return generator.Run(std::move(arrivals), call);
  }

  SimulatedClock clock;
  std::shared_ptr<QueueingServer> server;
  const absl::Time start;
  Recorder recorder;
  GeneratorOptions options;
  LoadGenerator::PlanRequest plan = Plan;
  CallContext call{&clock, absl::InfiniteFuture()};
};

double Milliseconds(absl::optional<absl::Duration> duration) {
  REQUIRE(duration.has_value());
  return absl::ToDoubleMilliseconds(*duration);
}

TEST_CASE("requests go out when they are due, whatever became of those before") {
  Rig rig(Always(absl::Seconds(1)), absl::Seconds(10));
  REQUIRE(rig.Run(MakeConstantArrivals(50, absl::Seconds(10))).ok());
  const LoadResult result = rig.recorder.Result();
  REQUIRE(result.total.count == 500);
  REQUIRE(rig.server->most_waiting > 480);
  REQUIRE(result.generator.late == 0);
  REQUIRE(result.generator.kept_schedule);
  for (int second = 0; second < 10; ++second) REQUIRE(result.seconds[second].sent == 50);
}

TEST_CASE("latencies of a deterministic server under Poisson load are those of M/D/1") {
  // Mean wait of M/D/1: rho * s / (2 * (1 - rho)) (Pollaczek-Khinchine).
  Rig rig(Always(absl::Milliseconds(7)), absl::Seconds(4000));
  REQUIRE(rig.Run(MakePoissonArrivals(100, absl::Seconds(4000), /*seed=*/3)).ok());
  const LoadResult result = rig.recorder.Result();
  const double rho = 0.7;
  const double mean = 7 + rho * 7 / (2 * (1 - rho));
  REQUIRE(Milliseconds(result.total.latency.mean()) == Approx(mean).epsilon(0.03));
  REQUIRE(Milliseconds(result.total.latency.min()) == Approx(7).epsilon(1e-6));
}

TEST_CASE("percentiles of an exponential server under Poisson load are those of M/M/1") {
  // Time in the system is exponential with mean s / (1 - rho).
  std::mt19937_64 generator(5);
  std::exponential_distribution<double> draw(1.0 / 0.006);
  Rig rig([&] { return absl::Seconds(draw(generator)); }, absl::Seconds(6000));
  REQUIRE(rig.Run(MakePoissonArrivals(100, absl::Seconds(6000), /*seed=*/4)).ok());
  const LoadResult result = rig.recorder.Result();
  const double mean = 6 / (1 - 0.6);
  for (const double share : {0.5, 0.9, 0.99, 0.999}) {
    INFO(share);
    REQUIRE(Milliseconds(result.total.latency.Quantile(share)) ==
            Approx(-std::log(1 - share) * mean).epsilon(share > 0.99 ? 0.12 : 0.05));
  }
}

TEST_CASE("a stall is charged to every request that should have been sent in it") {
  Rig rig(Always(absl::Milliseconds(1)), absl::Seconds(20));
  rig.server->StallBetween(rig.start + absl::Seconds(5), rig.start + absl::Seconds(7));
  REQUIRE(rig.Run(MakeConstantArrivals(100, absl::Seconds(20))).ok());
  const LoadResult result = rig.recorder.Result();
  REQUIRE(result.total.count == 2000);
  // 200 were due in the stall; each waits for its end and for those before it.  The queue
  // of 200 takes 200 ms more, in which 22 further ones come to wait.
  REQUIRE(ShareWithin(result.total.latency, absl::Milliseconds(1)) ==
          Approx((2000.0 - 222) / 2000).margin(0.002));
  REQUIRE(Milliseconds(result.total.latency.max()) == Approx(2001).margin(2));
  REQUIRE(Milliseconds(result.seconds[5].tally.latency.min()) > 1000);
  REQUIRE(Milliseconds(result.seconds[4].tally.latency.max()) == Approx(1).margin(0.01));
}

TEST_CASE("a stall is charged as well when no more may be outstanding") {
  Rig rig(Always(absl::Milliseconds(1)), absl::Seconds(20));
  rig.options.max_outstanding = 10;
  rig.server->StallBetween(rig.start + absl::Seconds(5), rig.start + absl::Seconds(7));
  REQUIRE(rig.Run(MakeConstantArrivals(100, absl::Seconds(20))).ok());
  const LoadResult result = rig.recorder.Result();
  REQUIRE(result.total.count == 2000);
  REQUIRE(rig.server->most_waiting == 10);
  REQUIRE(ShareWithin(result.total.latency, absl::Milliseconds(1)) ==
          Approx((2000.0 - 222) / 2000).margin(0.002));
  REQUIRE_FALSE(result.generator.kept_schedule);
}

TEST_CASE("a request's deadline counts from when it was sent, its latency from when it was due") {
  Rig rig(Always(absl::Milliseconds(10)), absl::Seconds(10));
  rig.options.max_outstanding = 1;
  rig.plan = [](int64_t number) {
    PlannedRequest planned = Plan(number);
    planned.deadline = absl::Milliseconds(15);
    return planned;
  };
  // Twice what the server can take: all are answered in time once sent.
  REQUIRE(rig.Run(MakeConstantArrivals(200, absl::Seconds(1))).ok());
  const LoadResult result = rig.recorder.Result();
  REQUIRE(result.total.ok == 200);
  REQUIRE(Milliseconds(result.total.latency.max()) == Approx(1000).margin(20));
}

TEST_CASE("what came back is recorded and checked") {
  Rig rig(Always(absl::Milliseconds(10)), absl::Seconds(10));
  const std::vector<std::string> known = {"item2"}, unknown = {"item9"};
  rig.plan = [&](int64_t number) {
    PlannedRequest planned = Plan(number);
    planned.known_items = number % 2 == 0 ? known : unknown;
    if (number >= 90) planned.deadline = absl::Milliseconds(5);
    return planned;
  };
  SECTION("answers that are right") {
    REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
    const Tally total = rig.recorder.Result().total;
    REQUIRE(total.count == 100);
    REQUIRE(total.ok == 90);
    REQUIRE(total.codes.at("DEADLINE_EXCEEDED") == 10);
    REQUIRE(total.generations.at("g1") == 90);
    REQUIRE(total.precisions == std::map<std::string, int64_t>{{"encoder float32", 90}});
    REQUIRE(total.known_items_asked == 90);
    REQUIRE(total.known_items_found == 45);
    REQUIRE(total.check_failures.empty());
  }
  SECTION("answers to a filter that is not heard") {
    rig.plan = [](int64_t number) {
      PlannedRequest planned = Plan(number);
      if (number % 2 == 0) planned.request.filter.any = {"sea"};
      return planned;
    };
    REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
    const Tally total = rig.recorder.Result().total;
    REQUIRE(total.efforts == std::map<std::string, int64_t>{{"exact", 100}});
    REQUIRE(total.filtered->answers == 50);
    REQUIRE(total.check_failures == std::map<std::string, int64_t>{{"filter", 50}});
  }
  SECTION("answers that are wrong") {
    rig.server->repeats_an_item = true;
    REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
    REQUIRE(rig.recorder.Result().total.check_failures.at("duplicate") == 90);
  }
  SECTION("no checks, where none are wanted") {
    rig.server->repeats_an_item = true;
    rig.options.check_answers = false;
    REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
    REQUIRE(rig.recorder.Result().total.check_failures.empty());
    REQUIRE(rig.recorder.Result().total.known_items_asked == 0);
  }
}

TEST_CASE("of what was reranked it is told what it was good for") {
  Rig rig(Always(absl::Milliseconds(10)), absl::Seconds(10));
  rig.server->reranks = true;
  rig.options.check_answers = true;
  const std::vector<std::string> first = {"item0"}, second = {"item1"}, third = {"item2"};
  rig.plan = [&](int64_t number) {
    PlannedRequest planned = Plan(number);
    planned.request.top_k = number < 90 ? 3 : 2;  // not all candidates
    planned.known_items = number % 3 == 0 ? first : second;
    if (number == 1) planned.known_items = {};
    if (number == 5) planned.known_items = third;
    return planned;
  };
  REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
  const auto counts = rig.recorder.Result().total.reranked;
  REQUIRE(counts.has_value());
  REQUIRE(counts->answers == 100);
  REQUIRE(counts->in_time == 100);
  REQUIRE(counts->asked == 300);
  REQUIRE(counts->scored == 200);
  REQUIRE(counts->judged == 89);
  REQUIRE(counts->right == 58);
  REQUIRE(counts->retrieved_right == 30);
}

TEST_CASE("answers are compared with exact ones of the same question and generation") {
  Rig rig(Always(absl::Milliseconds(10)), absl::Seconds(10));
  rig.options.check_answers = GENERATE(true, false);
  ExactAnswers exact;
  exact.Add(0, 0, {"g1", {"item2", "item9", "item0"}});
  exact.Add(0, 1, {"g1", {"item9", "item1"}});
  exact.Add(0, 2, {"g0", {"item0"}});
  rig.options.exact_answers = &exact;
  rig.plan = [](int64_t number) {  // the last of four questions has no exact answer
    PlannedRequest planned = Plan(number);
    planned.question = number % 4;
    if (number >= 80) planned.deadline = absl::Milliseconds(5);  // fails
    return planned;
  };
  REQUIRE(rig.Run(MakeConstantArrivals(10, absl::Seconds(10))).ok());
  const Tally total = rig.recorder.Result().total;
  REQUIRE(total.ok == 80);
  REQUIRE(total.measured_recall.has_value());
  REQUIRE(total.measured_recall->answers == 40);
  REQUIRE(total.measured_recall->other_generation == 20);
  REQUIRE(total.measured_recall->nearest == 20 * 3 + 20 * 2);
  REQUIRE(total.measured_recall->found == 20 * 2 + 20 * 1);
  REQUIRE(total.measured_recall->recall() == 0.6);
}

TEST_CASE("a run that is cancelled sends no more and waits for what is under way") {
  Rig rig(Always(absl::Milliseconds(100)), absl::Seconds(10));
  rig.clock.At(rig.start + absl::Milliseconds(1050), [&] { rig.call.cancellation()->Cancel(); });
  const absl::Status status = rig.Run(MakeConstantArrivals(10, absl::Seconds(10)));
  REQUIRE(absl::IsCancelled(status));
  REQUIRE(rig.server->asked == 11);
  REQUIRE(rig.recorder.Result().total.count == 11);
}

TEST_CASE("clients take turns") {
  Rig rig(Always(absl::Milliseconds(1)), absl::Seconds(1));
  const auto other = std::make_shared<QueueingServer>(&rig.clock, Always(absl::Milliseconds(1)));
  LoadGenerator generator(rig.options, {rig.server, other}, Plan, &rig.recorder, &rig.clock);
  REQUIRE(generator.Run(MakeConstantArrivals(100, absl::Seconds(1)), rig.call).ok());
  REQUIRE(rig.server->asked == 50);
  REQUIRE(other->asked == 50);
}

}  // namespace
}  // namespace sightline
