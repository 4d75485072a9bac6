// The loop of requests, a pace and servers, in a time of their own.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "common/retrieval/rerank_pace.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1'000'000'000) + absl::Seconds(seconds);
}

// Servers as common/batching makes them: batches of what waits, first come first served, and what
// they cannot come to in three quarters of its time is refused.
struct Servers {
  double overhead = 0.008;        // seconds of a batch
  double per_pair = 1.0 / 600.0;  // seconds
  int max_batch = 85;             // candidates
  int count = 1;
};

// Requests a second that they can do whole, in full batches.
double Capacity(const Servers& servers) {
  const double batch = servers.overhead + servers.max_batch * servers.per_pair;
  return servers.count * servers.max_batch / batch / 20;
}

struct Outcome {
  double at;
  double allowed;  // seconds
  bool whole;
  int taken = 0, scored = 0;
  bool refused = false;
  double took = 0;  // seconds, until the last was scored
};

// Requests of 20 candidates, in slices of 10, each to the server with the least to do.
class Fleet {
 public:
  using Rate = std::function<double(double now)>;  // requests a second

  explicit Fleet(const Servers& servers) : servers_(servers), machines_(servers.count) {}

  // One more request of so many seconds; a `whole` one sends all of its candidates.
  void Ask(double at, double allowed = kAllowed, bool whole = false) {
    events_.push({at, kArrival, allowed, whole});
  }

  // Such requests until `until`, as often as `rate` says.
  void AskOften(const Rate& rate, double until, double allowed = kAllowed, bool whole = false) {
    for (double at = Exponential(rate(0)); at < until; at += Exponential(rate(at))) {
      Ask(at, allowed, whole);
    }
  }

  // All that was asked, in order.
  std::vector<Outcome> Run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.machine == kArrival) {
        Arrive(event);
      } else {
        Machine& machine = machines_[event.machine];
        for (const Slice& slice : std::exchange(machine.batch, {})) End(slice, event.at);
        Begin(event.machine, event.at);
      }
    }
    return outcomes_;
  }

 private:
  static constexpr double kAllowed = 0.85;
  static constexpr int kArrival = -1;
  struct Slice {
    size_t request;
    int pairs;
    double sent;
  };
  struct Machine {
    std::deque<Slice> queue;
    std::vector<Slice> batch;  // under work
    int waiting = 0;           // candidates in the queue
    int pairs = 0;             // of both
  };
  struct Event {
    double at;
    int machine;  // whose batch has ended, or kArrival
    double allowed = 0;
    bool whole = false;
    bool operator>(const Event& other) const { return at > other.at; }
  };

  double Exponential(double per_second) {
    return -std::log((random_() + 1.0) / 4294967297.0) / per_second;
  }

  void Arrive(const Event& event) {
    const double now = event.at;
    const size_t request = outcomes_.size();
    shares_.push_back(std::make_unique<RerankShare>(
        event.whole ? pace_->TakeAll(20) : pace_->Take(20, 10, At(now), At(now + event.allowed))));
    outcomes_.push_back({now, event.allowed, event.whole, shares_.back()->pairs()});
    open_.push_back(0);
    for (int left = outcomes_.back().taken; left > 0; left -= 10) {
      Send({request, std::min(left, 10), now}, now);
      if (outcomes_.back().refused) break;
    }
    if (open_.back() == 0) shares_.back().reset();
  }

  void Send(const Slice& slice, double now) {
    const auto least = [](const Machine& a, const Machine& b) { return a.pairs < b.pairs; };
    const auto machine = std::min_element(machines_.begin(), machines_.end(), least);
    Outcome& outcome = outcomes_[slice.request];
    outcome.refused = machine->waiting * servers_.per_pair > 0.75 * outcome.allowed;
    if (outcome.refused) return;
    shares_[slice.request]->Sent(slice.pairs, At(now));
    machine->queue.push_back(slice);
    machine->waiting += slice.pairs;
    machine->pairs += slice.pairs;
    ++open_[slice.request];
    if (machine->batch.empty()) Begin(static_cast<int>(machine - machines_.begin()), now);
  }

  void Begin(int number, double now) {
    Machine& machine = machines_[number];
    int pairs = 0;
    while (!machine.queue.empty() && pairs + machine.queue.front().pairs <= servers_.max_batch) {
      const Slice slice = machine.queue.front();
      machine.queue.pop_front();
      machine.waiting -= slice.pairs;
      if (Late(slice, now)) {
        End(slice, now);
        continue;
      }
      pairs += slice.pairs;
      machine.batch.push_back(slice);
    }
    machine.pairs = pairs + machine.waiting;
    if (pairs == 0) return;
    events_.push({now + servers_.overhead + servers_.per_pair * pairs, number});
  }

  bool Late(const Slice& slice, double now) const {
    const Outcome& outcome = outcomes_[slice.request];
    return now > outcome.at + outcome.allowed;
  }

  void End(const Slice& slice, double now) {
    Outcome& outcome = outcomes_[slice.request];
    if (!Late(slice, now)) {
      shares_[slice.request]->Answered(slice.pairs, At(slice.sent), At(now));
      outcome.scored += slice.pairs;
      outcome.took = now - outcome.at;
    }
    if (--open_[slice.request] == 0) shares_[slice.request].reset();
  }

  const Servers servers_;
  std::mt19937 random_{7};
  const std::shared_ptr<RerankPace> pace_ = std::make_shared<RerankPace>();
  std::vector<Outcome> outcomes_;
  std::vector<std::unique_ptr<RerankShare>> shares_;
  std::vector<int> open_;  // slices of each request
  std::vector<Machine> machines_;
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

Fleet::Rate Always(double per_second) {
  return [per_second](double) { return per_second; };
}

std::vector<Outcome> Run(const Servers& servers, double seconds, const Fleet::Rate& rate) {
  Fleet fleet(servers);
  fleet.AskOften(rate, seconds);
  return fleet.Run();
}

TEST_CASE("within capacity nothing is cut") {
  Servers servers;
  servers.count = GENERATE(1, 4, 16);
  const double seconds = servers.count > 1 ? 30 : 120;
  const Summary summary = Of(Run(servers, seconds, Always(0.7 * Capacity(servers))), 5, seconds);
  CAPTURE(servers.count, summary.full, summary.mean);
  CHECK(summary.full > 0.99);
  CHECK(summary.refused == 0);
}

TEST_CASE("a rush that can still be served in time is scored whole") {
  // 20 candidates take 0.4 s, so that a few requests are many in the seconds that are remembered.
  const Servers servers{0.02, 1.0 / 52.0, 85};
  const auto [load, full] =
      GENERATE(table<double, double>({{0.5, 0.995}, {0.6, 0.99}, {0.7, 0.96}}));
  Fleet fleet(servers);
  fleet.AskOften(Always(load * Capacity(servers)), 3000, 5);
  const Summary summary = Of(fleet.Run(), 5, 3000);
  CAPTURE(load, summary.full, summary.mean, summary.slowest);
  CHECK(summary.full > full);
  CHECK(summary.slowest < 5);
}

TEST_CASE("beyond capacity all is used, everybody has the same, and nothing is late or refused") {
  const double times = GENERATE(1.5, 2.0, 4.0);
  Servers servers;
  double seconds = 120;
  SECTION("one as fast as the demo's") {}
  SECTION("one a hundred times as fast") {
    servers = {0.0005, 1.0 / 60000.0, 256};
    seconds = 15;
  }
  SECTION("sixteen") {
    servers.count = 16;
    seconds = 30;
  }
  const Summary summary = Of(Run(servers, seconds, Always(times * Capacity(servers))), 5, seconds);
  CAPTURE(times, servers.count, servers.per_pair, summary.mean, summary.deviation, summary.none,
          summary.slowest);
  CHECK(summary.mean > 0.9 * 20 / times);
  CHECK(summary.deviation < 0.25 * summary.mean);
  CHECK(summary.none < 0.001);
  CHECK(summary.refused == 0);
  CHECK(summary.slowest < 0.85);
}

TEST_CASE("where few requests fill the time, they still share what there is") {
  Servers servers{0.02, 1.0 / 110.0, 85};  // 20 candidates take 0.2 s of the 0.85
  servers.count = GENERATE(1, 8);
  const double load = 2 * servers.count * 100.0 / 20;
  const Summary summary = Of(Run(servers, 300, Always(load)), 5, 300);
  CAPTURE(servers.count, summary.mean, summary.none, summary.refused);
  CHECK(summary.mean > 8);
  CHECK(summary.none < 0.1);
  CHECK(summary.refused == 0);
}

TEST_CASE("a burst on servers that have nothing to do is scored whole") {
  const Servers servers{0.02, 1.0 / 110.0, 85, 16};
  Fleet fleet(servers);
  for (int i = 0; i < 10; ++i) fleet.Ask(i);  // one at a time: nobody knows how many can be served
  for (const double burst : {10.0, 12.0, 12.5, 20.0}) {
    for (int i = 0; i < 8; ++i) fleet.Ask(burst + 0.001 * i);
  }
  for (const Outcome& outcome : fleet.Run()) {
    CAPTURE(outcome.at, outcome.taken);
    CHECK(outcome.scored == 20);
  }
}

TEST_CASE("those with much time leave those with little what they need") {
  Servers servers;
  servers.count = GENERATE(1, 4);
  const double capacity = Capacity(servers);
  Fleet fleet(servers);
  fleet.AskOften(Always(1.6 * capacity), 60, 5);
  fleet.AskOften(Always(0.4 * capacity), 60, 0.85);
  std::vector<Outcome> hurried, patient;
  for (const Outcome& outcome : fleet.Run()) {
    (outcome.allowed < 1 ? hurried : patient).push_back(outcome);
  }
  const Summary little = Of(hurried, 10, 60), much = Of(patient, 10, 60);
  CAPTURE(servers.count, little.mean, little.none, much.mean, much.none);
  CHECK(little.mean > 8);
  CHECK(little.none < 0.01);
  CHECK(little.refused == 0);
  CHECK(much.mean > 8);
  CHECK(much.mean < 12);
}

TEST_CASE("those who have hardly any time take nothing from the others") {
  const Servers servers;
  const double capacity = Capacity(servers);
  Fleet fleet(servers);
  fleet.AskOften(Always(1.5 * capacity), 60);
  fleet.AskOften(Always(0.5 * capacity), 60, 0.01);
  std::vector<Outcome> usual;
  for (const Outcome& outcome : fleet.Run()) {
    if (outcome.allowed > 0.5) usual.push_back(outcome);
  }
  const Summary summary = Of(usual, 5, 60);
  CAPTURE(summary.mean, summary.none);
  CHECK(summary.mean > 9);
}

TEST_CASE("what can be cut makes room for what cannot") {
  Servers servers;
  servers.count = GENERATE(1, 4);
  const double capacity = Capacity(servers);
  Fleet fleet(servers);
  fleet.AskOften(Always(1.5 * capacity), 60);
  fleet.AskOften(Always(0.6 * capacity), 60, 0.85, /*whole=*/true);
  std::vector<Outcome> cut, whole;
  for (const Outcome& outcome : fleet.Run()) (outcome.whole ? whole : cut).push_back(outcome);
  const Summary less = Of(cut, 5, 60), all = Of(whole, 5, 60);
  CAPTURE(servers.count, less.mean, less.none, all.full);
  CHECK(less.mean > 0.9 * 20 * 0.4 / 1.5);
  CHECK(less.none < 0.05);
  CHECK(all.full > 0.99);
}

TEST_CASE("a load that lasts is shared by all, however much time they have") {
  const Servers servers{0.02, 1.0 / 52.0, 85};
  const double capacity = Capacity(servers);
  Fleet fleet(servers);
  const auto load = [&](double now) { return (now >= 60 ? 2 : 0.5) * capacity; };
  fleet.AskOften(load, 600, 5);
  const std::vector<Outcome> outcomes = fleet.Run();
  const Summary first = Of(outcomes, 60, 90), later = Of(outcomes, 90, 600);
  CAPTURE(first.mean, first.none, first.refused, later.mean, later.none, later.slowest);
  CHECK(first.mean > 8);
  CHECK(first.none < 0.15);
  CHECK(first.refused < 0.05);
  CHECK(later.mean > 9);
  CHECK(later.none < 0.01);
  CHECK(later.refused == 0);
  CHECK(later.slowest < 5);
}

TEST_CASE("the depth follows the load within seconds, and does not swing") {
  Servers servers;
  servers.count = GENERATE(1, 8);
  const double capacity = Capacity(servers);
  const auto load = [&](double now) { return (now >= 20 && now < 40 ? 2 : 0.5) * capacity; };
  const std::vector<Outcome> outcomes = Run(servers, 60, load);
  CHECK(Of(outcomes, 10, 20).full > 0.99);
  // For a moment nobody knows how many servers there are.
  CHECK(Of(outcomes, 20, 22).refused < 0.1);
  for (double second = 22; second < 40; ++second) {
    CAPTURE(servers.count, second);
    const Summary summary = Of(outcomes, second, second + 1);
    CHECK(summary.mean > 6);
    CHECK(summary.mean < 15);
    CHECK(summary.none == 0);
  }
  CHECK(Of(outcomes, 42, 60).full > 0.99);
}

}  // namespace
}  // namespace sightline
