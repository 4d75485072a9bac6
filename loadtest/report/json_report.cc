#include "loadtest/report/json_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "loadtest/report/figures.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

// None if there is no end to it.
Json Nanoseconds(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? Json() : Json(absl::ToInt64Nanoseconds(duration));
}

Json Nanoseconds(const absl::optional<absl::Duration>& duration) {
  return duration.has_value() ? Nanoseconds(*duration) : Json();
}

Json HistogramJson(const LatencyHistogram& histogram) {
  Json json = {{"count", histogram.count()}};
  if (histogram.count() == 0) return json;
  json["min_ns"] = Nanoseconds(histogram.min());
  json["mean_ns"] = Nanoseconds(histogram.mean());
  json["max_ns"] = Nanoseconds(histogram.max());
  // For other readers; our own computes them anew.
  for (const double share : kShownQuantiles) {
    if (const auto quantile = histogram.Quantile(share); quantile.has_value()) {
      json["quantiles_ns"][QuantileName(share)] = Nanoseconds(*quantile);
    }
  }
  Json& buckets = json["buckets_us"] = Json::array();
  for (const LatencyHistogram::Bucket& bucket : histogram.Buckets()) {
    buckets.push_back(absl::ToInt64Microseconds(bucket.low));
    buckets.push_back(bucket.count);
  }
  return json;
}

Json TallyJson(const Tally& tally) {
  Json stages = Json::object();
  for (const auto& [name, histogram] : tally.stages) stages[name] = HistogramJson(histogram);
  return {{"count", tally.count},
          {"ok", tally.ok},
          {"degraded", tally.degraded},
          {"codes", tally.codes},
          {"degraded_reasons", tally.degraded_reasons},
          {"generations", tally.generations},
          {"check_failures", tally.check_failures},
          {"shards_asked", tally.shards_asked},
          {"shards_answered", tally.shards_answered},
          {"known_items_asked", tally.known_items_asked},
          {"known_items_found", tally.known_items_found},
          {"latency", HistogramJson(tally.latency)},
          {"stages", std::move(stages)}};
}

Json SecondJson(const Second& second) {
  return {{"second", second.second},
          {"intended", second.intended},
          {"sent", second.sent},
          {"ended", second.ended},
          {"outstanding", second.outstanding},
          {"tally", TallyJson(second.tally)}};
}

Json FaultJson(const FaultMark& fault) {
  return {{"name", fault.name},
          {"at_ns", Nanoseconds(fault.at)},
          {"ended_ns", Nanoseconds(fault.ended)},
          {"whole_again_ns", Nanoseconds(fault.whole_again)},
          {"failed_expectations", fault.failed_expectations}};
}

Json GeneratorJson(const GeneratorHealth& health) {
  return {{"lag", HistogramJson(health.lag)},
          {"late", health.late},
          {"late_after_ns", Nanoseconds(health.late_after)},
          {"cpu_ns", Nanoseconds(health.cpu)},
          {"kept_schedule", health.kept_schedule}};
}

Json ResultJson(const LoadResult& run) {
  Json json = {{"scenario", run.scenario},
               {"target", run.target},
               {"started", absl::FormatTime(absl::RFC3339_full, run.started, absl::UTCTimeZone())},
               {"warm_up_ns", Nanoseconds(run.warm_up)},
               {"length_ns", Nanoseconds(run.length)},
               {"intended_rate", run.intended_rate},
               {"environment", run.environment},
               {"total", TallyJson(run.total)},
               {"by_kind", Json::object()},
               {"faults", Json::array()},
               {"generator", GeneratorJson(run.generator)},
               {"seconds", Json::array()}};
  for (const auto& [kind, tally] : run.by_kind) json["by_kind"][kind] = TallyJson(tally);
  for (const FaultMark& fault : run.faults) json["faults"].push_back(FaultJson(fault));
  for (const Second& second : run.seconds) json["seconds"].push_back(SecondJson(second));
  return json;
}

Json VerdictJson(const Verdict& verdict) {
  Json json = {{"outcome", RulingName(verdict.outcome)},
               {"doubts", verdict.doubts},
               {"criteria", Json::array()}};
  for (const Criterion& row : verdict.criteria) {
    json["criteria"].push_back({{"name", row.name},
                                {"wanted", row.wanted},
                                {"measured", row.measured},
                                {"state", CriterionStateName(row.state)},
                                {"reason", row.reason}});
  }
  return json;
}

Json CapacityJson(const ReportedCapacity& capacity) {
  Json json = {{"ending", CapacityEndingName(capacity.ending)},
               {"rate", capacity.rate},
               {"why", capacity.why},
               {"knee", capacity.knee.has_value() ? Json(*capacity.knee) : Json()},
               {"curve", Json::array()}};
  for (const CurvePoint& point : capacity.curve) {
    json["curve"].push_back({{"rate", point.rate},
                             {"achieved", point.achieved},
                             {"p50_ns", Nanoseconds(point.p50)},
                             {"p99_ns", Nanoseconds(point.p99)},
                             {"error_share", point.error_share},
                             {"degraded_share", point.degraded_share},
                             {"windows", point.windows}});
  }
  return json;
}

}  // namespace

std::string JsonReport(const ReportData& data) {
  Json json = {{"format_version", kJsonReportVersion},
               {"verdict", VerdictJson(data.verdict)},
               {"latency_limits", Json::array()}};
  for (const auto& [share, limit] : data.latency_limits) {
    json["latency_limits"].push_back({{"quantile", share}, {"at_most_ns", Nanoseconds(limit)}});
  }
  if (data.capacity.has_value()) json["capacity"] = CapacityJson(*data.capacity);
  json["result"] = ResultJson(data.result);
  // Names from outside may be no UTF-8.
  return absl::StrCat(
      json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace), "\n");
}

}  // namespace sightline
