#include "services/sightlinectl/precision_bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/models/precision/agreement.h"
#include "services/sightlinectl/precision_output.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;

constexpr int kItems = 25;

// A report of `texts` texts whose scores lie beside those that every CPU has in float32, by
// `noise` of each precision.
PrecisionReport MakeReport(const std::string& cpu, int texts, const std::string& probes,
                           const std::map<std::string, float>& noise, bool with_texts = false) {
  PrecisionReport report;
  report.set_format_version(1);
  report.set_model("abcdef");
  report.set_program("0123");
  report.set_cpu(cpu);
  report.set_probes(probes);
  report.set_item_count(kItems);
  std::mt19937 truth(7), drawn(static_cast<unsigned>(cpu.size()));
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> reference;
  for (int i = 0; i < texts * kItems; ++i) reference.push_back(uniform(truth));
  for (const char* precision : {"float32", "bfloat16", "int8"}) {
    if (noise.count(precision) == 0) continue;
    PrecisionResult& result = *report.add_results();
    result.set_precision(precision);
    for (PrecisionScores* scores : {result.mutable_pairs(), result.mutable_texts()}) {
      scores->set_seconds(0.001 * report.results_size());
      for (const float score : reference) {
        scores->add_scores(score + noise.at(precision) * uniform(drawn));
      }
      const auto& float32 =
          scores == &result.pairs() ? report.results(0).pairs() : report.results(0).texts();
      *scores->mutable_agreement() =
          Compare(float32.scores(), scores->scores(), kItems, std::vector<std::vector<int>>(texts));
    }
    if (!with_texts) result.clear_texts();
  }
  return report;
}

// --- the slow and obvious way, of one text ---

std::set<int> TopTen(const std::vector<float>& scores) {
  std::set<int> top;
  while (top.size() < 10) {
    int best = -1;
    for (int i = 0; i < kItems; ++i) {
      if (top.count(i) == 0 && (best < 0 || scores[i] > scores[best])) best = i;
    }
    top.insert(best);
  }
  return top;
}

struct Slow {
  double overlap = 0, least_overlap = 1, kendall = 0, greatest = 0;
};

std::vector<float> TextOf(const PrecisionScores& scores, int text) {
  return {scores.scores().begin() + text * kItems, scores.scores().begin() + (text + 1) * kItems};
}

Slow SlowDistance(const PrecisionScores& a, const PrecisionScores& b, int texts) {
  Slow slow;
  for (int text = 0; text < texts; ++text) {
    const std::vector<float> of_a = TextOf(a, text), of_b = TextOf(b, text);
    const std::set<int> top_a = TopTen(of_a), top_b = TopTen(of_b);
    double both = 0, order = 0;
    for (const int item : top_a) both += top_b.count(item) / 10.0;
    for (int i = 0; i < kItems; ++i) {
      slow.greatest = std::max(slow.greatest, std::abs(double{of_a[i]} - of_b[i]));
      for (int j = 0; j < i; ++j) {
        order += (of_a[i] < of_a[j]) == (of_b[i] < of_b[j]) ? 1 : -1;  // no score is there twice
      }
    }
    slow.overlap += both / texts;
    slow.least_overlap = std::min(slow.least_overlap, both);
    slow.kendall += 2.0 * order / (kItems * (kItems - 1)) / texts;
  }
  return slow;
}

TEST_CASE("replicas lie apart as a slow count of their scores has it") {
  const std::vector<PrecisionReport> reports = {
      MakeReport("avx2", 6, "p", {{"float32", 0}, {"int8", 0.3f}}),
      MakeReport("avx512", 4, "p", {{"float32", 1e-6f}, {"bfloat16", 0.05f}, {"int8", 0.2f}})};
  const auto bound = BoundBetween(reports);
  REQUIRE(bound.ok());
  REQUIRE(bound->distances.size() == 10);  // every two of five
  for (const PrecisionDistance& distance : bound->distances) {
    const PrecisionReport& a = reports[distance.a.report];
    const PrecisionReport& b = reports[distance.b.report];
    // Texts that both have.
    const int texts = &a == &b && distance.a.report == 0 ? 6 : 4;
    const Slow slow = SlowDistance(a.results(distance.a.result).pairs(),
                                   b.results(distance.b.result).pairs(), texts);
    REQUIRE(distance.part == ModelPart::kPairs);
    REQUIRE(distance.top10_overlap == Approx(slow.overlap));
    REQUIRE(distance.least_top10_overlap.has_value());
    REQUIRE(*distance.least_top10_overlap == Approx(slow.least_overlap));
    REQUIRE(distance.kendall == Approx(slow.kendall));
    REQUIRE(distance.greatest_difference == Approx(slow.greatest));
  }
  REQUIRE_FALSE(absl::StrContains(BoundText(reports, *bound), "by float32:"));
}

TEST_CASE("reports of other probes are bound over float32, which never tells less than there is") {
  const std::vector<PrecisionReport> alike = {
      MakeReport("avx2", 6, "p", {{"float32", 0}, {"int8", 0.1f}}),
      MakeReport("avx512", 6, "p", {{"float32", 0}, {"int8", 0.06f}})};
  std::vector<PrecisionReport> other = alike;
  other[1].set_probes("q");
  const auto measured = BoundBetween(alike), estimated = BoundBetween(other);
  REQUIRE(measured->distances.size() == 6);
  REQUIRE(estimated->distances.size() == 6);
  for (size_t i = 0; i < measured->distances.size(); ++i) {
    const PrecisionDistance& truth = measured->distances[i];
    const PrecisionDistance& bound = estimated->distances[i];
    REQUIRE(bound.least_top10_overlap.has_value() == (bound.a.report == bound.b.report));
    REQUIRE(bound.top10_overlap <= truth.top10_overlap + 1e-9);
    REQUIRE(bound.kendall <= truth.kendall + 1e-9);
    REQUIRE(bound.greatest_difference >= truth.greatest_difference - 1e-9);
    if (bound.least_top10_overlap.has_value()) continue;
    const auto& a = other[bound.a.report].results(bound.a.result).pairs().agreement();
    const auto& b = other[bound.b.report].results(bound.b.result).pairs().agreement();
    REQUIRE(bound.top10_overlap == Approx(a.top10_overlap() + b.top10_overlap() - 1));
    REQUIRE(bound.kendall == Approx(a.kendall() + b.kendall() - 1));
    REQUIRE(bound.greatest_difference == Approx(a.greatest_difference() + b.greatest_difference()));
  }
  REQUIRE(absl::StrContains(BoundText(other, *estimated), "by float32: the two have other probes"));
}

TEST_CASE("the worst of each precision is told with its CPU") {
  const std::vector<PrecisionReport> reports = {
      MakeReport("avx2", 6, "p", {{"float32", 0}, {"int8", 0.1f}}, /*with_texts=*/true),
      MakeReport("avx512", 6, "p", {{"float32", 0}, {"bfloat16", 0.02f}, {"int8", 0.5f}}, true)};
  const auto bound = BoundBetween(reports);
  REQUIRE(bound.ok());
  REQUIRE(bound->worst.size() == 6);
  for (const WorstAgreement& worst : bound->worst) {
    double least = 2, kendall = 2, greatest = -1;
    int where = -1;
    for (int r = 0; r < 2; ++r) {
      for (const PrecisionResult& result : reports[r].results()) {
        if (result.precision() != worst.precision) continue;
        const auto& agreement = ScoresOf(result, worst.part)->agreement();
        if (agreement.top10_overlap() < least) {
          least = agreement.top10_overlap();
          where = r;
        }
        kendall = std::min(kendall, agreement.kendall());
        greatest = std::max(greatest, agreement.greatest_difference());
      }
    }
    INFO(worst.precision << " " << PartName(worst.part));
    REQUIRE(worst.top10_overlap == least);
    REQUIRE(worst.report == where);
    REQUIRE(worst.kendall == kendall);
    REQUIRE(worst.greatest_difference == greatest);
  }
  REQUIRE(bound->distances.size() == 20);
}

TEST_CASE("reports of other models and programs are not compared") {
  const PrecisionReport one = MakeReport("avx2", 2, "p", {{"float32", 0}});
  PrecisionReport model = one, program = one;
  model.set_model("\x1b[1m");
  program.set_program("4567");
  for (const PrecisionReport& other : {model, program}) {
    const std::vector<PrecisionReport> reports = {one, other};
    const absl::Status status = BoundBetween(reports).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_FALSE(absl::StrContains(status.message(), "\x1b"));
  }
}

TEST_CASE("models that compute in float32 alone have nothing to compare, and it is said") {
  PrecisionReport report;
  report.add_results()->set_precision("float32");
  const std::vector<PrecisionReport> reports = {report, report};
  const auto bound = BoundBetween(reports);
  REQUIRE(bound.ok());
  REQUIRE(absl::StrContains(BoundText(reports, *bound), "no scores to compare"));
  REQUIRE(absl::StrContains(ReportText(report), "it computes in float32 alone"));
  REQUIRE(absl::StrContains(PrecisionPlot(reports), "</svg>"));
}

}  // namespace
}  // namespace sightline
