#include "common/retrieval/rerank_pace.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000'000);

absl::Time At(double seconds) {
  return kStart + absl::Seconds(seconds);
}

// Of one request after another, each answered in `each` seconds: 20 candidates.
void Answer(const std::shared_ptr<RerankPace>& pace, double from, double until, double each) {
  for (double t = from; t < until; t += each) {
    RerankShare share = pace->TakeAll(20, At(t));
    share.Answered(20, At(t), At(t + each));
  }
}

TEST_CASE("what nobody has measured cuts nothing") {
  const auto pace = std::make_shared<RerankPace>();
  CHECK(pace->PairsPerSecond(At(0)) == 0);
  CHECK(pace->Take(20, 10, At(0), At(0.001)).pairs() == 20);
  CHECK(pace->Take(0, 10, At(0), At(1)).pairs() == 0);
}

TEST_CASE("the pace is what is answered while there is something to answer") {
  const auto pace = std::make_shared<RerankPace>();
  // A tenth of the time is used.
  for (int i = 0; i < 20; ++i) {
    RerankShare share = pace->TakeAll(20, At(i));
    share.Answered(10, At(i), At(i + 0.05));
    share.Answered(10, At(i), At(i + 0.1));
  }
  CHECK(pace->PairsPerSecond(At(20)) == Approx(200));
}

TEST_CASE("slices that wait for each other are not counted twice") {
  const auto pace = std::make_shared<RerankPace>();
  RerankShare first = pace->TakeAll(10, At(0)), second = pace->TakeAll(10, At(0));
  first.Answered(10, At(0), At(0.1));
  second.Answered(10, At(0), At(0.2));
  CHECK(pace->PairsPerSecond(At(0.2)) == Approx(100));
}

TEST_CASE("a reranker that hung is as fast as it was, once it answers") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);
  { RerankShare lost = pace->TakeAll(20, At(2)); }  // until its deadline
  Answer(pace, 7, 7.1, 0.1);
  CHECK(pace->PairsPerSecond(At(7.1)) == Approx(200));
}

TEST_CASE("a change of pace is known after seconds, and forgotten without answers") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 10, 0.1);
  Answer(pace, 10, 16, 0.4);
  CHECK(pace->PairsPerSecond(At(16)) == Approx(50).epsilon(0.2));
  CHECK(pace->PairsPerSecond(At(25)) > 0);
  CHECK(pace->PairsPerSecond(At(27)) == 0);
  CHECK(pace->Take(20, 10, At(27), At(27.1)).pairs() == 20);
}

TEST_CASE("no more is sent than fits behind what is under way") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);  // 200 a second
  CHECK(pace->Take(5, 10, At(2), At(2.205)).pairs() == 5);
  CHECK(pace->Take(100, 10, At(2), At(2.205)).pairs() == 36);  // 0.9 of 41
  const RerankShare others = pace->TakeAll(20, At(2));
  CHECK(pace->Take(100, 10, At(2), At(2.205)).pairs() == 16);
  CHECK(pace->Take(100, 10, At(2), At(2.1)).pairs() == 0);
  CHECK(pace->Take(100, 10, At(2), absl::InfiniteFuture()).pairs() == 100);
}

TEST_CASE("while nothing is under way some are sent, however slow it was") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 8, 4);  // 5 a second
  CHECK(pace->Take(20, 10, At(8), At(8.5)).pairs() == 10);
  CHECK(pace->Take(7, 10, At(8), At(8.5)).pairs() == 7);
  const RerankShare other = pace->TakeAll(1, At(8));
  CHECK(pace->Take(20, 10, At(8), At(8.5)).pairs() <= 1);
}

TEST_CASE("what a request leaves unanswered is not under way any more") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);
  {
    RerankShare share = pace->TakeAll(20, At(2));
    RerankShare moved = std::move(share);
    moved.Answered(10, At(2), At(2.05));
    CHECK(pace->Take(100, 0, At(2.05), At(2.255)).pairs() == 26);
  }
  CHECK(pace->Take(100, 0, At(2.05), At(2.255)).pairs() == 36);
}

TEST_CASE("each cross-encoder has a pace of its own") {
  RerankPaces paces;
  const auto fast = paces.Of("fast");
  Answer(fast, 0, 2, 0.1);
  CHECK(paces.Of("fast") == fast);
  CHECK(paces.Of("slow")->PairsPerSecond(At(2)) == 0);
  for (int i = 0; i < 1000; ++i) paces.Of(std::to_string(i));
  CHECK(fast->PairsPerSecond(At(2)) > 0);  // whoever has it keeps it
}

// --- the loop: many requests and a reranker, in a time of their own ---

// A server as common/batching makes it: batches of what waits, first come first served, and what
// it cannot come to in three quarters of its time is refused.
struct Server {
  double overhead = 0.008;        // seconds of a batch
  double per_pair = 1.0 / 600.0;  // seconds
  int max_batch = 85;             // candidates
};

struct Outcome {
  double at;
  int taken = 0, scored = 0;
  bool refused = false;
  double took = 0;  // seconds, until the last was scored
};

class Fleet {
 public:
  // Requests of 20 candidates, each with 0.85 s.
  Fleet(const Server& server, std::function<double(double)> per_second)
      : server_(server), per_second_(std::move(per_second)) {}

  std::vector<Outcome> Run(double seconds) {
    events_.push({0, -1});
    while (!events_.empty()) {
      const auto [now, batch] = events_.top();
      events_.pop();
      if (batch < 0) {
        Arrive(now);
        const double next = now + Exponential(per_second_(now));
        if (next < seconds) events_.push({next, -1});
      } else {
        for (const Slice& slice : batches_[batch]) End(slice, now);
        busy_ = false;
      }
      if (!busy_) Begin(now);
    }
    return outcomes_;
  }

 private:
  static constexpr double kTime = 0.85;
  struct Slice {
    size_t request;
    int pairs;
    double sent;
  };

  double Exponential(double per_second) {
    return -std::log((random_() + 1.0) / 4294967297.0) / per_second;
  }

  void Arrive(double now) {
    outcomes_.push_back({now});
    shares_.push_back(std::make_unique<RerankShare>(pace_->Take(20, 10, At(now), At(now + kTime))));
    open_.push_back(0);
    const size_t request = outcomes_.size() - 1;
    int left = outcomes_.back().taken = shares_.back()->pairs();
    for (; left > 0; left -= 10) {
      const int pairs = std::min(left, 10);
      if (waiting_ * server_.per_pair > 0.75 * kTime) {
        outcomes_.back().refused = true;
        break;
      }
      queue_.push_back({request, pairs, now});
      waiting_ += pairs;
      ++open_.back();
    }
    if (open_.back() == 0) shares_.back().reset();
  }

  void Begin(double now) {
    std::vector<Slice> batch;
    int pairs = 0;
    while (!queue_.empty() && pairs + queue_.front().pairs <= server_.max_batch) {
      const Slice slice = queue_.front();
      queue_.pop_front();
      waiting_ -= slice.pairs;
      if (now > outcomes_[slice.request].at + kTime) {
        End(slice, now);
        continue;
      }
      pairs += slice.pairs;
      batch.push_back(slice);
    }
    if (batch.empty()) return;
    busy_ = true;
    batches_.push_back(std::move(batch));
    events_.push(
        {now + server_.overhead + server_.per_pair * pairs, static_cast<int>(batches_.size()) - 1});
  }

  void End(const Slice& slice, double now) {
    Outcome& outcome = outcomes_[slice.request];
    if (now <= outcome.at + kTime && shares_[slice.request] != nullptr) {
      shares_[slice.request]->Answered(slice.pairs, At(slice.sent), At(now));
      outcome.scored += slice.pairs;
      outcome.took = now - outcome.at;
    }
    if (--open_[slice.request] == 0) shares_[slice.request].reset();
  }

  const Server server_;
  const std::function<double(double)> per_second_;
  std::mt19937 random_{7};
  const std::shared_ptr<RerankPace> pace_ = std::make_shared<RerankPace>();
  std::vector<Outcome> outcomes_;
  std::vector<std::unique_ptr<RerankShare>> shares_;
  std::vector<int> open_;  // slices of each request
  std::deque<Slice> queue_;
  int waiting_ = 0;
  bool busy_ = false;
  std::vector<std::vector<Slice>> batches_;
  using Event = std::pair<double, int>;  // when; which batch has ended, or -1: a request
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

struct Summary {
  double mean = 0, deviation = 0;          // of candidates scored
  double full = 0, none = 0, refused = 0;  // parts of all requests
  double slowest = 0;
};

Summary Of(const std::vector<Outcome>& outcomes, double from, double until) {
  Summary summary;
  double squares = 0, count = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.at < from || outcome.at >= until) continue;
    ++count;
    summary.mean += outcome.scored;
    squares += outcome.scored * outcome.scored;
    summary.full += outcome.scored == 20;
    summary.none += outcome.scored == 0;
    summary.refused += outcome.refused;
    summary.slowest = std::max(summary.slowest, outcome.took);
  }
  for (double* part : {&summary.mean, &squares, &summary.full, &summary.none, &summary.refused}) {
    *part /= count;
  }
  summary.deviation = std::sqrt(std::max(0.0, squares - summary.mean * summary.mean));
  return summary;
}

// Requests a second that the server can do whole, in full batches.
double Capacity(const Server& server) {
  return server.max_batch / (server.overhead + server.max_batch * server.per_pair) / 20;
}

TEST_CASE("within capacity nothing is cut") {
  const Server server;
  const double load = 0.7 * Capacity(server);
  const Summary summary = Of(Fleet(server, [&](double) { return load; }).Run(120), 5, 120);
  CHECK(summary.full > 0.99);
  CHECK(summary.refused == 0);
}

TEST_CASE("beyond capacity all is used, everybody has the same, and nothing is late or refused") {
  const double times = GENERATE(1.5, 2.0, 4.0);
  Server server;
  SECTION("as fast as the demo's") {}
  SECTION("a hundred times as fast") {
    server = {0.0005, 1.0 / 60000.0, 256};
  }
  const double load = times * Capacity(server);
  const double length = server.per_pair < 0.001 ? 15 : 120;
  const Summary summary = Of(Fleet(server, [&](double) { return load; }).Run(length), 5, length);
  CAPTURE(times, server.per_pair, summary.mean, summary.deviation);
  CHECK(summary.mean > 0.9 * 20 / times);
  CHECK(summary.deviation < 0.25 * summary.mean);
  CHECK(summary.none < 0.001);
  CHECK(summary.refused == 0);
  CHECK(summary.slowest < 0.85);
}

TEST_CASE("where few requests fill the time, they still share what there is") {
  // 20 candidates take 0.2 s of the 0.85.
  const Server server{0.02, 1.0 / 110.0, 85};
  const double load = 2 * 100.0 / 20;
  const Summary summary = Of(Fleet(server, [&](double) { return load; }).Run(300), 5, 300);
  CHECK(summary.mean > 8);
  CHECK(summary.none < 0.1);
  CHECK(summary.refused == 0);
}

TEST_CASE("the depth follows the load within seconds, and does not swing") {
  const Server server;
  const double capacity = Capacity(server);
  const auto load = [&](double now) { return (now >= 20 && now < 40 ? 2 : 0.5) * capacity; };
  const std::vector<Outcome> outcomes = Fleet(server, load).Run(60);
  CHECK(Of(outcomes, 10, 20).full > 0.99);
  CHECK(Of(outcomes, 20, 22).refused == 0);
  for (double second = 22; second < 40; ++second) {
    CAPTURE(second);
    const Summary summary = Of(outcomes, second, second + 1);
    CHECK(summary.mean > 6);
    CHECK(summary.mean < 15);
    CHECK(summary.none == 0);
  }
  CHECK(Of(outcomes, 42, 60).full > 0.99);
}

}  // namespace
}  // namespace sightline
