// Figures as words: every report writes the same number the same way.
#ifndef SIGHTLINE_LOADTEST_REPORT_FIGURES_H_
#define SIGHTLINE_LOADTEST_REPORT_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "loadtest/report/report_data.h"

namespace sightline {

// The quantiles that tables show.
inline constexpr double kShownQuantiles[] = {0.5, 0.9, 0.95, 0.99, 0.999};

// FormatLatency; "never" if infinite.
std::string LatencyText(absl::Duration latency);
// "–" for none: there were too few samples to tell.
std::string LatencyText(const absl::optional<absl::Duration>& latency);
// Of milliseconds and of requests a second on an axis.
std::string LatencyLabel(double milliseconds);
std::string RateLabel(double rate);
// As axes have them; no number for none.
double Milliseconds(const absl::optional<absl::Duration>& latency);
// "p99 limit 300ms".
std::string LimitText(double quantile, absl::Duration limit);
// "30s", "1h5m0.25s"; "never" if infinite.
std::string LengthText(absl::Duration length);
// "198/s", "12.5/s".
std::string RateText(double rate);
// "p99.9" for 0.999.
std::string QuantileName(double share);
// UTC, to the second.
std::string TimeText(absl::Time time);

// "PASS", "FAIL", "INCONCLUSIVE".
std::string OutcomeWord(Ruling outcome);

// "6 criteria held", "2 of 6 criteria broken, 1 not measurable".
std::string CriteriaSummary(const Verdict& verdict);

// What was measured, or why nothing was.
const std::string& MeasuredText(const Criterion& criterion);

// "182/s, knee at 160/s", "180/s or more", "none: not even the lowest rate meets the SLO".
std::string CapacityText(const ReportedCapacity& capacity);

// The letter of a fault in plots and in their table: "A", "B", ..., "Z", "A1", ...
std::string FaultLetter(size_t index);

// Requests that the run sent, warm-up included.
int64_t SentRequests(const LoadResult& result);
// The generator's own time for one of them; zero if there was none.
absl::Duration CpuPerRequest(const LoadResult& result);
// Processor time of each server for one of them, by name; none if there was none.
std::map<std::string, absl::Duration> ServerCpuPerRequest(const LoadResult& result);

// "19.8/s in time; mean depth 9.4 of 20, at least 8; Recall@1 61%, by retrieval alone 55%", with
// "none: " before it where a condition is broken, and "not told: " where one could not be told.
std::string GoodputText(const Goodput& goodput);

// A name and how often it came.
struct Count {
  std::string name;
  int64_t count = 0;
};
// Most frequent first, then by name.
std::vector<Count> Counts(const std::map<std::string, int64_t>& counts);
// "UNAVAILABLE 12, DEADLINE_EXCEEDED 3".
std::string CountsText(const std::vector<Count>& counts);
// `codes` without "OK".
std::vector<Count> ErrorCounts(const Tally& tally);

// The rows of a latency table: "all", then each kind if there are two or more.
struct NamedTally {
  std::string name;
  const Tally* tally;
};
std::vector<NamedTally> TalliesByKind(const LoadResult& result);  // points into `result`

// Cells of a latency table, and their titles behind that of the name: count, the shown
// quantiles, maximum.
std::vector<std::string> LatencyTitles(const char* first);
std::vector<std::string> LatencyCells(const std::string& name, const LatencyHistogram& latency);
// Of a table of recalls, a row for each kind that measured it: measured beside promised, how many
// answers were compared and how many could not be, and the latency that it came at.
std::vector<std::string> RecallTitles();
std::vector<std::vector<std::string>> RecallRows(const LoadResult& result);
// "94.7%"; "–" where nothing was compared.
std::string RecallText(const absl::optional<RecallCounts>& counts);
// Of a table of GPUs: whose and which, passes a second, how long each took and how much of that it
// waited for others, the share whose launches were recorded before, megabytes a second to the
// device and from it, and memory that is held.
std::vector<std::string> DeviceTitles();
std::vector<std::vector<std::string>> DeviceRows(const LoadResult& result);
// Of a table of rates: offered, answered, p50, p99, errors, degraded, measured recall, and whether
// the SLO is met.
std::vector<std::string> RateCells(const ReportedCapacity& capacity, const CurvePoint& point);
// How long a fault lasted; "–" if it was over at once.
std::string LastedText(const FaultMark& fault);
// "held", or what was broken.
std::string ExpectationsText(const FaultMark& fault);

// In the order of a request: encode, search, rerank, fetch, others by name, total.  Points
// into `tally`.
struct NamedHistogram {
  std::string name;
  const LatencyHistogram* histogram;
};
std::vector<NamedHistogram> StagesInOrder(const Tally& tally);
// "12.3%": what the stage took of all the time of these answers, as the router tells it; "–" where
// it tells none.
std::string StageShare(const Tally& tally, const std::string& stage);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_FIGURES_H_
