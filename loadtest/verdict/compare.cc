#include "loadtest/verdict/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "loadtest/measure/recorder.h"
#include "loadtest/scenario/seeded_hash.h"
#include "loadtest/verdict/run_blocks.h"
#include "loadtest/verdict/student_t.h"

namespace sightline {
namespace {

constexpr const char* kFigureNames[kFigureCount] = {
    "latency p50",      "latency p90",    "latency p99",       "failed requests",
    "degraded answers", "missing shards", "missed known items"};

// Rates further apart than this are two loads, not one.
constexpr double kMaxRateDifference = 0.1;

bool IsLatency(int figure) {
  return figure < kLatencyFigures;
}

// Mean and noise of one figure of one side.
struct SideFigure {
  absl::optional<double> value;  // of all runs together
  bool enough = true;            // samples
  double whole = 0;              // shares: of how many
  double within = 0;             // variance of `value` that blocks show
  std::vector<double> of_runs;
};

struct Side {
  std::array<SideFigure, kFigureCount> figures;
  int runs = 0;
  int blocks = 0;
};

double SquaredDeviations(const std::vector<double>& values) {
  double mean = 0, sum = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// Variance of each figure over draws of blocks.
std::array<double, kFigureCount> Resample(const std::vector<std::vector<Block>>& runs,
                                          const LatencyScale& scale, const CompareOptions& options,
                                          uint64_t purpose) {
  std::array<std::vector<double>, kFigureCount> values;
  BlockSum sum(&scale);
  uint64_t drawn = 0;
  for (int i = 0; i < options.resamples; ++i) {
    sum.Clear();
    for (const std::vector<Block>& blocks : runs) {
      for (size_t j = 0; j < blocks.size(); ++j) {
        const double uniform = SeededUniform(options.seed, purpose, drawn++);
        sum.Add(blocks[static_cast<size_t>(uniform * static_cast<double>(blocks.size()))]);
      }
    }
    const Figures figures = sum.Tell();
    for (int f = 0; f < kFigureCount; ++f) {
      if (figures[f]) values[f].push_back(*figures[f]);
    }
  }
  std::array<double, kFigureCount> variances{};
  for (int f = 0; f < kFigureCount; ++f) {
    if (values[f].size() < 2) continue;
    variances[f] = SquaredDeviations(values[f]) / static_cast<double>(values[f].size() - 1);
  }
  return variances;
}

Side Summarise(absl::Span<const LoadResult> results, const LatencyScale& scale,
               const CompareOptions& options, uint64_t purpose) {
  Side side;
  side.runs = static_cast<int>(results.size());
  std::vector<std::vector<Block>> runs;
  BlockSum all(&scale), one(&scale);
  for (const LoadResult& result : results) {
    runs.push_back(CutIntoBlocks(result, scale));
    side.blocks += static_cast<int>(runs.back().size());
    one.Clear();
    for (const Block& block : runs.back()) {
      one.Add(block);
      all.Add(block);
    }
    const Figures figures = one.Tell();
    for (int f = 0; f < kFigureCount; ++f) {
      if (figures[f]) side.figures[f].of_runs.push_back(*figures[f]);
    }
  }
  const Figures figures = all.Tell();
  const std::array<double, kFigureCount> variances = Resample(runs, scale, options, purpose);
  // A draw of n things strays from their mean by (n - 1) / n of the variance of one more.
  const double correction =
      side.blocks > side.runs ? static_cast<double>(side.blocks) / (side.blocks - side.runs) : 1;
  for (int f = 0; f < kFigureCount; ++f) {
    SideFigure& figure = side.figures[f];
    figure.value = figures[f];
    figure.within = variances[f] * correction;
    if (IsLatency(f)) {
      figure.enough = all.HasEnough(static_cast<Figure>(f));
    } else {
      figure.whole = static_cast<double>(all.ratio(static_cast<Figure>(f)).whole);
    }
  }
  return side;
}

struct Noise {
  double deviation = 0;  // of the difference
  int degrees = 1;
};

int WelchDegrees(const Side& a, const Side& b, double variance_a, double variance_b) {
  const int degrees_a = std::max(1, a.blocks - a.runs), degrees_b = std::max(1, b.blocks - b.runs);
  const double sum = variance_a + variance_b;
  if (!(sum > 0)) return std::min(degrees_a, degrees_b);
  return std::max(1, static_cast<int>(sum * sum /
                                      (variance_a * variance_a / degrees_a +
                                       variance_b * variance_b / degrees_b)));
}

// Of a share that is the same on both sides; one more failure is imagined, for none in few
// requests does not mean that there are none.
double BinomialVariance(const SideFigure& a, const SideFigure& b) {
  const double failures = *a.value * a.whole + *b.value * b.whole + 1;
  const double share = std::min(failures / (a.whole + b.whole), 0.5);
  return share * (1 - share) * (1 / a.whole + 1 / b.whole);
}

Noise NoiseOf(const Side& side_a, const Side& side_b, int figure) {
  const SideFigure& a = side_a.figures[figure];
  const SideFigure& b = side_b.figures[figure];
  double variance = a.within + b.within;
  if (!IsLatency(figure)) variance = std::max(variance, BinomialVariance(a, b));
  Noise noise;
  noise.degrees = WelchDegrees(side_a, side_b, a.within, b.within);
  const int runs = static_cast<int>(a.of_runs.size() + b.of_runs.size());
  if (runs > 2) {
    const double pooled =
        (SquaredDeviations(a.of_runs) + SquaredDeviations(b.of_runs)) / (runs - 2);
    const double between = pooled * (1.0 / static_cast<double>(a.of_runs.size()) +
                                     1.0 / static_cast<double>(b.of_runs.size()));
    variance = std::max(variance, between);
    // Even if blocks show more: few runs may look alike by chance.
    noise.degrees = runs - 2;
  }
  noise.deviation = std::sqrt(variance);
  return noise;
}

std::string FormatFigure(int figure, double value) {
  return IsLatency(figure) ? FormatLatency(absl::Seconds(std::exp(value))) : FormatShare(value);
}

// Empty: the figure can be compared.
std::string WhyNotMeasurable(const Side& a, const Side& b, int figure) {
  if (a.blocks < kMinBlocks || b.blocks < kMinBlocks) {
    return absl::StrCat("runs are too short: ", std::min(a.blocks, b.blocks), " blocks of ",
                        kMinBlocks, "; run 15 s or longer");
  }
  if (!a.figures[figure].value || !b.figures[figure].value) return "one side has none";
  if (!a.figures[figure].enough || !b.figures[figure].enough) {
    return absl::StrCat("fewer than ", LatencyHistogram::kSamplesBeyond,
                        " samples lie beyond it; run longer");
  }
  return "";
}

FigureChange CompareFigure(const Side& a, const Side& b, int figure, double tail,
                           const CompareOptions& options) {
  FigureChange change;
  change.name = kFigureNames[figure];
  change.reason = WhyNotMeasurable(a, b, figure);
  if (!change.reason.empty()) {
    change.kind = ChangeKind::kNotMeasurable;
    return change;
  }
  const double value_a = *a.figures[figure].value, value_b = *b.figures[figure].value;
  const Noise noise = NoiseOf(a, b, figure);
  const double reach = StudentQuantile(tail, noise.degrees) * noise.deviation;
  const auto shown = [figure](double difference) {
    return IsLatency(figure) ? std::expm1(difference) : difference;
  };
  change.a = FormatFigure(figure, value_a);
  change.b = FormatFigure(figure, value_b);
  change.change = shown(value_b - value_a);
  change.low = shown(value_b - value_a - reach);
  change.high = shown(value_b - value_a + reach);
  const double least = IsLatency(figure) ? options.min_latency_change : options.min_share_change;
  if (change.low > 0 && change.change > least) change.kind = ChangeKind::kRegression;
  if (change.high < 0 && change.change < -least) change.kind = ChangeKind::kImprovement;
  return change;
}

// Those of the warm-up, which only seconds tell of, too.
int64_t WrongAnswers(absl::Span<const LoadResult> runs) {
  int64_t wrong = 0;
  for (const LoadResult& run : runs) {
    int64_t in_seconds = 0;
    for (const Second& second : run.seconds) in_seconds += second.tally.wrong();
    wrong += std::max(run.total.wrong(), in_seconds);
  }
  return wrong;
}

// Another machine is no regression of the fleet.
template <typename Run>
void DoubtMachines(absl::Span<const Run> a, absl::Span<const Run> b,
                   std::vector<std::string>* doubts) {
  for (const char* const what : {"cpu", "cores"}) {
    std::set<std::string> values;
    for (const absl::Span<const Run> runs : {a, b}) {
      for (const Run& run : runs) {
        const auto found = run.environment.find(what);
        if (found != run.environment.end()) values.insert(found->second);
      }
    }
    if (values.size() < 2) continue;
    doubts->push_back(
        absl::StrCat("runs of different machines; ", what, ": ", absl::StrJoin(values, ", ")));
  }
}

double MeanRate(absl::Span<const LoadResult> runs) {
  double sum = 0;
  for (const LoadResult& run : runs) sum += run.intended_rate;
  return sum / static_cast<double>(runs.size());
}

std::vector<std::string> Doubts(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b) {
  std::vector<std::string> doubts;
  for (const auto& [name, runs] : {std::make_pair("A", a), std::make_pair("B", b)}) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const Tally& total = runs[i].total;
      if (runs[i].generator.kept_schedule && !IsTooManyLate(total.late(), total.ok)) continue;
      doubts.push_back(
          absl::StrCat("run ", i + 1, " of ", name, ": the generator did not keep its schedule"));
    }
  }
  const double rate_a = MeanRate(a), rate_b = MeanRate(b);
  if (std::abs(rate_a - rate_b) > kMaxRateDifference * std::max(rate_a, rate_b)) {
    doubts.push_back(
        absl::StrFormat("A had %.4g requests/s and B %.4g; compare equal loads", rate_a, rate_b));
  }
  DoubtMachines(a, b, &doubts);
  return doubts;
}

void CompareAnswers(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b,
                    Comparison* comparison) {
  const int64_t wrong_a = WrongAnswers(a), wrong_b = WrongAnswers(b);
  comparison->wrong_answers = wrong_b > 0;
  for (const auto& [name, wrong] : {std::make_pair("A", wrong_a), std::make_pair("B", wrong_b)}) {
    if (wrong == 0) continue;
    comparison->notes.push_back(absl::StrCat(name, " gave ", wrong, " wrong answers"));
  }
}

absl::Status Check(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b,
                   const CompareOptions& options) {
  if (a.empty() || b.empty()) {
    return absl::InvalidArgumentError("A and B want a result each, or more");
  }
  for (const absl::Span<const LoadResult> runs : {a, b}) {
    for (const LoadResult& run : runs) {
      if (run.scenario == a[0].scenario) continue;
      return absl::InvalidArgumentError(absl::StrCat("results of two scenarios, '", a[0].scenario,
                                                     "' and '", run.scenario,
                                                     "', cannot be compared"));
    }
  }
  if (!(options.false_alarms > 0 && options.false_alarms <= 0.5) || options.resamples < 2 ||
      options.resamples > 100'000 || !(options.min_latency_change >= 0) ||
      !(options.min_share_change >= 0)) {
    return absl::InvalidArgumentError(
        "options are out of range: false_alarms above 0 to 0.5, resamples 2 to 100000, least "
        "changes not negative");
  }
  return absl::OkStatus();
}

// The capacity of a side lies between these two.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
};

Range RangeOf(absl::Span<const CapacityRun> runs) {
  Range range;
  for (const CapacityRun& run : runs) {
    range.low = std::min(range.low, run.held);
    range.high = std::max(range.high, run.broken);
  }
  return range;
}

std::string FormatRange(const Range& range) {
  return std::isinf(range.high) ? absl::StrFormat("%.4g/s or more", range.low)
                                : absl::StrFormat("%.4g to %.4g/s", range.low, range.high);
}

double RelativeChange(double from, double to) {
  if (from == to) return 0;
  return from > 0 ? to / from - 1 : std::numeric_limits<double>::infinity();
}

}  // namespace

absl::StatusOr<Comparison> Compare(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b,
                                   const CompareOptions& options) {
  RETURN_IF_ERROR(Check(a, b, options));
  const LatencyScale scale(a, b);
  const Side side_a = Summarise(a, scale, options, /*purpose=*/1);
  const Side side_b = Summarise(b, scale, options, /*purpose=*/2);
  Comparison comparison;
  for (int figure = 0; figure < kFigureCount; ++figure) {
    const bool nowhere = !side_a.figures[figure].value && !side_b.figures[figure].value;
    if (nowhere && !IsLatency(figure)) continue;  // no known items in the scenario, say
    comparison.changes.push_back(
        CompareFigure(side_a, side_b, figure, options.false_alarms / kFigureCount, options));
  }
  comparison.doubts = Doubts(a, b);
  CompareAnswers(a, b, &comparison);
  if (a.size() + b.size() == 2) {
    comparison.notes.push_back(
        "one run of each: what differs from run to run by itself is not known");
  }
  return comparison;
}

absl::StatusOr<Comparison> CompareCapacities(absl::Span<const CapacityRun> a,
                                             absl::Span<const CapacityRun> b) {
  if (a.empty() || b.empty()) {
    return absl::InvalidArgumentError("A and B want a result each, or more");
  }
  const Range range_a = RangeOf(a), range_b = RangeOf(b);
  FigureChange change;
  change.name = "capacity";
  change.a = FormatRange(range_a);
  change.b = FormatRange(range_b);
  change.change = RelativeChange(range_a.low, range_b.low);
  change.low = RelativeChange(range_a.high, range_b.low);
  change.high = RelativeChange(range_a.low, range_b.high);
  if (range_b.high <= range_a.low) change.kind = ChangeKind::kRegression;
  if (range_a.high <= range_b.low) change.kind = ChangeKind::kImprovement;
  Comparison comparison;
  comparison.changes.push_back(std::move(change));
  for (const auto& [name, runs] : {std::make_pair("A", a), std::make_pair("B", b)}) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].judged) {
        comparison.doubts.push_back(absl::StrCat("search ", i + 1, " of ", name,
                                                 ": rates above what held could not be judged"));
      }
    }
  }
  DoubtMachines(a, b, &comparison.doubts);
  for (const CapacityRun& run : b) comparison.wrong_answers |= run.wrong_answers;
  return comparison;
}

Ruling Comparison::outcome() const {
  if (wrong_answers) return Ruling::kFail;
  if (!doubts.empty()) return Ruling::kInconclusive;
  const auto any = [this](auto holds) {
    return std::any_of(changes.begin(), changes.end(), holds);
  };
  if (any([](const FigureChange& change) { return change.kind == ChangeKind::kRegression; })) {
    return Ruling::kFail;
  }
  if (changes.empty() || changes[0].kind == ChangeKind::kNotMeasurable) {
    return Ruling::kInconclusive;
  }
  return Ruling::kPass;
}

const char* ChangeKindName(ChangeKind kind) {
  static constexpr const char* kNames[] = {"none", "regression", "improvement", "not measurable"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace sightline
