#include "loadtest/verdict/capacity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

std::string Rate(double rate) {
  return absl::StrFormat("%.4g requests/s", rate);
}

// What did not hold, or could not be told.
std::string Reasons(const Verdict& verdict) {
  std::vector<std::string> reasons = verdict.doubts;
  for (const Criterion& criterion : verdict.criteria) {
    if (criterion.state == CriterionState::kBroken) {
      reasons.push_back(
          absl::StrCat(criterion.name, " ", criterion.measured, " (", criterion.wanted, ")"));
    } else if (criterion.state == CriterionState::kNotMeasurable) {
      reasons.push_back(absl::StrCat(criterion.name, " not measurable: ", criterion.reason));
    }
  }
  return absl::StrJoin(reasons, "; ");
}

bool WrongAnswers(const Verdict& verdict) {
  return std::any_of(
      verdict.criteria.begin(), verdict.criteria.end(), [](const Criterion& criterion) {
        return criterion.name == kAnswersCriterion && criterion.state == CriterionState::kBroken;
      });
}

absl::optional<absl::Duration> Median(std::vector<absl::Duration> values) {
  if (values.empty()) return absl::nullopt;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The points [begin, end) of one rate as one.
CurvePoint Joined(std::vector<CurvePoint>::const_iterator begin,
                  std::vector<CurvePoint>::const_iterator end) {
  CurvePoint joined;
  std::vector<absl::Duration> p50, p99;
  double windows = 0;
  for (auto point = begin; point != end; ++point) {
    joined.achieved += point->windows * point->achieved;
    joined.error_share += point->windows * point->error_share;
    joined.degraded_share += point->windows * point->degraded_share;
    if (point->measured_recall.has_value()) {
      if (!joined.measured_recall.has_value()) joined.measured_recall.emplace();
      joined.measured_recall->Merge(*point->measured_recall);
    }
    windows += point->windows;
    if (point->p50) p50.push_back(*point->p50);
    if (point->p99) p99.push_back(*point->p99);
  }
  joined.rate = begin->rate;
  joined.achieved /= windows;
  joined.error_share /= windows;
  joined.degraded_share /= windows;
  joined.windows = static_cast<int>(windows);
  joined.p50 = Median(std::move(p50));
  joined.p99 = Median(std::move(p99));
  return joined;
}

class Search {
 public:
  Search(const Scenario& scenario, const MeasureRate& measure)
      : scenario_(scenario), capacity_(*scenario.capacity), measure_(measure) {}

  absl::StatusOr<CapacityResult> Run() {
    ASSIGN_OR_RETURN(const Ruling lowest, JudgeRate(capacity_.lowest));
    if (lowest != Ruling::kPass) return Finished();
    held_ = {capacity_.lowest};
    ASSIGN_OR_RETURN(const Ruling highest, JudgeRate(capacity_.highest));
    if (highest == Ruling::kPass) held_.push_back(capacity_.highest);
    while (!held_.empty()) {
      RETURN_IF_ERROR(Narrow());
      confirming_ = true;
      ASSIGN_OR_RETURN(const Ruling again, JudgeRate(held_.back()));
      confirming_ = false;
      if (again == Ruling::kPass) break;
      held_.pop_back();
    }
    return Finished();
  }

 private:
  // Bisects between the highest rate that held and the lowest that did not.
  absl::Status Narrow() {
    while (broken_ > 0 && broken_ / held_.back() > 1 + capacity_.precision) {
      const double middle = std::sqrt(held_.back() * broken_);
      ASSIGN_OR_RETURN(const Ruling outcome, JudgeRate(middle));
      if (outcome == Ruling::kPass) held_.push_back(middle);
    }
    return absl::OkStatus();
  }

  // By as many windows as it takes.  Of a rate that did not pass, takes note.
  absl::StatusOr<Ruling> JudgeRate(double rate) {
    int passed = 0, failed = 0, inconclusive = 0;
    while (true) {
      ASSIGN_OR_RETURN(const Verdict verdict, Window(rate));
      const bool wrong = WrongAnswers(verdict);
      passed += verdict.outcome == Ruling::kPass;
      failed += verdict.outcome == Ruling::kFail;
      inconclusive += verdict.outcome == Ruling::kInconclusive;
      if (passed == (failed > 0 ? 2 : 1)) return Ruling::kPass;
      if (failed < 2 && !wrong && inconclusive <= kMaxInconclusive) continue;
      broken_ = rate;
      broken_why_ = Reasons(verdict);
      broken_outcome_ = failed == 2 || wrong ? Ruling::kFail : Ruling::kInconclusive;
      return broken_outcome_;
    }
  }

  absl::StatusOr<Verdict> Window(double rate) {
    if (static_cast<int>(result_.steps.size()) == kMaxWindows) {
      return absl::AbortedError(absl::StrCat(
          "no capacity after ", kMaxWindows, " windows, the last at ", Rate(rate),
          "; the fleet is too unsteady: lengthen capacity.window or widen capacity.precision"));
    }
    ASSIGN_OR_RETURN(const LoadResult result,
                     Within(absl::StrCat("at ", Rate(rate)), measure_(rate)));
    CapacityStep step;
    step.point = PointOf(rate, result);
    step.verdict = Judge(result, scenario_);
    step.confirming = confirming_;
    result_.wrong_answers = result_.wrong_answers || WrongAnswers(step.verdict);
    result_.steps.push_back(std::move(step));
    return result_.steps.back().verdict;
  }

  CapacityResult Finished() {
    result_.rate = held_.empty() ? 0 : held_.back();
    result_.broken_rate = broken_;
    if (broken_ == 0) {
      result_.ending = CapacityEnding::kAboveHighest;
      result_.why = absl::StrCat("the highest rate, ", Rate(result_.rate), ", meets the SLO");
    } else if (broken_outcome_ == Ruling::kInconclusive) {
      result_.ending = CapacityEnding::kInconclusive;
      result_.why = absl::StrCat(Rate(broken_), " could not be judged: ", broken_why_);
    } else if (result_.rate == 0) {
      result_.ending = CapacityEnding::kBelowLowest;
      result_.why = absl::StrCat("the lowest rate, ", Rate(capacity_.lowest),
                                 ", does not meet the SLO: ", broken_why_);
    } else {
      result_.ending = CapacityEnding::kFound;
      result_.why = absl::StrCat(Rate(result_.rate), " meets the SLO; ", Rate(broken_),
                                 " does not: ", broken_why_);
    }
    return std::move(result_);
  }

  const Scenario& scenario_;
  const CapacitySpec& capacity_;
  const MeasureRate& measure_;
  std::vector<double> held_;  // rates that met the SLO, ascending
  double broken_ = 0;         // the lowest that did not; 0: none yet
  Ruling broken_outcome_ = Ruling::kFail;
  std::string broken_why_;
  bool confirming_ = false;
  CapacityResult result_;
};

}  // namespace

absl::Duration WindowAt(const CapacitySpec& capacity, const Slo& slo, double rate) {
  double samples = 0;
  for (const auto& [share, limit] : slo.latency) {
    samples = std::max(samples, LatencyHistogram::kSamplesBeyond / (1 - share));
  }
  // Poisson counts stray: three deviations more make a shortage rare.
  const double wanted = (samples + 3 * std::sqrt(samples) + 1) / rate;
  const double window = absl::ToDoubleSeconds(capacity.window);
  return absl::Seconds(std::clamp(wanted, window, window * kMaxStretch));
}

CurvePoint PointOf(double rate, const LoadResult& result) {
  CurvePoint point;
  point.rate = rate;
  const double seconds = absl::ToDoubleSeconds(result.length);
  point.achieved = seconds > 0 ? static_cast<double>(result.total.ok) / seconds : 0;
  point.p50 = result.total.latency.Quantile(0.5);
  point.p99 = result.total.latency.Quantile(0.99);
  point.error_share = result.total.error_share();
  point.degraded_share = result.total.degraded_share();
  point.measured_recall = result.total.measured_recall;
  return point;
}

std::vector<CurvePoint> SaturationCurve(std::vector<CurvePoint> points) {
  std::sort(points.begin(), points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.rate < b.rate; });
  std::vector<CurvePoint> curve;
  for (auto begin = points.cbegin(); begin != points.cend();) {
    const auto end = std::find_if(
        begin, points.cend(), [&](const CurvePoint& point) { return point.rate != begin->rate; });
    curve.push_back(Joined(begin, end));
    begin = end;
  }
  return curve;
}

absl::optional<int> Knee(const std::vector<CurvePoint>& curve) {
  if (static_cast<int>(curve.size()) < kMinKneePoints) return absl::nullopt;
  const auto [low, high] = std::minmax_element(
      curve.begin(), curve.end(),
      [](const CurvePoint& a, const CurvePoint& b) { return a.achieved < b.achieved; });
  const double height = high->achieved - low->achieved;
  const double width = curve.back().rate - curve.front().rate;
  if (!(height > 0) || !(width > 0)) return absl::nullopt;
  const double first = (curve.front().achieved - low->achieved) / height;
  const double last = (curve.back().achieved - low->achieved) / height;
  absl::optional<int> knee;
  double farthest = kMinKneeDistance;
  for (size_t i = 0; i < curve.size(); ++i) {
    const double x = (curve[i].rate - curve.front().rate) / width;
    const double distance =
        (curve[i].achieved - low->achieved) / height - first - x * (last - first);
    if (distance < farthest) continue;
    farthest = distance;
    knee = static_cast<int>(i);
  }
  return knee;
}

const char* CapacityEndingName(CapacityEnding ending) {
  static constexpr const char* kNames[] = {"found", "below lowest", "above highest",
                                           "inconclusive"};
  return kNames[static_cast<int>(ending)];
}

Ruling CapacityResult::outcome() const {
  if (wrong_answers || ending == CapacityEnding::kBelowLowest) return Ruling::kFail;
  return ending == CapacityEnding::kInconclusive ? Ruling::kInconclusive : Ruling::kPass;
}

absl::StatusOr<CapacityResult> FindCapacity(const Scenario& scenario, const MeasureRate& measure) {
  if (!scenario.capacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("scenario '", scenario.name, "' has no section capacity; add one"));
  }
  return Search(scenario, measure).Run();
}

}  // namespace sightline
