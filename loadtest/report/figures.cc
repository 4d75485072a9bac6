#include "loadtest/report/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/table.h"

namespace sightline {
namespace {

// A fraction without the zeros at its end.
std::string WithoutZeros(std::string text) {
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// Three significant digits, without zeros at the end of a fraction.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const std::string text = absl::StrFormat("%.*f", decimals, value);
  return decimals == 0 ? text : WithoutZeros(text);
}

// Place of a stage in a request; unknown ones come before the total.
size_t StageRank(const std::string& stage) {
  static constexpr std::array<const char*, 4> kOrder = {"encode", "search", "rerank", "fetch"};
  if (stage == "total") return kOrder.size() + 1;
  return std::find(kOrder.begin(), kOrder.end(), stage) - kOrder.begin();
}

}  // namespace

std::string LatencyText(absl::Duration latency) {
  return latency == absl::InfiniteDuration() ? "never" : FormatLatency(latency);
}

std::string LatencyText(const absl::optional<absl::Duration>& latency) {
  return latency.has_value() ? LatencyText(*latency) : "–";
}

std::string LatencyLabel(double milliseconds) {
  return milliseconds > 0 ? LatencyText(absl::Milliseconds(milliseconds)) : "0";
}

std::string RateLabel(double rate) {
  return absl::StrCat(std::round(1e6 * rate) / 1e6);
}

double Milliseconds(const absl::optional<absl::Duration>& latency) {
  return latency.has_value() ? absl::ToDoubleMilliseconds(*latency)
                             : std::numeric_limits<double>::quiet_NaN();
}

std::string LimitText(double quantile, absl::Duration limit) {
  return absl::StrCat(QuantileName(quantile), " limit ", LatencyText(limit));
}

std::string LengthText(absl::Duration length) {
  if (length == absl::InfiniteDuration()) return "never";
  return absl::FormatDuration(absl::Trunc(length, absl::Milliseconds(1)));
}

std::string RateText(double rate) {
  return absl::StrCat(ThreeDigits(rate), "/s");
}

std::string QuantileName(double share) {
  return absl::StrCat("p", WithoutZeros(absl::StrFormat("%.6f", 100 * share)));
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

std::string OutcomeWord(Ruling outcome) {
  return absl::AsciiStrToUpper(RulingName(outcome));
}

const std::string& MeasuredText(const Criterion& criterion) {
  return criterion.measured.empty() ? criterion.reason : criterion.measured;
}

std::string CriteriaSummary(const Verdict& verdict) {
  const size_t all = verdict.criteria.size();
  if (all == 0) return "no criteria";
  const int64_t broken = CountOf(verdict.criteria, CriterionState::kBroken);
  const int64_t unknown = CountOf(verdict.criteria, CriterionState::kNotMeasurable);
  const char* noun = all == 1 ? " criterion " : " criteria ";
  if (broken == 0 && unknown == 0) return absl::StrCat(all, noun, "held");
  std::string text;
  if (broken > 0) text = absl::StrCat(broken, " of ", all, noun, "broken");
  if (unknown > 0) {
    absl::StrAppend(
        &text,
        broken > 0 ? absl::StrCat(", ", unknown, " ") : absl::StrCat(unknown, " of ", all, noun),
        "not measurable");
  }
  return text;
}

std::string CapacityText(const ReportedCapacity& capacity) {
  std::string text = RateText(capacity.rate);
  switch (capacity.ending) {
    case CapacityEnding::kFound:
      break;
    case CapacityEnding::kBelowLowest:
      return "none: not even the lowest rate meets the SLO";
    case CapacityEnding::kAboveHighest:
      absl::StrAppend(&text, " or more");
      break;
    case CapacityEnding::kInconclusive:
      text = capacity.rate > 0 ? absl::StrCat("at least ", text, ", the rest inconclusive")
                               : "inconclusive";
  }
  if (!capacity.knee.has_value()) return text;
  return absl::StrCat(text, ", knee at ", RateText(capacity.curve[*capacity.knee].rate));
}

std::string FaultLetter(size_t index) {
  const std::string letter(1, static_cast<char>('A' + index % 26));
  return index < 26 ? letter : absl::StrCat(letter, index / 26);
}

int64_t SentRequests(const LoadResult& result) {
  int64_t sent = 0;
  for (const Second& second : result.seconds) sent += second.sent;
  return sent;
}

absl::Duration CpuPerRequest(const LoadResult& result) {
  const int64_t sent = SentRequests(result);
  return sent == 0 ? absl::ZeroDuration() : result.generator.cpu / sent;
}

std::map<std::string, absl::Duration> ServerCpuPerRequest(const LoadResult& result) {
  std::map<std::string, absl::Duration> times;
  const int64_t sent = SentRequests(result);
  if (sent == 0) return times;
  for (const auto& [server, microseconds] : result.server_cpu_us) {
    times[server] = absl::Microseconds(microseconds) / sent;
  }
  return times;
}

std::string GoodputText(const Goodput& goodput) {
  const char* const state = goodput.holds()                                        ? ""
                            : goodput.deep_enough() && !goodput.recall.has_value() ? "not told: "
                                                                                   : "none: ";
  std::string text = absl::StrFormat("%s%s in time; mean depth %.1f of %g, %s %g; ", state,
                                     RateText(goodput.rate), goodput.depth, goodput.asked_depth,
                                     goodput.deep_enough() ? "at least" : "less than",
                                     Goodput::kLeastDepth * goodput.asked_depth);
  if (!goodput.recall.has_value()) {
    return absl::StrCat(text, "Recall@1 takes known items, and top_k of the depth");
  }
  return absl::StrCat(text, "Recall@1 ", FormatShare(*goodput.recall),
                      goodput.worth_it() ? ", by retrieval alone " : ", not above retrieval alone ",
                      FormatShare(*goodput.retrieved_recall));
}

std::vector<Count> Counts(const std::map<std::string, int64_t>& counts) {
  std::vector<Count> sorted;
  for (const auto& [name, count] : counts) sorted.push_back({name, count});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Count& a, const Count& b) { return a.count > b.count; });
  return sorted;
}

std::string CountsText(const std::vector<Count>& counts) {
  std::string text;
  for (const Count& count : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count.name, " ", count.count);
  }
  return text;
}

std::vector<Count> ErrorCounts(const Tally& tally) {
  std::vector<Count> errors = Counts(tally.codes);
  errors.erase(std::remove_if(errors.begin(), errors.end(),
                              [](const Count& count) { return count.name == "OK"; }),
               errors.end());
  return errors;
}

std::vector<NamedTally> TalliesByKind(const LoadResult& result) {
  std::vector<NamedTally> tallies = {{"all", &result.total}};
  if (result.by_kind.size() > 1) {
    for (const auto& [kind, tally] : result.by_kind) tallies.push_back({kind, &tally});
  }
  return tallies;
}

std::vector<std::string> LatencyTitles(const char* first) {
  std::vector<std::string> titles = {first, "count"};
  for (const double share : kShownQuantiles) titles.push_back(QuantileName(share));
  titles.push_back("max");
  return titles;
}

std::vector<std::string> LatencyCells(const std::string& name, const LatencyHistogram& latency) {
  std::vector<std::string> cells = {name, WithThousands(latency.count())};
  for (const double share : kShownQuantiles) cells.push_back(LatencyText(latency.Quantile(share)));
  cells.push_back(latency.count() == 0 ? "–" : LatencyText(latency.max()));
  return cells;
}

std::string RecallText(const absl::optional<RecallCounts>& counts) {
  return counts.has_value() && counts->answers > 0 ? FormatShare(counts->recall()) : "–";
}

std::vector<std::string> RecallTitles() {
  return {"recall", "measured", "compared", "other generation", "p50", "p99", "promised"};
}

std::vector<std::vector<std::string>> RecallRows(const LoadResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [kind, tally] : result.by_kind) {
    if (!tally.measured_recall.has_value()) continue;
    rows.push_back({kind, RecallText(tally.measured_recall),
                    WithThousands(tally.measured_recall->answers),
                    WithThousands(tally.measured_recall->other_generation),
                    LatencyText(tally.latency.Quantile(0.5)),
                    LatencyText(tally.latency.Quantile(0.99)), CountsText(Counts(tally.efforts))});
  }
  return rows;
}

std::vector<std::string> DeviceTitles() {
  return {"device", "passes", "a pass", "waiting", "recorded", "MB/s in", "MB/s out", "GB held"};
}

std::vector<std::vector<std::string>> DeviceRows(const LoadResult& result) {
  const double seconds = absl::ToDoubleSeconds(result.warm_up + result.length);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [server, device] : result.devices) {
    const DeviceWork& work = device.work;
    const auto count = static_cast<double>(work.pass_count);
    const auto a_second = [&](int64_t bytes) {
      return seconds > 0 ? absl::StrFormat("%.1f", bytes / 1e6 / seconds) : "–";
    };
    std::vector<std::string> row = {
        absl::StrCat(server, ", ", device.name.empty() ? "device" : device.name, " ",
                     device.number),
        seconds > 0 ? RateText(count / seconds) : "–"};
    if (work.pass_count > 0) {
      row.insert(row.end(), {LatencyText(work.took / count), LatencyText(work.waited / count),
                             FormatShare(work.recorded_count / count)});
    } else {
      row.insert(row.end(), {"–", "–", "–"});
    }
    row.insert(row.end(), {a_second(work.bytes_in), a_second(work.bytes_out),
                           absl::StrFormat("%.2f", device.held_bytes / 1e9)});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> RateCells(const ReportedCapacity& capacity, const CurvePoint& point) {
  return {RateText(point.rate),
          RateText(point.achieved),
          LatencyText(point.p50),
          LatencyText(point.p99),
          FormatShare(point.error_share),
          FormatShare(point.degraded_share),
          RecallText(point.measured_recall),
          capacity.MeetsSlo(point) ? "met" : "not met"};
}

std::string LastedText(const FaultMark& fault) {
  return fault.ended > fault.at ? LengthText(fault.ended - fault.at) : "–";
}

std::string ExpectationsText(const FaultMark& fault) {
  if (fault.failed_expectations.empty()) return "held";
  return absl::StrCat("broken: ", absl::StrJoin(fault.failed_expectations, "; "));
}

std::vector<NamedHistogram> StagesInOrder(const Tally& tally) {
  std::vector<NamedHistogram> stages;
  for (const auto& [name, histogram] : tally.stages) {
    if (histogram.count() > 0) stages.push_back({name, &histogram});
  }
  std::stable_sort(stages.begin(), stages.end(),
                   [](const NamedHistogram& a, const NamedHistogram& b) {
                     return StageRank(a.name) < StageRank(b.name);
                   });
  return stages;
}

std::string StageShare(const Tally& tally, const std::string& stage) {
  const auto all_of = [&tally](const std::string& name) {
    const auto found = tally.stages.find(name);
    return found == tally.stages.end()
               ? absl::ZeroDuration()
               : found->second.mean() * static_cast<double>(found->second.count());
  };
  const absl::Duration total = all_of("total");
  return total > absl::ZeroDuration() ? FormatShare(absl::FDivDuration(all_of(stage), total)) : "–";
}

}  // namespace sightline
