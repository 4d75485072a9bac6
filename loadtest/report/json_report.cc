#include "loadtest/report/json_report.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/json_fields.h"
#include "loadtest/verdict/capacity.h"

namespace sightline {
namespace {

constexpr int kMaxDepth = 16;
// Histograms of few samples far apart take much more than their text.
constexpr size_t kMaxHistogramBytes = size_t{512} << 20;
// No run sends more, and sums of so many stay far from overflow.
constexpr int64_t kMaxCount = 1'000'000'000'000;
constexpr int64_t kMaxMatched = 1'000'000'000'000'000'000;  // a billion items, a billion times
constexpr double kMaxRate = 1e9;
constexpr int64_t kMaxBytes = int64_t{1} << 60;
constexpr int kMaxDeviceNumber = 1'000'000;
constexpr absl::Duration kLongestWork = absl::Hours(24 * 365);  // of all passes of a run together
constexpr absl::Duration kLongestRun = absl::Hours(24 * 365);
constexpr absl::Duration kLongestLatency = LatencyHistogram::kLongest;

// ---- histograms ----

void DescribeHistogram(JsonWriter& json, const LatencyHistogram* histogram) {
  json["count"] = histogram->count();
  if (histogram->count() == 0) return;
  json["min_ns"] = absl::ToInt64Nanoseconds(histogram->min());
  json["mean_ns"] = absl::ToInt64Nanoseconds(histogram->mean());
  json["max_ns"] = absl::ToInt64Nanoseconds(histogram->max());
  // For other readers; our own computes them anew.
  for (const double share : kShownQuantiles) {
    if (const auto quantile = histogram->Quantile(share); quantile.has_value()) {
      json["quantiles_ns"][QuantileName(share)] = absl::ToInt64Nanoseconds(*quantile);
    }
  }
  JsonWriter::Json& buckets = json["buckets_us"] = JsonWriter::Json::array();
  for (const LatencyHistogram::Bucket& bucket : histogram->Buckets()) {
    buckets.push_back(absl::ToInt64Microseconds(bucket.low));
    buckets.push_back(bucket.count);
  }
}

void DescribeHistogram(JsonReader& json, LatencyHistogram* histogram) {
  int64_t count = 0;
  json.Int("count", &count, 0, kMaxCount);
  if (count == 0) return;
  LatencyHistogram::Parts parts;
  json.Nanoseconds("min_ns", &parts.min, kLongestLatency);
  json.Nanoseconds("mean_ns", &parts.mean, kLongestLatency);
  json.Nanoseconds("max_ns", &parts.max, kLongestLatency);
  const JsonReader::Json& buckets = json.Array("buckets_us");
  int64_t total = 0;
  for (size_t i = 0; i + 1 < buckets.size(); i += 2) {
    if (!buckets[i].is_number_unsigned() || !buckets[i + 1].is_number_unsigned()) break;
    const auto low = buckets[i].get<uint64_t>(), samples = buckets[i + 1].get<uint64_t>();
    if (low > absl::ToInt64Microseconds(kLongestLatency) || samples > count - total) break;
    total += static_cast<int64_t>(samples);
    const absl::Duration edge = absl::Microseconds(low);
    parts.buckets.push_back({edge, edge, static_cast<int64_t>(samples)});
  }
  if (total != count || 2 * parts.buckets.size() != buckets.size()) {
    json.AddProblem("buckets_us", absl::StrCat("must be pairs of a bucket's lower edge and how "
                                               "many samples it holds, ",
                                               count, " in all"));
  }
  if (!json.ok()) return;
  absl::optional<LatencyHistogram> restored = LatencyHistogram::Restore(parts);
  if (!restored.has_value()) {
    return json.AddProblem("buckets_us",
                           "must be the buckets of a latency histogram, ascending, with min_ns in "
                           "the first, max_ns in the last and mean_ns a mean that they can have");
  }
  *histogram = *std::move(restored);
  json.document()->bytes += histogram->bytes();
  if (json.document()->bytes > kMaxHistogramBytes) {
    json.AddProblem("buckets_us",
                    "is one histogram too many: together they take more than 512 MiB");
  }
}

// ---- the fields of each type, in the order in which they are written ----

template <typename Json, typename T>
void DescribeRecall(Json& json, T* counts) {
  json.Int("answers", &counts->answers, 0, kMaxCount);
  json.Int("other_generation", &counts->other_generation, 0, kMaxCount);
  json.Int("nearest", &counts->nearest, 0, kMaxCount);
  json.Int("found", &counts->found, 0, counts->nearest);
}

template <typename Json, typename T>
void DescribeTally(Json& json, T* tally) {
  json.Int("count", &tally->count, 0, kMaxCount);
  json.Int("ok", &tally->ok, 0, tally->count);
  json.Int("degraded", &tally->degraded, 0, tally->ok);
  json.Counts("codes", &tally->codes, kMaxCount);
  json.Counts("degraded_reasons", &tally->degraded_reasons, kMaxCount);
  json.Counts("generations", &tally->generations, kMaxCount);
  json.OptionalCounts("precisions", &tally->precisions, kMaxCount);
  json.OptionalCounts("efforts", &tally->efforts, kMaxCount);
  json.OptionalObject("filtered", &tally->filtered, [](auto& filtered, auto* counts) {
    filtered.Int("answers", &counts->answers, 0, kMaxCount);
    filtered.Int("matched", &counts->matched, 0, kMaxMatched);
  });
  json.OptionalObject("measured_recall", &tally->measured_recall,
                      [](auto& recall, auto* counts) { DescribeRecall(recall, counts); });
  json.Counts("check_failures", &tally->check_failures, kMaxCount);
  json.Int("shards_asked", &tally->shards_asked, 0, kMaxCount);
  json.Int("shards_answered", &tally->shards_answered, 0, kMaxCount);
  json.OptionalObject("reranked", &tally->reranked, [](auto& reranked, auto* counts) {
    reranked.Int("answers", &counts->answers, 0, kMaxCount);
    reranked.Int("in_time", &counts->in_time, 0, counts->answers);
    reranked.Int("asked", &counts->asked, 0, kMaxCount);
    reranked.Int("scored", &counts->scored, 0, counts->asked);
    reranked.Int("judged", &counts->judged, 0, counts->answers);
    reranked.Int("right", &counts->right, 0, counts->judged);
    reranked.Int("retrieved_right", &counts->retrieved_right, 0, counts->judged);
  });
  json.Int("known_items_asked", &tally->known_items_asked, 0, kMaxCount);
  json.Int("known_items_found", &tally->known_items_found, 0, kMaxCount);
  json.Object("latency", [tally](auto& latency) { DescribeHistogram(latency, &tally->latency); });
  json.Map("stages", &tally->stages,
           [](auto& stage, auto* histogram) { DescribeHistogram(stage, histogram); });
}

template <typename Json, typename T>
void DescribeSecond(Json& json, T* second) {
  json.Int("second", &second->second, 0, absl::ToInt64Seconds(kLongestRun));
  json.Int("intended", &second->intended, 0, kMaxCount);
  json.Int("sent", &second->sent, 0, kMaxCount);
  json.Int("ended", &second->ended, 0, kMaxCount);
  json.Int("outstanding", &second->outstanding, 0, kMaxCount);
  json.Object("tally", [second](auto& tally) { DescribeTally(tally, &second->tally); });
}

template <typename Json, typename T>
void DescribeFault(Json& json, T* fault) {
  json.Plain("name", &fault->name);
  json.Nanoseconds("at_ns", &fault->at, kLongestRun);
  json.Nanoseconds("ended_ns", &fault->ended, kLongestRun);
  json.NanosecondsOrNever("whole_again_ns", &fault->whole_again, kLongestRun);
  json.Plain("failed_expectations", &fault->failed_expectations);
}

template <typename Json, typename T>
void DescribeGenerator(Json& json, T* health) {
  json.Object("lag", [health](auto& lag) { DescribeHistogram(lag, &health->lag); });
  json.Int("late", &health->late, 0, kMaxCount);
  json.Nanoseconds("late_after_ns", &health->late_after, kLongestRun);
  json.Nanoseconds("cpu_ns", &health->cpu, kLongestRun);
  json.Plain("kept_schedule", &health->kept_schedule);
}

template <typename Json, typename T>
void DescribeDeviceUse(Json& json, T* use) {
  auto* const device = &use->device;
  auto* const work = &device->work;
  json.Plain("server", &use->server);
  json.Int("number", &device->number, 0, kMaxDeviceNumber);
  json.Plain("name", &device->name);
  json.Int("memory_bytes", &device->memory_bytes, 0, kMaxBytes);
  json.Int("held_bytes", &device->held_bytes, 0, kMaxBytes);
  json.Int("passes", &work->pass_count, 0, kMaxCount);
  json.Int("recorded_passes", &work->recorded_count, 0, work->pass_count);
  json.Nanoseconds("took_ns", &work->took, kLongestWork);
  json.Nanoseconds("waited_ns", &work->waited, kLongestWork);
  json.Int("bytes_in", &work->bytes_in, 0, kMaxBytes);
  json.Int("bytes_out", &work->bytes_out, 0, kMaxBytes);
}

template <typename Json, typename T>
void DescribeResult(Json& json, T* run) {
  json.Plain("scenario", &run->scenario);
  json.Plain("target", &run->target);
  json.Time("started", &run->started);
  json.Nanoseconds("warm_up_ns", &run->warm_up, kLongestRun);
  json.Nanoseconds("length_ns", &run->length, kLongestRun);
  json.Number("intended_rate", &run->intended_rate, 0, kMaxRate);
  json.Plain("environment", &run->environment);
  json.Object("total", [run](auto& total) { DescribeTally(total, &run->total); });
  json.Map("by_kind", &run->by_kind, [](auto& kind, auto* tally) { DescribeTally(kind, tally); });
  json.List("faults", &run->faults, [](auto& each, auto* fault) { DescribeFault(each, fault); });
  json.Object("generator", [run](auto& health) { DescribeGenerator(health, &run->generator); });
  json.OptionalCounts("server_cpu_us", &run->server_cpu_us, kMaxCount);
  json.OptionalList("devices", &run->devices,
                    [](auto& each, auto* use) { DescribeDeviceUse(each, use); });
  json.List("seconds", &run->seconds,
            [](auto& each, auto* second) { DescribeSecond(each, second); });
}

template <typename Json, typename T>
void DescribeCriterion(Json& json, T* row) {
  json.Plain("name", &row->name);
  json.Plain("wanted", &row->wanted);
  json.Plain("measured", &row->measured);
  json.Named("state", &row->state,
             {CriterionState::kHeld, CriterionState::kBroken, CriterionState::kNotMeasurable},
             CriterionStateName);
  json.Plain("reason", &row->reason);
}

template <typename Json, typename T>
void DescribeVerdict(Json& json, T* verdict) {
  json.Named("outcome", &verdict->outcome, {Ruling::kPass, Ruling::kFail, Ruling::kInconclusive},
             RulingName);
  json.Plain("doubts", &verdict->doubts);
  json.List("criteria", &verdict->criteria,
            [](auto& each, auto* row) { DescribeCriterion(each, row); });
}

template <typename Json, typename T>
void DescribePoint(Json& json, T* point) {
  json.Number("rate", &point->rate, 0, kMaxRate);
  json.Number("achieved", &point->achieved, 0, kMaxRate);
  json.Nanoseconds("p50_ns", &point->p50, kLongestLatency);
  json.Nanoseconds("p99_ns", &point->p99, kLongestLatency);
  json.Number("error_share", &point->error_share, 0, 1);
  json.Number("degraded_share", &point->degraded_share, 0, 1);
  json.OptionalObject("measured_recall", &point->measured_recall,
                      [](auto& recall, auto* counts) { DescribeRecall(recall, counts); });
  json.Int("windows", &point->windows, 1, 1'000'000);
}

template <typename Json, typename T>
void DescribeCapacity(Json& json, T* capacity) {
  json.Named("ending", &capacity->ending,
             {CapacityEnding::kFound, CapacityEnding::kBelowLowest, CapacityEnding::kAboveHighest,
              CapacityEnding::kInconclusive},
             CapacityEndingName);
  json.Number("rate", &capacity->rate, 0, kMaxRate);
  json.Plain("why", &capacity->why);
  json.List("curve", &capacity->curve, [](auto& each, auto* point) { DescribePoint(each, point); });
  json.Index("knee", &capacity->knee, capacity->curve.size());
}

template <typename Json, typename T>
void DescribeReport(Json& json, T* data) {
  // First: of another version nothing else can be expected to fit.
  int version = kJsonReportVersion;
  json.Int("format_version", &version, kJsonReportVersion, kJsonReportVersion);
  json.Object("verdict", [data](auto& verdict) { DescribeVerdict(verdict, &data->verdict); });
  json.List("latency_limits", &data->latency_limits, [](auto& each, auto* limit) {
    each.Number("quantile", &limit->first, 0, 1);
    each.Nanoseconds("at_most_ns", &limit->second, kLongestRun);
  });
  json.OptionalObject("capacity", &data->capacity,
                      [](auto& found, auto* capacity) { DescribeCapacity(found, capacity); });
  json.Object("result", [data](auto& result) { DescribeResult(result, &data->result); });
}

// ---- documents ----

// A parsed value takes many times the bytes of its text, and nesting takes the most: both
// are bounded before there is a document.  The library's own hook for that looks through all
// siblings of each object that ends.
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
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    values += c == '[' || c == '{' || c == ',' ? 1 : 0;
    if (depth > kMaxDepth || values > kMaxJsonReportValues) {
      return absl::InvalidArgumentError(
          absl::StrCat("the report is nested more than ", kMaxDepth, " deep or has more than ",
                       kMaxJsonReportValues, " values; no report is"));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseDocument(absl::string_view text, JsonReader::Json* json) {
  RETURN_IF_ERROR(CheckSize(text));
  *json = JsonReader::Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (json->is_discarded()) return absl::InvalidArgumentError("the report is not valid JSON");
  if (json->is_object()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the report must be a JSON object, not ", json->type_name()));
}

}  // namespace

std::string JsonReport(const ReportData& data) {
  JsonWriter::Json json;
  JsonWriter writer(&json);
  DescribeReport(writer, &data);
  // Names from outside may be no UTF-8.
  return absl::StrCat(json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                                JsonWriter::Json::error_handler_t::replace),
                      "\n");
}

absl::StatusOr<ReportData> ParseJsonReport(absl::string_view text) {
  JsonReader::Json json;
  RETURN_IF_ERROR(ParseDocument(text, &json));
  JsonReader::Document document;
  JsonReader reader(json, &document);
  ReportData data;
  DescribeReport(reader, &data);
  const std::vector<Second>& seconds = data.result.seconds;
  for (size_t i = 1; i < seconds.size(); ++i) {
    if (seconds[i].second == seconds[i - 1].second + 1) continue;
    reader.AddProblem(absl::StrCat("result.seconds[", i, "].second"),
                      "must follow the one before it");
  }
  RETURN_IF_ERROR(document.status);
  return data;
}

}  // namespace sightline
