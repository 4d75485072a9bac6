// Arrivals, recorder and histogram together against what queueing theory says of a server
// whose service times are known.  Time is simulated: a server is a number that says until
// when it is busy.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "loadtest/measure/recorder.h"
#include "loadtest/schedule/arrivals.h"
#include "tests/loadtest/measure/share_within.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// One server, first come first served.
class SimulatedServer {
 public:
  // The end of what begins when the server is free, `arrived` at the earliest.
  absl::Duration Serve(absl::Duration arrived, absl::Duration service) {
    free_ = AfterStall(std::max(arrived, free_)) + service;
    return free_;
  }

  void Stall(absl::Duration from, absl::Duration until) {
    stalled_from_ = from;
    stalled_until_ = until;
  }

 private:
  absl::Duration AfterStall(absl::Duration begin) const {
    return begin >= stalled_from_ && begin < stalled_until_ ? stalled_until_ : begin;
  }

  absl::Duration free_;
  absl::Duration stalled_from_, stalled_until_;
};

constexpr absl::Duration kWarmUp = absl::Seconds(50);
constexpr double kRate = 100;

// Runs Poisson arrivals of kRate through one server.
LoadResult Simulate(const std::function<absl::Duration()>& service, absl::Duration length) {
  Recorder recorder({{"text"}, kWarmUp, length});
  const auto arrivals = MakePoissonArrivals(kRate, kWarmUp + length, 20261121);
  SimulatedServer server;
  while (const auto at = arrivals()) {
    Observation observation;
    observation.intended = observation.sent = *at;
    observation.ended = server.Serve(*at, service());
    recorder.Record(observation);
  }
  return recorder.Result();
}

// Within `tolerance`, relative.
void RequireNear(absl::Duration measured, double seconds, double tolerance) {
  INFO("measured " << absl::FormatDuration(measured) << ", theory says " << seconds << " s");
  REQUIRE(absl::ToDoubleSeconds(measured) == Approx(seconds).epsilon(tolerance));
}

// P(waiting time <= t) in M/D/1 (Erlang, 1909): with service time d and load rho,
// (1 - rho) sum over k = 0 .. floor(t / d) of (rate (k d - t))^k / k! e^(-rate (k d - t)).
double WaitsAtMost(double t, double rate, double d) {
  if (t < 0) return 0;
  double sum = 0;
  for (int k = 0; k * d <= t; ++k) {
    const double x = rate * (k * d - t);
    sum += std::pow(x, k) / std::tgamma(k + 1.0) * std::exp(-x);
  }
  return (1 - rate * d) * sum;
}

// Waiting and service, at the quantile `share`.
double TimeInMD1(double share, double rate, double d) {
  double low = 0, high = 20 * d;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (WaitsAtMost(middle, rate, d) < share ? low : high) = middle;
  }
  return high + d;
}

TEST_CASE("M/M/1: time in the system is exponential with mean 1 / (mu - lambda)") {
  for (const double load : {0.3, 0.6, 0.8}) {
    INFO("load " << load);
    const double mean_service = load / kRate;
    std::mt19937_64 engine(7);
    const auto service = [&engine, mean_service] {
      const double uniform = static_cast<double>(engine() >> 11) * 0x1p-53;
      return absl::Seconds(-std::log1p(-uniform) * mean_service);
    };
    const LoadResult result = Simulate(service, absl::Seconds(4000));
    const double mean = 1 / (1 / mean_service - kRate);
    RequireNear(result.total.latency.mean(), mean, 0.03);
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
      INFO("quantile " << share);
      RequireNear(*result.total.latency.Quantile(share), -std::log(1 - share) * mean,
                  share < 0.999 ? 0.05 : 0.1);
    }
  }
}

TEST_CASE("M/D/1: the mean is Pollaczek's and Khinchine's, the quantiles are Erlang's") {
  for (const double load : {0.3, 0.6, 0.8}) {
    INFO("load " << load);
    const double d = load / kRate;
    const LoadResult result = Simulate([d] { return absl::Seconds(d); }, absl::Seconds(4000));
    RequireNear(result.total.latency.mean(), d * (1 + load / (2 * (1 - load))), 0.03);
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
      INFO("quantile " << share);
      RequireNear(*result.total.latency.Quantile(share), TimeInMD1(share, kRate, d),
                  share < 0.999 ? 0.05 : 0.1);
    }
    RequireNear(result.total.latency.min(), d, 1e-9);
    // Who finds the server idle does not wait.
    const double idle = ShareWithin(result.total.latency, absl::Seconds(d));
    REQUIRE(idle == Approx(1 - load).margin(0.02));
  }
}

TEST_CASE("every request is sent once and ends once, and few are under way at half the load") {
  const LoadResult result = Simulate([] { return absl::Milliseconds(5); }, absl::Seconds(200));
  int64_t sent = 0, ended = 0;
  for (const Second& second : result.seconds) {
    sent += second.sent;
    ended += second.ended;
    REQUIRE(second.outstanding >= 1);
    REQUIRE(second.outstanding <= 20);
  }
  REQUIRE(sent == ended);
  REQUIRE(result.intended_rate == Approx(kRate).epsilon(0.03));
}

constexpr absl::Duration kService = absl::Milliseconds(1);
constexpr absl::Duration kStalledFrom = absl::Seconds(10);
constexpr absl::Duration kStalledUntil = absl::Seconds(12);

// A request each ten milliseconds for forty seconds; the server stands still for two.
// `window`: requests under way at once; further ones wait in the generator.
LoadResult SimulateStall(size_t window) {
  Recorder recorder({{"text"}, absl::ZeroDuration(), absl::Seconds(40)});
  const auto arrivals = MakeConstantArrivals(100, absl::Seconds(40));
  SimulatedServer server;
  server.Stall(kStalledFrom, kStalledUntil);
  std::vector<absl::Duration> ends;
  while (const auto at = arrivals()) {
    Observation observation;
    observation.intended = *at;
    observation.sent = ends.size() < window ? *at : std::max(*at, ends[ends.size() - window]);
    observation.ended = server.Serve(observation.sent, kService);
    ends.push_back(observation.ended);
    recorder.Record(observation);
  }
  return recorder.Result();
}

// What each request has to be charged: those that fall into the stall wait for its end and
// for all that were before them, until the server has caught up.
std::vector<absl::Duration> ChargedLatencies() {
  std::vector<absl::Duration> charged;
  absl::Duration free;
  for (int i = 0; i < 4000; ++i) {
    const absl::Duration at = absl::Milliseconds(10 * i);
    absl::Duration begin = std::max(at, free);
    if (begin >= kStalledFrom && begin < kStalledUntil) begin = kStalledUntil;
    free = begin + kService;
    charged.push_back(free - at);
  }
  std::sort(charged.begin(), charged.end());
  return charged;
}

TEST_CASE("a stall is charged to every request that should have been sent in it") {
  const std::vector<absl::Duration> charged = ChargedLatencies();
  // A closed loop of one holds all but one request of the stall back in the generator, and
  // would show one slow answer if latency ran from when it was sent.
  for (const size_t window : {size_t{1}, size_t{8}, size_t{1000}}) {
    INFO("window " << window);
    const LoadResult result = SimulateStall(window);
    REQUIRE(result.total.count == 4000);
    for (const double share : {0.5, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99}) {
      INFO("quantile " << share);
      const auto rank = static_cast<size_t>(std::lround(share * 4000));
      RequireNear(*result.total.latency.Quantile(share), absl::ToDoubleSeconds(charged[rank - 1]),
                  1.0 / 128 + 1e-6);
    }
    REQUIRE(result.total.latency.max() == kStalledUntil - kStalledFrom + kService);
    for (const Second& second : result.seconds) {
      INFO("second " << second.second);
      const bool stalled = second.second == 10 || second.second == 11;
      REQUIRE(second.intended == 100);
      if (stalled) {
        // The first of the second waits the longest.
        REQUIRE(second.tally.latency.max() >= kStalledUntil - absl::Seconds(second.second));
        REQUIRE(second.ended == 0);
      } else {
        REQUIRE(second.tally.latency.max() < absl::Milliseconds(300));
      }
    }
  }
}

TEST_CASE("requests that a full window held back are late, and the schedule is not kept") {
  const LoadResult open = SimulateStall(1000);
  REQUIRE(open.generator.late == 0);
  REQUIRE(open.generator.kept_schedule);
  REQUIRE(open.seconds[11].outstanding == 200);
  const LoadResult closed = SimulateStall(1);
  REQUIRE(closed.generator.late > 200);
  REQUIRE_FALSE(closed.generator.kept_schedule);
  REQUIRE(closed.seconds[11].outstanding == 1);
}

}  // namespace
}  // namespace sightline
