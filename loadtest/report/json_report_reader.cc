#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "loadtest/report/histogram_restore.h"
#include "loadtest/report/json_node.h"
#include "loadtest/report/json_report.h"
#include "loadtest/verdict/capacity.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;
// No run sends more, and sums of so many stay far from overflow.
constexpr int64_t kMaxCount = 1'000'000'000'000;
constexpr double kMaxRate = 1e9;
constexpr absl::Duration kLongestRun = absl::Hours(24 * 365);
constexpr absl::Duration kLongestLatency = LatencyHistogram::kLongest;

// A parsed value takes many times the bytes of its text, and nesting takes the most: both
// are bounded before there is a document.
absl::Status CheckSize(absl::string_view text) {
  if (text.size() > kMaxJsonReportBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report has ", text.size(), " bytes; the limit is ", kMaxJsonReportBytes));
  }
  int depth = 0;
  int64_t values = 1;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (depth > kMaxDepth || values > kMaxJsonReportValues) {
      return absl::InvalidArgumentError(
          absl::StrCat("the report is nested more than ", kMaxDepth, " deep or has more than ",
                       kMaxJsonReportValues, " values; no report is"));
    }
  }
  return absl::OkStatus();
}

// Histograms of few samples far apart take much more than their text.
class MemoryLimit {
 public:
  // Notes a problem once all histograms together take too much.
  void Add(const HistogramParts& parts, const JsonNode& node) {
    if (parts.buckets.empty()) return;
    const auto edge = [](absl::Duration low) {
      return absl::ToDoubleMicroseconds(low) + LatencyHistogram::kBucketsPerOctave;
    };
    const double octaves =
        2 + std::abs(std::log2(edge(parts.buckets.back().first) / edge(parts.buckets[0].first)));
    bytes_ += octaves * LatencyHistogram::kBucketsPerOctave * sizeof(int64_t);
    if (bytes_ > kMostBytes) {
      node.AddProblem("buckets_us",
                      "is one histogram too many: together they take more than 512 MiB");
    }
  }

 private:
  static constexpr double kMostBytes = 1 << 29;
  double bytes_ = 0;
};

LatencyHistogram ReadHistogram(const JsonNode& node, MemoryLimit* limit) {
  HistogramParts parts;
  const int64_t count = node.Int("count", 0, kMaxCount);
  if (count == 0) return {};
  parts.min = node.Nanoseconds("min_ns", kLongestLatency);
  parts.mean = node.Nanoseconds("mean_ns", kLongestLatency);
  parts.max = node.Nanoseconds("max_ns", kLongestLatency);
  const Json& buckets = node.Array("buckets_us");
  const int64_t longest_us = absl::ToInt64Microseconds(kLongestLatency);
  int64_t total = 0;
  for (size_t i = 0; i + 1 < buckets.size(); i += 2) {
    const int64_t low = buckets[i].is_number_unsigned() ? buckets[i].get<int64_t>() : -1;
    const int64_t samples = buckets[i + 1].is_number_unsigned() ? buckets[i + 1].get<int64_t>() : 0;
    if (low < 0 || low > longest_us || samples < 1 || samples > count - total) break;
    total += samples;
    parts.buckets.push_back({absl::Microseconds(low), samples});
  }
  if (total != count || 2 * parts.buckets.size() != buckets.size()) {
    node.AddProblem("buckets_us", absl::StrCat("must be pairs of a bucket's lower edge and how "
                                               "many samples it holds, ",
                                               count, " in all"));
  }
  limit->Add(parts, node);
  if (!node.ok()) return {};
  absl::StatusOr<LatencyHistogram> histogram = RestoreHistogram(parts);
  if (!histogram.ok()) node.AddProblem("buckets_us", histogram.status().message());
  return histogram.ok() ? *std::move(histogram) : LatencyHistogram();
}

std::map<std::string, int64_t> ReadCounts(const JsonNode& node, const char* key) {
  std::map<std::string, int64_t> counts;
  for (const auto& [name, value] : node.Object(key).items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > kMaxCount) {
      node.AddProblem(absl::StrCat(key, ".", CleanText(name, 80)),
                      absl::StrCat("must be a whole number of 0 to ", kMaxCount));
      return {};
    }
    counts[name] = value.get<int64_t>();
  }
  return counts;
}

Tally ReadTally(const JsonNode& node, MemoryLimit* limit) {
  Tally tally;
  tally.count = node.Int("count", 0, kMaxCount);
  tally.ok = node.Int("ok", 0, tally.count);
  tally.degraded = node.Int("degraded", 0, tally.ok);
  tally.codes = ReadCounts(node, "codes");
  tally.degraded_reasons = ReadCounts(node, "degraded_reasons");
  tally.generations = ReadCounts(node, "generations");
  tally.check_failures = ReadCounts(node, "check_failures");
  tally.shards_asked = node.Int("shards_asked", 0, kMaxCount);
  tally.shards_answered = node.Int("shards_answered", 0, kMaxCount);
  tally.known_items_asked = node.Int("known_items_asked", 0, kMaxCount);
  tally.known_items_found = node.Int("known_items_found", 0, kMaxCount);
  tally.latency = ReadHistogram(node["latency"], limit);
  node.ForEachMember("stages", [&tally, limit](const std::string& name, const JsonNode& stage) {
    tally.stages[name] = ReadHistogram(stage, limit);
  });
  return tally;
}

Second ReadSecond(const JsonNode& node, MemoryLimit* limit) {
  Second second;
  second.second = node.Int("second", 0, absl::ToInt64Seconds(kLongestRun));
  second.intended = node.Int("intended", 0, kMaxCount);
  second.sent = node.Int("sent", 0, kMaxCount);
  second.ended = node.Int("ended", 0, kMaxCount);
  second.outstanding = node.Int("outstanding", 0, kMaxCount);
  second.tally = ReadTally(node["tally"], limit);
  return second;
}

std::vector<std::string> ReadStrings(const JsonNode& node, const char* key) {
  std::vector<std::string> texts;
  for (const Json& text : node.Array(key)) {
    if (!text.is_string()) {
      node.AddProblem(key, "must be an array of strings");
      return {};
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

FaultMark ReadFault(const JsonNode& node) {
  FaultMark fault;
  fault.name = node.String("name");
  fault.at = node.Nanoseconds("at_ns", kLongestRun);
  fault.ended = node.Nanoseconds("ended_ns", kLongestRun);
  fault.whole_again =
      node.OptionalNanoseconds("whole_again_ns", kLongestRun).value_or(absl::InfiniteDuration());
  fault.failed_expectations = ReadStrings(node, "failed_expectations");
  return fault;
}

GeneratorHealth ReadGenerator(const JsonNode& node, MemoryLimit* limit) {
  GeneratorHealth health;
  health.lag = ReadHistogram(node["lag"], limit);
  health.late = node.Int("late", 0, kMaxCount);
  health.late_after = node.Nanoseconds("late_after_ns", kLongestRun);
  health.cpu = node.Nanoseconds("cpu_ns", kLongestRun);
  health.kept_schedule = node.Bool("kept_schedule");
  return health;
}

std::map<std::string, std::string> ReadTexts(const JsonNode& node, const char* key) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : node.Object(key).items()) {
    if (!value.is_string()) {
      node.AddProblem(absl::StrCat(key, ".", CleanText(name, 80)), "must be a string");
      return {};
    }
    texts[name] = value.get<std::string>();
  }
  return texts;
}

absl::Time ReadTime(const JsonNode& node, const char* key) {
  absl::Time time;
  std::string why;
  if (!absl::ParseTime(absl::RFC3339_full, node.String(key), &time, &why)) {
    node.AddProblem(key, "must be a time such as 2026-01-31T12:00:00Z");
  }
  return time;
}

LoadResult ReadResult(const JsonNode& node) {
  MemoryLimit limit;
  LoadResult run;
  run.scenario = node.String("scenario");
  run.target = node.String("target");
  run.started = ReadTime(node, "started");
  run.warm_up = node.Nanoseconds("warm_up_ns", kLongestRun);
  run.length = node.Nanoseconds("length_ns", kLongestRun);
  run.intended_rate = node.Number("intended_rate", 0, kMaxRate);
  run.environment = ReadTexts(node, "environment");
  run.total = ReadTally(node["total"], &limit);
  node.ForEachMember("by_kind", [&run, &limit](const std::string& kind, const JsonNode& tally) {
    run.by_kind[kind] = ReadTally(tally, &limit);
  });
  node.ForEach("faults", [&run](const JsonNode& fault) { run.faults.push_back(ReadFault(fault)); });
  run.generator = ReadGenerator(node["generator"], &limit);
  node.ForEach("seconds", [&run, &limit](const JsonNode& second) {
    run.seconds.push_back(ReadSecond(second, &limit));
  });
  for (size_t i = 1; i < run.seconds.size(); ++i) {
    if (run.seconds[i].second != run.seconds[i - 1].second + 1) {
      node.AddProblem(absl::StrCat("seconds[", i, "].second"), "must follow the one before it");
    }
  }
  return run;
}

// That of `values` whose name is at `key`.
template <typename Enum>
Enum ReadNamed(const JsonNode& node, const char* key, const std::vector<Enum>& values,
               const char* (*name)(Enum)) {
  const std::string word = node.String(key);
  std::string allowed;
  for (const Enum value : values) {
    if (word == name(value)) return value;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", name(value));
  }
  node.AddProblem(key, absl::StrCat("must be one of: ", allowed));
  return values.back();
}

Verdict ReadVerdict(const JsonNode& node) {
  Verdict verdict;
  verdict.outcome =
      ReadNamed(node, "outcome", {Ruling::kPass, Ruling::kFail, Ruling::kInconclusive}, RulingName);
  verdict.doubts = ReadStrings(node, "doubts");
  node.ForEach("criteria", [&verdict](const JsonNode& row) {
    verdict.criteria.push_back(
        {row.String("name"), row.String("wanted"), row.String("measured"),
         ReadNamed(row, "state",
                   {CriterionState::kHeld, CriterionState::kBroken, CriterionState::kNotMeasurable},
                   CriterionStateName),
         row.String("reason")});
  });
  return verdict;
}

CurvePoint ReadPoint(const JsonNode& node) {
  CurvePoint point;
  point.rate = node.Number("rate", 0, kMaxRate);
  point.achieved = node.Number("achieved", 0, kMaxRate);
  point.p50 = node.OptionalNanoseconds("p50_ns", kLongestLatency);
  point.p99 = node.OptionalNanoseconds("p99_ns", kLongestLatency);
  point.error_share = node.Number("error_share", 0, 1);
  point.degraded_share = node.Number("degraded_share", 0, 1);
  point.windows = static_cast<int>(node.Int("windows", 1, 1'000'000));
  return point;
}

ReportedCapacity ReadCapacity(const JsonNode& node) {
  ReportedCapacity capacity;
  capacity.ending = ReadNamed(node, "ending",
                              {CapacityEnding::kFound, CapacityEnding::kBelowLowest,
                               CapacityEnding::kAboveHighest, CapacityEnding::kInconclusive},
                              CapacityEndingName);
  capacity.rate = node.Number("rate", 0, kMaxRate);
  capacity.why = node.String("why");
  node.ForEach("curve",
               [&capacity](const JsonNode& point) { capacity.curve.push_back(ReadPoint(point)); });
  const auto points = static_cast<int64_t>(capacity.curve.size());
  if (node.Has("knee")) capacity.knee = static_cast<int>(node.Int("knee", 0, points - 1));
  return capacity;
}

}  // namespace

absl::StatusOr<ReportData> ParseJsonReport(absl::string_view text) {
  RETURN_IF_ERROR(CheckSize(text));
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("the report is not valid JSON");
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report must be a JSON object, not ", json.type_name()));
  }
  absl::Status status;
  const JsonNode root(json, &status);
  // First: of another version nothing else can be expected to fit.
  root.Int("format_version", kJsonReportVersion, kJsonReportVersion);
  ReportData data;
  data.verdict = ReadVerdict(root["verdict"]);
  root.ForEach("latency_limits", [&data](const JsonNode& limit) {
    data.latency_limits.emplace_back(limit.Number("quantile", 0, 1),
                                     limit.Nanoseconds("at_most_ns", kLongestRun));
  });
  if (root.Has("capacity")) data.capacity = ReadCapacity(root["capacity"]);
  data.result = ReadResult(root["result"]);
  RETURN_IF_ERROR(status);
  return data;
}

}  // namespace sightline
