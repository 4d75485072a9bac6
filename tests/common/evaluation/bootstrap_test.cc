#include "common/evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

DifferenceTable Table(const std::vector<std::vector<double>>& rows) {
  DifferenceTable table(rows.size(), rows[0].size());
  for (size_t q = 0; q < rows.size(); ++q) {
    for (size_t m = 0; m < rows[q].size(); ++m) table.at(q, m) = rows[q][m];
  }
  return table;
}

// Wins, draws and losses of R@1.
std::vector<std::vector<double>> Outcomes(int wins, int draws, int losses) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < wins; ++i) rows.push_back({1});
  for (int i = 0; i < draws; ++i) rows.push_back({0});
  for (int i = 0; i < losses; ++i) rows.push_back({-1});
  return rows;
}

// The same by the book, with another generator and whole lists of draws.
Interval SlowBootstrap(const std::vector<double>& differences, int resamples, double confidence) {
  std::mt19937 random(99);
  std::uniform_int_distribution<size_t> any(0, differences.size() - 1);
  std::vector<double> means;
  for (int i = 0; i < resamples; ++i) {
    std::vector<double> sample;
    for (size_t q = 0; q < differences.size(); ++q) sample.push_back(differences[any(random)]);
    double sum = 0;
    for (const double d : sample) sum += d;
    means.push_back(sum / sample.size());
  }
  std::sort(means.begin(), means.end());
  const double tail = (1 - confidence) / 2;
  double mean = 0;
  for (const double d : differences) mean += d / differences.size();
  return {mean, means[std::floor(tail * resamples)], means[std::ceil((1 - tail) * resamples) - 1]};
}

TEST_CASE("methods that answer alike differ by nothing, surely") {
  ComputePool pool(1);
  const Interval interval = PairedBootstrap(Table(Outcomes(0, 50, 0)), {}, &pool)[0];
  REQUIRE(interval.difference == 0);
  REQUIRE(interval.low == 0);
  REQUIRE(interval.high == 0);
  const Interval constant = PairedBootstrap(Table(Outcomes(20, 0, 0)), {}, &pool)[0];
  REQUIRE(constant.low == 1);
  REQUIRE(constant.high == 1);
}

TEST_CASE("intervals are those of a bootstrap by the book") {
  ComputePool pool(2);
  std::mt19937 random(3);
  std::vector<std::vector<double>> rows;
  for (int q = 0; q < 300; ++q) {
    const double win = static_cast<int>(random() % 10 < 3) - static_cast<int>(random() % 10 < 1);
    rows.push_back({win, 1.0 / (1 + random() % 50) - 1.0 / (1 + random() % 50)});
  }
  BootstrapOptions options;
  const std::vector<Interval> intervals = PairedBootstrap(Table(rows), options, &pool);
  for (int m = 0; m < 2; ++m) {
    std::vector<double> column;
    for (const auto& row : rows) column.push_back(row[m]);
    const Interval slow = SlowBootstrap(column, options.resamples, options.confidence);
    // Standard error of a percentile of 10 000 resamples: about 0.05 of a standard error.
    const double width = slow.high - slow.low;
    REQUIRE(intervals[m].difference == Approx(slow.difference));
    REQUIRE(intervals[m].low == Approx(slow.low).margin(0.05 * width));
    REQUIRE(intervals[m].high == Approx(slow.high).margin(0.05 * width));
    REQUIRE(intervals[m].low <= intervals[m].difference);
    REQUIRE(intervals[m].difference <= intervals[m].high);
  }
}

TEST_CASE("more queries with the same outcomes make a narrower interval") {
  ComputePool pool(1);
  const Interval few = PairedBootstrap(Table(Outcomes(6, 40, 4)), {}, &pool)[0];
  const Interval many = PairedBootstrap(Table(Outcomes(240, 1600, 160)), {}, &pool)[0];
  REQUIRE(few.difference == Approx(many.difference));
  REQUIRE(few.low < 0);
  REQUIRE(many.low > 0);
  REQUIRE(many.high - many.low < 0.3 * (few.high - few.low));
}

TEST_CASE("the seed decides, the number of threads does not") {
  ComputePool one(1), three(3);
  const DifferenceTable table = Table(Outcomes(30, 50, 20));
  BootstrapOptions options;
  options.resamples = 1000;
  const Interval alone = PairedBootstrap(table, options, &one)[0];
  const Interval shared = PairedBootstrap(table, options, &three)[0];
  REQUIRE(alone.low == shared.low);
  REQUIRE(alone.high == shared.high);
}

TEST_CASE("no queries and few resamples are answered") {
  ComputePool pool(1);
  const std::vector<Interval> none = PairedBootstrap(DifferenceTable(0, 2), {}, &pool);
  REQUIRE(none.size() == 2);
  REQUIRE(none[0].high == 0);
  REQUIRE(PairedBootstrap(DifferenceTable(5, 0), {}, &pool).empty());
  BootstrapOptions options;
  options.resamples = 1;
  const Interval single = PairedBootstrap(Table(Outcomes(1, 1, 1)), options, &pool)[0];
  REQUIRE(single.low == single.high);
}

}  // namespace
}  // namespace sightline
