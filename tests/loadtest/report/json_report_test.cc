#include "loadtest/report/json_report.h"

#include <nlohmann/json.hpp>

#include "common/base/files.h"
#include "tests/loadtest/report/sample_data.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;
using Json = nlohmann::json;

// Errors of ParseJsonReport for a small report with `change` made to it.
template <typename Change>
std::string ErrorAfter(const Change& change) {
  ReportData data;
  data.result.seconds.resize(2);
  data.result.seconds[1].second = 1;
  data.result.total.latency.Record(absl::Milliseconds(3), 40);
  data.result.total.codes["OK"] = 1;
  Json json = Json::parse(JsonReport(data));
  REQUIRE(ParseJsonReport(json.dump()).ok());
  change(json);
  const auto read = ParseJsonReport(json.dump());
  REQUIRE(!read.ok());
  REQUIRE(absl::IsInvalidArgument(read.status()));
  return std::string(read.status().message());
}

void RequireSame(const LatencyHistogram& a, const LatencyHistogram& b) {
  REQUIRE(a.count() == b.count());
  REQUIRE(a.min() == b.min());
  REQUIRE(a.max() == b.max());
  REQUIRE(absl::AbsDuration(a.mean() - b.mean()) <= absl::Nanoseconds(1));
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    REQUIRE(a.Quantile(share) == b.Quantile(share));
  }
}

TEST_CASE("a report is read back as it was written") {
  const ReportData data = SampleData();
  const std::string text = JsonReport(data);
  const auto read = ParseJsonReport(text);
  INFO(read.status());
  REQUIRE(read.ok());
  // Whatever is in a report is in its text.
  REQUIRE(JsonReport(*read) == text);
  RequireSame(data.result.total.latency, read->result.total.latency);
  RequireSame(data.result.by_kind.at("image").stages.at("rerank"),
              read->result.by_kind.at("image").stages.at("rerank"));
  REQUIRE(read->result.started == data.result.started);
  REQUIRE(read->capacity->knee == data.capacity->knee);
  REQUIRE(read->result.by_kind.at("text").measured_recall->recall() == 0.95);
  REQUIRE(read->capacity->curve.back().measured_recall->found == 873);
}

// Reports of the version that wrote them first: a run with a fault, and a made-up one with a
// search for the capacity and a fault that never healed.  What is written is compared too, as
// that is what the other version has to read.
TEST_CASE("reports are read and written as they always were") {
  for (const std::string name : {"short_kill", "capacity"}) {
    const auto text = ReadFile("tests/testdata/reports/" + name + ".json", kMaxJsonReportBytes);
    REQUIRE(text.ok());
    const auto read = ParseJsonReport(*text);
    INFO(name << ": " << read.status());
    REQUIRE(read.ok());
    REQUIRE(Json::parse(JsonReport(*read)) == Json::parse(*text));
  }
}

TEST_CASE("a fault that never healed and a missing capacity are read back") {
  ReportData data;
  data.result.faults = {{"kill", absl::Seconds(1), absl::Seconds(1), absl::InfiniteDuration(), {}}};
  const auto read = ParseJsonReport(JsonReport(data));
  REQUIRE(read.ok());
  REQUIRE(read->result.faults[0].whole_again == absl::InfiniteDuration());
  REQUIRE(!read->capacity.has_value());
}

TEST_CASE("names that are no UTF-8 do not keep a report from being read") {
  REQUIRE(ParseJsonReport(JsonReport(HostileData())).ok());
}

TEST_CASE("an error names the key and what is wanted of it") {
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["format_version"] = 2; }),
               Contains("format_version must be a whole number of 1 to 1"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json.erase("result"); }),
               Contains("result must be an object, not null"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["total"]["ok"] = 41; }),
               Contains("result.total.ok must be a whole number of 0 to 0"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["seconds"][1]["sent"] = -1; }),
               Contains("result.seconds[1].sent must be"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["seconds"][1]["second"] = 5; }),
               Contains("seconds[1].second must follow"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["total"]["codes"]["OK"] = "x"; }),
               Contains("result.total.codes.OK must be"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["verdict"]["outcome"] = "maybe"; }),
               Contains("verdict.outcome must be one of: pass, fail, inconclusive"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["started"] = "yesterday"; }),
               Contains("result.started must be a time"));
  REQUIRE_THAT(ErrorAfter([](Json& json) { json["result"]["warm_up_ns"] = 1.5; }),
               Contains("result.warm_up_ns must be"));
}

TEST_CASE("no more of the nearest items are found than there are") {
  REQUIRE_THAT(ErrorAfter([](Json& json) {
                 json["result"]["total"]["measured_recall"] = {
                     {"answers", 1}, {"other_generation", 0}, {"nearest", 10}, {"found", 11}};
               }),
               Contains("result.total.measured_recall.found must be a whole number of 0 to 10"));
}

TEST_CASE("buckets that no histogram has are refused") {
  const auto broken = [](const char* key, const Json& value) {
    return ErrorAfter([&](Json& json) { json["result"]["total"]["latency"][key] = value; });
  };
  REQUIRE_THAT(broken("buckets_us", {1, 2, 3}), Contains("result.total.latency.buckets_us"));
  REQUIRE_THAT(broken("buckets_us", {3001, 40}), Contains("buckets of a latency histogram"));
  REQUIRE_THAT(broken("count", 39), Contains("buckets_us"));
  REQUIRE_THAT(broken("min_ns", 10), Contains("min_ns"));
  REQUIRE_THAT(broken("max_ns", 9'000'000'000), Contains("max_ns"));
  REQUIRE_THAT(broken("mean_ns", 1), Contains("mean_ns"));
}

TEST_CASE("bytes that are no report are refused") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string("\xff"), std::string(1000, '['), std::string("{\"format_version\":1e400}")}) {
    REQUIRE(absl::IsInvalidArgument(ParseJsonReport(text).status()));
  }
}

TEST_CASE("every truncation is refused") {
  ReportData data;
  data.result.total.latency.Record(absl::Milliseconds(3));
  const std::string text = JsonReport(data);
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    REQUIRE(!ParseJsonReport(text.substr(0, size)).ok());
  }
}

TEST_CASE("deep nesting and too many values are refused before they are parsed") {
  REQUIRE_THAT(std::string(ParseJsonReport(std::string(100, '[')).status().message()),
               Contains("nested"));
  REQUIRE_THAT(
      std::string(ParseJsonReport("[" + std::string(kMaxJsonReportValues, ',')).status().message()),
      Contains("values"));
  // Brackets in names are none.
  ReportData data;
  data.result.scenario = std::string(100, '[') + "\"{\\";
  REQUIRE(ParseJsonReport(JsonReport(data))->result.scenario == data.result.scenario);
}

TEST_CASE("histograms that take much more than their text are refused") {
  ReportData data;
  LatencyHistogram& wide = data.result.total.latency;
  wide.Record(absl::Microseconds(1));
  wide.Record(absl::Hours(1));
  Json json = Json::parse(JsonReport(data));
  Json& stages = json["result"]["total"]["stages"];
  for (int i = 0; i < 30000; ++i) stages[std::to_string(i)] = json["result"]["total"]["latency"];
  REQUIRE_THAT(std::string(ParseJsonReport(json.dump()).status().message()), Contains("512 MiB"));
}

}  // namespace
}  // namespace sightline
