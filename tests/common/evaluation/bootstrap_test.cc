#include "common/evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

BootstrapTable Table(const std::vector<std::vector<double>>& rows) {
  BootstrapTable table(rows.size(), rows[0].size());
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
  const Interval interval = BootstrapMeans(Table(Outcomes(0, 50, 0)), {}, &pool)[0];
  REQUIRE(interval.estimate == 0);
  REQUIRE(interval.low == 0);
  REQUIRE(interval.high == 0);
  const Interval constant = BootstrapMeans(Table(Outcomes(20, 0, 0)), {}, &pool)[0];
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
  const std::vector<Interval> intervals = BootstrapMeans(Table(rows), options, &pool);
  for (int m = 0; m < 2; ++m) {
    std::vector<double> column;
    for (const auto& row : rows) column.push_back(row[m]);
    const Interval slow = SlowBootstrap(column, options.resamples, options.confidence);
    // Standard error of a percentile of 10 000 resamples: about 0.05 of a standard error.
    const double width = slow.high - slow.low;
    REQUIRE(intervals[m].estimate == Approx(slow.estimate));
    REQUIRE(intervals[m].low == Approx(slow.low).margin(0.05 * width));
    REQUIRE(intervals[m].high == Approx(slow.high).margin(0.05 * width));
    REQUIRE(intervals[m].low <= intervals[m].estimate);
    REQUIRE(intervals[m].estimate <= intervals[m].high);
  }
}

TEST_CASE("more queries with the same outcomes make a narrower interval") {
  ComputePool pool(1);
  const Interval few = BootstrapMeans(Table(Outcomes(6, 40, 4)), {}, &pool)[0];
  const Interval many = BootstrapMeans(Table(Outcomes(240, 1600, 160)), {}, &pool)[0];
  REQUIRE(few.estimate == Approx(many.estimate));
  REQUIRE(few.low < 0);
  REQUIRE(many.low > 0);
  REQUIRE(many.high - many.low < 0.3 * (few.high - few.low));
}

TEST_CASE("the seed decides, the number of threads does not") {
  ComputePool one(1), three(3);
  const BootstrapTable table = Table(Outcomes(30, 50, 20));
  BootstrapOptions options;
  options.resamples = 1000;
  const Interval alone = BootstrapMeans(table, options, &one)[0];
  const Interval shared = BootstrapMeans(table, options, &three)[0];
  REQUIRE(alone.low == shared.low);
  REQUIRE(alone.high == shared.high);
}

TEST_CASE("a statistic sees the sums of all columns over one draw of rows") {
  ComputePool pool(2);
  std::mt19937 random(6);
  // Found, asked, and twice as many asked, of groups of unequal size.
  std::vector<std::vector<double>> rows;
  for (int g = 0; g < 40; ++g) {
    const double asked = 1 + random() % 6;
    rows.push_back({std::min<double>(asked, random() % 4), asked, 2 * asked});
  }
  const auto ratios = [](absl::Span<const double> sums, absl::Span<double> statistics) {
    statistics[0] = sums[0] / sums[1];
    statistics[1] = sums[2] / sums[1];
  };
  const std::vector<Interval> intervals = Bootstrap(Table(rows), 2, ratios, {}, &pool);
  double found = 0, asked = 0;
  for (const auto& row : rows) {
    found += row[0];
    asked += row[1];
  }
  REQUIRE(intervals[0].estimate == Approx(found / asked));
  REQUIRE(intervals[0].low < intervals[0].estimate);
  REQUIRE(intervals[0].high > intervals[0].estimate);
  REQUIRE(intervals[1].low == 2);
  REQUIRE(intervals[1].high == 2);
}

TEST_CASE("how often rows are drawn is told of the draws that sums are made of") {
  ComputePool pool(2);
  const BootstrapTable table = Table(Outcomes(30, 50, 20));
  const auto mean = [&](absl::Span<const int> times, absl::Span<double> statistics) {
    double sum = 0;
    for (int64_t row = 0; row < table.rows(); ++row) sum += times[row] * table.row(row)[0];
    statistics[0] = sum / static_cast<double>(table.rows());
  };
  const Interval by_sums = BootstrapMeans(table, {}, &pool)[0];
  const Interval by_draws = BootstrapDraws(table.rows(), 1, mean, {}, &pool)[0];
  REQUIRE(by_draws.estimate == by_sums.estimate);
  REQUIRE(by_draws.low == by_sums.low);
  REQUIRE(by_draws.high == by_sums.high);
  REQUIRE(BootstrapDraws(0, 3, mean, {}, &pool).size() == 3);
}

TEST_CASE("no queries and few resamples are answered") {
  ComputePool pool(1);
  const std::vector<Interval> none = BootstrapMeans(BootstrapTable(0, 2), {}, &pool);
  REQUIRE(none.size() == 2);
  REQUIRE(none[0].high == 0);
  REQUIRE(BootstrapMeans(BootstrapTable(5, 0), {}, &pool).empty());
  BootstrapOptions options;
  options.resamples = 1;
  const Interval single = BootstrapMeans(Table(Outcomes(1, 1, 1)), options, &pool)[0];
  REQUIRE(single.low == single.high);
}

}  // namespace
}  // namespace sightline
