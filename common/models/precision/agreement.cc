#include "common/models/precision/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace sightline {
namespace {

constexpr int kTop = 10;

using Scores = absl::Span<const float>;

// Places of the best `count` scores, best first; equal ones in the order of their places.
std::vector<int> Best(Scores scores, int count) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  order.resize(std::min<size_t>(order.size(), count));
  return order;
}

double Overlap(Scores reference, Scores scores) {
  std::vector<int> a = Best(reference, kTop);
  std::vector<int> b = Best(scores, kTop);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(a.size());
}

int Sign(float difference) {
  return (difference > 0) - (difference < 0);
}

double Kendall(Scores a, Scores b) {
  int64_t agreeing = 0;  // less those that disagree
  int64_t told_apart_by_a = 0;
  int64_t told_apart_by_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int of_a = Sign(a[i] - a[j]);
      const int of_b = Sign(b[i] - b[j]);
      agreeing += of_a * of_b;
      told_apart_by_a += of_a * of_a;
      told_apart_by_b += of_b * of_b;
    }
  }
  if (told_apart_by_a == 0 && told_apart_by_b == 0) return 1;
  if (told_apart_by_a == 0 || told_apart_by_b == 0) return 0;
  // One root, for that of a square is exact: orders that are the same agree by 1 and not by more.
  return static_cast<double>(agreeing) /
         std::sqrt(static_cast<double>(told_apart_by_a) * static_cast<double>(told_apart_by_b));
}

double Deviation(Scores scores) {
  const auto count = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / count;
  double squares = 0;
  for (const float score : scores) squares += (score - mean) * (score - mean);
  return std::sqrt(squares / count);
}

}  // namespace

bundle::v1::PrecisionAgreement Compare(absl::Span<const float> reference,
                                       absl::Span<const float> scores, int item_count,
                                       const std::vector<std::vector<int>>& relevant) {
  bundle::v1::PrecisionAgreement agreement;
  const size_t texts = reference.size() / static_cast<size_t>(item_count);
  double overlap = 0;
  double kendall = 0;
  int labelled = 0;
  int found = 0;
  for (size_t text = 0; text < texts; ++text) {
    const Scores a = reference.subspan(text * item_count, item_count);
    const Scores b = scores.subspan(text * item_count, item_count);
    overlap += Overlap(a, b);
    kendall += Kendall(a, b);
    if (relevant[text].empty()) continue;
    ++labelled;
    found += std::count(relevant[text].begin(), relevant[text].end(), Best(b, 1).front()) > 0;
  }
  double greatest = 0;
  double sum = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double difference = std::abs(static_cast<double>(reference[i]) - scores[i]);
    greatest = std::max(greatest, difference);
    sum += difference;
  }
  agreement.set_top10_overlap(overlap / static_cast<double>(texts));
  agreement.set_kendall(kendall / static_cast<double>(texts));
  agreement.set_greatest_difference(greatest);
  agreement.set_mean_difference(sum / static_cast<double>(reference.size()));
  agreement.set_score_deviation(Deviation(reference));
  agreement.set_recall_at_1(labelled == 0 ? 0 : static_cast<double>(found) / labelled);
  return agreement;
}

}  // namespace sightline
