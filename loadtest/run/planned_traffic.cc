#include "loadtest/run/planned_traffic.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "loadtest/scenario/query_source.h"
#include "loadtest/scenario/seeded_hash.h"
#include "loadtest/schedule/trace.h"
#include "loadtest/verdict/capacity.h"

namespace sightline {
namespace {

constexpr uint64_t kArrivalsOfRound = 0x726f756e64;  // purpose of a hash

// Far apart, so that no two rounds send the same; a prime, so that they do not begin with the
// same query, however many there are.
constexpr int64_t kRequestsOfRound = 2'147'483'659;

// Requests that are made up from the scenario's mix.
class MixTraffic : public PlannedTraffic {
 public:
  MixTraffic(Workload workload, uint64_t seed) : workload_(std::move(workload)), seed_(seed) {}

  const std::vector<std::string>& kinds() const override { return workload_.kinds(); }
  PlannedRequest Make(int round, int64_t number) const override {
    return workload_.Make(round * kRequestsOfRound + number);
  }
  std::vector<PlannedRequest> ExactQuestions() const override { return workload_.ExactQuestions(); }

  Arrivals MakeArrivals(const RunPlan& plan) const override {
    const uint64_t seed = SeededHash(seed_, kArrivalsOfRound, plan.round);
    if (plan.arrivals.kind == ArrivalKind::kConstant) {
      return MakeConstantArrivals(plan.arrivals.rate, plan.whole());
    }
    if (plan.arrivals.kind == ArrivalKind::kRamp) {
      return MakeRampArrivals(
          {plan.arrivals.rate, plan.arrivals.end_rate, plan.warm_up, plan.length}, seed);
    }
    return MakePoissonArrivals(plan.arrivals.rate, plan.whole(), seed);
  }

 private:
  const Workload workload_;
  const uint64_t seed_;
};

// Requests that were recorded, as they were.
class TraceTraffic : public PlannedTraffic {
 public:
  static absl::StatusOr<std::unique_ptr<PlannedTraffic>> Load(const std::string& path) {
    auto traffic = std::make_unique<TraceTraffic>();
    ASSIGN_OR_RETURN(traffic->requests_, ReadTrace(path));
    int64_t picture_bytes = 0;
    for (const TraceRequest& request : traffic->requests_) {
      RETURN_IF_ERROR(traffic->Add(request, &picture_bytes));
    }
    return {std::move(traffic)};
  }

  const std::vector<std::string>& kinds() const override { return kinds_; }
  PlannedRequest Make(int /*round*/, int64_t number) const override { return planned_[number]; }

  Arrivals MakeArrivals(const RunPlan& plan) const override {
    std::vector<absl::Duration> offsets;
    for (const TraceRequest& request : requests_) offsets.push_back(request.at);
    return MakeReplayArrivals(std::move(offsets), plan.arrivals.speed, plan.whole());
  }

 private:
  absl::Status Add(const TraceRequest& request, int64_t* picture_bytes) {
    PlannedRequest planned;
    planned.request = request.request;
    if (!request.image.empty()) {
      ASSIGN_OR_RETURN(std::string bytes, ReadFile(request.image, limits::kMaxImageBytes));
      *picture_bytes += static_cast<int64_t>(bytes.size());
      if (*picture_bytes > kMaxAllPicturesBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the trace's pictures up to ", request.image, " have more than ",
                         kMaxAllPicturesBytes, " bytes; leave some out"));
      }
      planned.request.query = ImageQuery{std::move(bytes)};
    }
    planned.deadline = request.deadline;
    planned.known_items = request.expected;
    const auto kind = std::find(kinds_.begin(), kinds_.end(), request.kind);
    planned.kind = static_cast<int>(kind - kinds_.begin());
    if (kind == kinds_.end()) kinds_.push_back(request.kind);
    planned_.push_back(std::move(planned));
    return absl::OkStatus();
  }

  std::vector<TraceRequest> requests_;  // own what known_items are views of
  std::vector<PlannedRequest> planned_;
  std::vector<std::string> kinds_;
};

}  // namespace

RunPlan PlanOf(const Scenario& scenario) {
  return {scenario.warm_up, scenario.length, scenario.arrivals, /*round=*/0};
}

RunPlan PlanAtRate(const Scenario& scenario, double rate, int round) {
  RunPlan plan = PlanOf(scenario);
  plan.round = round;
  plan.warm_up = scenario.capacity->settle;
  plan.length = WindowAt(*scenario.capacity, scenario.slo, rate);
  plan.arrivals.rate = rate;
  return plan;
}

absl::StatusOr<std::unique_ptr<PlannedTraffic>> PlannedTraffic::Load(
    const Scenario& scenario, const Workload::ListItems& list_items) {
  if (scenario.arrivals.kind == ArrivalKind::kReplay) {
    return TraceTraffic::Load(scenario.arrivals.trace);
  }
  ASSIGN_OR_RETURN(Workload workload, Workload::Load(scenario, list_items));
  return {std::make_unique<MixTraffic>(std::move(workload), scenario.seed)};
}

}  // namespace sightline
