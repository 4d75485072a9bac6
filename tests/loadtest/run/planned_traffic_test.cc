#include "loadtest/run/planned_traffic.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Four texts asked at a rate that a search sets.
class Bench {
 public:
  Bench() {
    REQUIRE(WriteFileAtomically(dir_.File("texts.txt"), "one\ntwo\nthree\nfour\n").ok());
    MixEntry entry;
    entry.index = "images";
    entry.queries = dir_.File("texts.txt");
    scenario_.mix = {entry};
    scenario_.capacity = CapacitySpec();
    auto traffic = PlannedTraffic::Load(
        scenario_, [](const std::string&) { return std::vector<std::string>(); });
    REQUIRE(traffic.status().message() == "");
    traffic_ = *std::move(traffic);
  }

  std::vector<absl::Duration> Moments(int round) const {
    const auto arrivals = traffic_->MakeArrivals(PlanAtRate(scenario_, 5, round));
    std::vector<absl::Duration> moments;
    while (const absl::optional<absl::Duration> at = arrivals()) moments.push_back(*at);
    return moments;
  }

  std::vector<std::string> Texts(int round) const {
    std::vector<std::string> texts;
    for (int n = 0; n < 4; ++n) {
      texts.push_back(std::get<TextQuery>(traffic_->Make(round, n).request.query).text);
    }
    return texts;
  }

 private:
  TempDir dir_;
  Scenario scenario_;
  std::unique_ptr<PlannedTraffic> traffic_;
};

TEST_CASE("rounds are alike in kind and differ in chance") {
  const Bench bench;
  const std::vector<absl::Duration> first = bench.Moments(0), second = bench.Moments(1);
  REQUIRE(first == bench.Moments(0));
  REQUIRE(first != second);
  // 25 s at 5 a second; four deviations.
  REQUIRE(first.size() == Approx(125).margin(45));
  REQUIRE(second.size() == Approx(125).margin(45));
  REQUIRE(bench.Texts(0) == bench.Texts(0));
  REQUIRE(bench.Texts(0) != bench.Texts(1));
}

}  // namespace
}  // namespace sightline
