#include "loadtest/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/command.h"
#include "loadtest/measure/recorder.h"

namespace sightline {
namespace {

Criterion NotMeasurable(std::string name, std::string wanted, std::string reason) {
  return {std::move(name), std::move(wanted), "", CriterionState::kNotMeasurable,
          std::move(reason)};
}

Criterion Measured(std::string name, std::string wanted, std::string measured, bool held) {
  return {std::move(name), std::move(wanted), std::move(measured),
          held ? CriterionState::kHeld : CriterionState::kBroken, ""};
}

// ---- answers ----

// Failures of checks by name.  Seconds tell of the warm-up, which the total leaves out.
std::map<std::string, int64_t> CheckFailures(const LoadResult& result) {
  std::map<std::string, int64_t> in_seconds;
  for (const Second& second : result.seconds) {
    for (const auto& [name, count] : second.tally.check_failures) in_seconds[name] += count;
  }
  std::map<std::string, int64_t> failures = result.total.check_failures;
  for (const auto& [name, count] : in_seconds) {
    failures[name] = std::max(failures[name], count);
  }
  return failures;
}

Criterion JudgeAnswers(const LoadResult& result) {
  std::vector<std::string> wrong;
  for (const auto& [name, count] : CheckFailures(result)) {
    if (count > 0 && name != kLateAnswer) wrong.push_back(absl::StrCat(count, " ", name));
  }
  if (wrong.empty() && result.total.ok == 0) {
    return NotMeasurable("answers", "none wrong", "no request was answered");
  }
  return Measured("answers", "none wrong",
                  wrong.empty() ? absl::StrCat("none of ", result.total.ok, " wrong")
                                : absl::StrJoin(wrong, ", "),
                  wrong.empty());
}

// ---- the slo ----

Criterion JudgeLatency(const LatencyHistogram& latency, double share, absl::Duration limit) {
  const std::string name = absl::StrFormat("latency p%g", share * 100);
  const std::string wanted = absl::StrCat("at most ", absl::FormatDuration(limit));
  const absl::optional<absl::Duration> quantile = latency.Quantile(share);
  if (quantile) return Measured(name, wanted, FormatLatency(*quantile), *quantile <= limit);
  const double needed = static_cast<double>(LatencyHistogram::kSamplesBeyond) / (1 - share);
  return NotMeasurable(
      name, wanted,
      absl::StrFormat("fewer than %d of %d samples lie beyond it; about %.0f are needed: "
                      "run longer or at a higher rate",
                      LatencyHistogram::kSamplesBeyond, latency.count(), std::ceil(needed)));
}

Criterion AtMost(const char* name, double measured, double limit) {
  return Measured(name, absl::StrCat("at most ", FormatShare(limit)), FormatShare(measured),
                  measured <= limit);
}

Criterion AtLeast(const char* name, double measured, double limit) {
  return Measured(name, absl::StrCat("at least ", FormatShare(limit)), FormatShare(measured),
                  measured >= limit);
}

Criterion OfAnswers(const Tally& total, Criterion criterion) {
  if (total.ok > 0) return criterion;
  return NotMeasurable(criterion.name, criterion.wanted, "no request was answered");
}

void JudgeRecall(const Tally& total, double limit, std::vector<Criterion>* criteria) {
  Criterion criterion = AtLeast("recall of known items", total.recall(), limit);
  if (total.known_items_asked == 0) {
    criterion = NotMeasurable(criterion.name, criterion.wanted,
                              total.ok == 0 ? "no request was answered"
                                            : "no query has known items; use questions (*.jsonl)");
  }
  criteria->push_back(std::move(criterion));
}

void JudgeDepth(const Tally& total, double limit, std::vector<Criterion>* criteria) {
  Criterion criterion = AtLeast("depth of reranking", total.depth_share(), limit);
  if (!total.reranked.has_value()) {
    criterion =
        NotMeasurable(criterion.name, criterion.wanted,
                      total.ok == 0 ? "no request was answered" : "no answer was to be reranked");
  }
  criteria->push_back(std::move(criterion));
}

// Of each entry by itself: what one misses, another does not make good.
void JudgeMeasuredRecall(const LoadResult& result, const Scenario& scenario,
                         std::vector<Criterion>* criteria) {
  for (const MixEntry& entry : scenario.mix) {
    if (entry.measure_recall == 0) continue;
    const auto found = result.by_kind.find(entry.name);
    const Tally tally = found == result.by_kind.end() ? Tally() : found->second;
    const RecallCounts counts = tally.measured_recall.value_or(RecallCounts());
    Criterion criterion = AtLeast("", counts.recall(), *scenario.slo.min_measured_recall);
    criterion.name = absl::StrCat("measured recall of ", entry.name);
    if (counts.answers == 0) {
      criterion = NotMeasurable(
          criterion.name, criterion.wanted,
          tally.ok == 0 ? "no request was answered"
          : counts.other_generation > 0
              ? "every answer is of another generation than the exact ones"
              : "no answer is to a question of which the exact answer is known; run longer");
    }
    criteria->push_back(std::move(criterion));
  }
}

void JudgeSlo(const LoadResult& result, const Scenario& scenario,
              std::vector<Criterion>* criteria) {
  const Slo& slo = scenario.slo;
  const Tally& total = result.total;
  for (const auto& [share, limit] : slo.latency) {
    criteria->push_back(JudgeLatency(total.latency, share, limit));
  }
  if (slo.max_error_share) {
    criteria->push_back(AtMost("failed requests", total.error_share(), *slo.max_error_share));
  }
  if (slo.max_degraded_share) {
    criteria->push_back(OfAnswers(
        total, AtMost("degraded answers", total.degraded_share(), *slo.max_degraded_share)));
  }
  if (slo.min_coverage) {
    criteria->push_back(
        OfAnswers(total, AtLeast("coverage of shards", total.coverage(), *slo.min_coverage)));
  }
  if (slo.min_depth_share) JudgeDepth(total, *slo.min_depth_share, criteria);
  if (slo.min_recall) JudgeRecall(total, *slo.min_recall, criteria);
  if (slo.min_measured_recall) JudgeMeasuredRecall(result, scenario, criteria);
}

// ---- faults ----

// When all was whole again, since the run's start.
absl::Duration WholeAt(const FaultMark& mark) {
  return std::max(mark.at, mark.ended) + mark.whole_again;
}

int64_t FailuresAround(const std::vector<Second>& seconds, const FaultMark& mark) {
  int64_t failures = 0;
  for (const Second& second : seconds) {
    if (absl::Seconds(second.second + 1) <= mark.at) continue;
    const absl::Duration start = absl::Seconds(second.second);
    if (start > mark.at && start >= WholeAt(mark)) continue;
    failures += second.tally.failed();
  }
  return failures;
}

std::vector<Criterion> JudgeFault(const LoadResult& result, const FaultSpec& spec,
                                  const FaultMark& mark) {
  std::vector<Criterion> criteria;
  if (spec.max_failures) {
    const int64_t failures = FailuresAround(result.seconds, mark);
    criteria.push_back(Measured(absl::StrCat(mark.name, ": failed requests"),
                                absl::StrCat("at most ", *spec.max_failures),
                                absl::StrCat(failures), failures <= *spec.max_failures));
  }
  if (spec.whole_within) {
    const bool ever = mark.whole_again != absl::InfiniteDuration();
    criteria.push_back(Measured(absl::StrCat(mark.name, ": whole again"),
                                absl::StrCat("within ", absl::FormatDuration(*spec.whole_within)),
                                ever ? FormatLatency(mark.whole_again) : "not within the run",
                                mark.whole_again <= *spec.whole_within));
  }
  return criteria;
}

std::string Expectation(const FaultMark& mark, const Criterion& broken) {
  return absl::StrCat(broken.name.substr(mark.name.size() + 2), ": wanted ", broken.wanted,
                      ", measured ", broken.measured);
}

// What others have found to be wrong with a fault and `criteria` do not say.
void AddOtherProblems(const FaultMark& mark, std::vector<Criterion>* criteria) {
  std::vector<std::string> said;
  for (const Criterion& criterion : *criteria) said.push_back(Expectation(mark, criterion));
  for (const std::string& problem : mark.failed_expectations) {
    if (std::find(said.begin(), said.end(), problem) != said.end()) continue;
    criteria->push_back(Measured(mark.name, "what was expected", problem, /*held=*/false));
  }
}

void JudgeFaults(const LoadResult& result, const std::vector<FaultSpec>& specs,
                 std::vector<Criterion>* criteria) {
  for (size_t i = 0; i < std::max(specs.size(), result.faults.size()); ++i) {
    if (i >= result.faults.size()) {
      criteria->push_back(
          NotMeasurable(absl::StrCat(FaultKindName(specs[i].kind), " ", specs[i].target), "done",
                        "it was not; the run ended before, or the fleet could not be reached"));
      continue;
    }
    const FaultSpec spec = i < specs.size() ? specs[i] : FaultSpec();
    std::vector<Criterion> of_fault = JudgeFault(result, spec, result.faults[i]);
    AddOtherProblems(result.faults[i], &of_fault);
    criteria->insert(criteria->end(), of_fault.begin(), of_fault.end());
  }
}

// Whether something was done to the fleet in any part of the second.
bool InFault(const Second& second, const LoadResult& result, const std::vector<FaultSpec>& specs) {
  const absl::Duration start = absl::Seconds(second.second);
  for (size_t i = 0; i < result.faults.size(); ++i) {
    const FaultMark& mark = result.faults[i];
    const bool for_good = i < specs.size() && specs[i].for_good();
    if (start + absl::Seconds(1) > mark.at && (for_good || start < mark.ended)) return true;
  }
  return false;
}

void JudgeP99Ratio(const LoadResult& result, const Scenario& scenario,
                   std::vector<Criterion>* criteria) {
  const char* const name = "latency p99 in faults over that outside";
  const double limit = *scenario.slo.max_p99_ratio_in_faults;
  const std::string wanted = absl::StrFormat("at most %g", limit);
  LatencyHistogram inside, outside;
  for (const Second& second : result.seconds) {
    if (absl::Seconds(second.second) < result.warm_up) continue;
    (InFault(second, result, scenario.faults) ? inside : outside).Merge(second.tally.latency);
  }
  const auto in = inside.Quantile(0.99), out = outside.Quantile(0.99);
  if (!in || !out) {
    criteria->push_back(NotMeasurable(
        name, wanted,
        absl::StrFormat("fewer than %d of %d requests in faults, or of %d outside, lie beyond it: "
                        "run longer or at a higher rate",
                        LatencyHistogram::kSamplesBeyond, inside.count(), outside.count())));
    return;
  }
  const double ratio = absl::FDivDuration(*in, *out);
  criteria->push_back(
      Measured(name, wanted,
               absl::StrFormat("%.2f (%s over %s)", ratio, FormatLatency(*in), FormatLatency(*out)),
               ratio <= limit));
}

// ---- the whole ----

std::vector<std::string> Doubts(const LoadResult& result, const std::vector<Criterion>& criteria) {
  std::vector<std::string> doubts;
  const GeneratorHealth& generator = result.generator;
  if (!generator.kept_schedule) {
    doubts.push_back(absl::StrCat("the generator did not keep its schedule: ", generator.late,
                                  " of ", generator.lag.count(), " requests were sent more than ",
                                  absl::FormatDuration(generator.late_after),
                                  " late; lower the rate or give it more cores"));
  }
  if (IsTooManyLate(result.total.late(), result.total.ok)) {
    doubts.push_back(absl::StrCat("the generator took ", result.total.late(), " of ",
                                  result.total.ok,
                                  " answers after their deadline; it needs more of a core"));
  }
  if (result.total.count == 0) doubts.push_back("no request was sent after the warm-up");
  if (criteria.empty()) doubts.push_back("the scenario asks for nothing; add to its section slo");
  return doubts;
}

Ruling OutcomeOf(const Verdict& verdict, bool wrong_answers) {
  if (wrong_answers) return Ruling::kFail;
  if (!verdict.doubts.empty()) return Ruling::kInconclusive;
  if (CountOf(verdict.criteria, CriterionState::kBroken) > 0) return Ruling::kFail;
  const bool whole = CountOf(verdict.criteria, CriterionState::kNotMeasurable) == 0;
  return whole ? Ruling::kPass : Ruling::kInconclusive;
}

}  // namespace

Verdict Judge(const LoadResult& result, const Scenario& scenario) {
  Verdict verdict;
  const Criterion answers = JudgeAnswers(result);
  const bool wrong_answers = answers.state == CriterionState::kBroken;
  if (scenario.check_answers || wrong_answers) verdict.criteria.push_back(answers);
  JudgeSlo(result, scenario, &verdict.criteria);
  if (scenario.slo.max_p99_ratio_in_faults) {
    JudgeP99Ratio(result, scenario, &verdict.criteria);
  }
  JudgeFaults(result, scenario.faults, &verdict.criteria);
  verdict.doubts = Doubts(result, verdict.criteria);
  verdict.outcome = OutcomeOf(verdict, wrong_answers);
  return verdict;
}

void NoteFailedExpectations(const Scenario& scenario, LoadResult* result) {
  for (size_t i = 0; i < std::min(scenario.faults.size(), result->faults.size()); ++i) {
    FaultMark& mark = result->faults[i];
    for (const Criterion& criterion : JudgeFault(*result, scenario.faults[i], mark)) {
      if (criterion.state == CriterionState::kHeld) continue;
      mark.failed_expectations.push_back(Expectation(mark, criterion));
    }
  }
}

const char* CriterionStateName(CriterionState state) {
  static constexpr const char* kNames[] = {"held", "broken", "not measurable"};
  return kNames[static_cast<int>(state)];
}

int64_t CountOf(const std::vector<Criterion>& criteria, CriterionState state) {
  return std::count_if(criteria.begin(), criteria.end(),
                       [state](const Criterion& criterion) { return criterion.state == state; });
}

const char* RulingName(Ruling outcome) {
  static constexpr const char* kNames[] = {"pass", "fail", "inconclusive"};
  return kNames[static_cast<int>(outcome)];
}

int ExitStatus(Ruling outcome) {
  static constexpr int kStatuses[] = {kSuccess, kFailure, kInconclusiveStatus};
  return kStatuses[static_cast<int>(outcome)];
}

std::string FormatShare(double share) {
  if (share > 0.99 && share < 1 - 1e-12) {  // quotients of rates may miss 1 by a rounding
    // As many digits as the part that is missing has.
    const int digits =
        std::clamp(-static_cast<int>(std::floor(std::log10((1 - share) * 100))), 1, 12);
    return absl::StrFormat("%.*f%%", digits, share * 100);
  }
  return absl::StrFormat("%.3g%%", share * 100);
}

std::string FormatLatency(absl::Duration latency) {
  const double seconds = absl::ToDoubleSeconds(latency);
  if (seconds >= 1) return absl::StrFormat("%.4gs", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.4gms", seconds * 1e3);
  return absl::StrFormat("%.4gus", seconds * 1e6);
}

}  // namespace sightline
