// The scenarios that are shipped.
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "common/base/files.h"
#include "loadtest/scenario/scenario.h"
#include "loadtest/scenario/workload.h"
#include "loadtest/verdict/capacity.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr const char* kFolder = "loadtest/scenarios";

std::vector<std::string> ScenarioFiles() {
  const auto names = ListDirectory(kFolder);
  REQUIRE(names.ok());
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, ".yaml")) files.push_back(name);
  }
  return files;
}

TEST_CASE("every scenario can be read, is named as its file and makes requests") {
  const std::vector<std::string> files = ScenarioFiles();
  REQUIRE(files.size() >= 9);
  for (const std::string& file : files) {
    INFO(file);
    const auto scenario = ReadScenario(JoinPath(kFolder, file));
    REQUIRE(scenario.status().message() == "");
    REQUIRE(scenario->name + ".yaml" == file);
    REQUIRE_FALSE(scenario->description.empty());
    // Another package's pictures are there where the demo was set up.
    if (absl::c_any_of(scenario->mix, [](const MixEntry& entry) {
          return absl::StartsWith(entry.queries, "/");
        })) {
      continue;
    }
    const auto workload = Workload::Load(*scenario, [](const std::string& index) {
      REQUIRE(index == "images");
      return std::vector<std::string>{"a", "b"};
    });
    REQUIRE(workload.status().message() == "");
    for (int n = 0; n < 100; ++n) {
      const std::string index = workload->Make(n).request.index;
      REQUIRE((index == "images" || (scenario->name == "million" && index == "exact")));
    }
  }
}

TEST_CASE("every percentile of a scenario will have the samples that it needs") {
  for (const std::string& file : ScenarioFiles()) {
    INFO(file);
    const auto scenario = ReadScenario(JoinPath(kFolder, file));
    REQUIRE(scenario.ok());
    // A search for the capacity stretches its windows, the most at the lowest rate.
    const auto& capacity = scenario->capacity;
    const double rate = capacity ? capacity->lowest : scenario->arrivals.rate;
    const absl::Duration length =
        capacity ? WindowAt(*capacity, scenario->slo, rate) : scenario->length;
    for (const auto& [share, limit] : scenario->slo.latency) {
      REQUIRE((1 - share) * rate * absl::ToDoubleSeconds(length) > 11);
    }
  }
}

TEST_CASE("a ratio of what happens in faults to what happens outside will have its samples") {
  for (const std::string& file : ScenarioFiles()) {
    INFO(file);
    const auto scenario = ReadScenario(JoinPath(kFolder, file));
    REQUIRE(scenario.ok());
    if (!scenario->slo.max_p99_ratio_in_faults.has_value()) continue;
    absl::Duration inside;
    for (const FaultSpec& fault : scenario->faults) inside += fault.lasting;
    for (const absl::Duration part : {inside, scenario->length - inside}) {
      REQUIRE(0.01 * scenario->arrivals.rate * absl::ToDoubleSeconds(part) > 11);
    }
  }
}

// A promise of recall is not one that was kept.
TEST_CASE("over a million vectors it is measured what approximate answers find") {
  for (const std::string name : {"million", "million_capacity"}) {
    INFO(name);
    const auto scenario = ReadScenario(JoinPath(kFolder, name + ".yaml"));
    REQUIRE(scenario.ok());
    REQUIRE(*scenario->slo.min_measured_recall >= 0.93);
    REQUIRE(*scenario->slo.min_measured_recall < 0.95);
    REQUIRE(absl::c_any_of(scenario->mix, [](const MixEntry& entry) {
      return entry.index == "images" && entry.measure_recall == 10;
    }));
  }
}

// A fleet that fails, or leaves reranking or shards out, is as fast as one could wish.
TEST_CASE("every scenario says how many requests may fail and how many answers be degraded") {
  for (const std::string& file : ScenarioFiles()) {
    INFO(file);
    const auto scenario = ReadScenario(JoinPath(kFolder, file));
    REQUIRE(scenario.ok());
    REQUIRE(scenario->slo.max_error_share.has_value());
    REQUIRE(*scenario->slo.max_error_share <= 0.01);
    REQUIRE(scenario->slo.max_degraded_share.has_value());
    if (absl::StrContains(scenario->name, "overload")) continue;  // takes from all of them
    // Hardly more than while a part is gone.
    absl::Duration faults;
    for (const FaultSpec& fault : scenario->faults) {
      if (fault.kind == FaultKind::kKill || fault.kind == FaultKind::kPause) {
        faults += fault.lasting;
      }
    }
    const double share = absl::FDivDuration(faults, scenario->length);
    REQUIRE(*scenario->slo.max_degraded_share <= 0.1 + 1.3 * share);
  }
}

}  // namespace
}  // namespace sightline
