#include "deploy/gpu/brute_force.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/float16.h"
#include "common/base/mutex.h"

namespace sightline {
namespace {

// Rows of a piece of work, at least, and scores that are kept until the best of them are known:
// more than a list has.
constexpr int64_t kPiece = 4096;
// More than are compared, for rows that change places at the end.
constexpr int kMore = 16;
// Of sums of float32 of unit vectors and a little noise.
constexpr double kTolerance = 1e-5;

using Scored = std::pair<double, int64_t>;  // the score's negative, so that the best is the least

void KeepBest(std::vector<Scored>* scored, size_t count) {
  if (scored->size() > count) {
    std::nth_element(scored->begin(), scored->begin() + static_cast<std::ptrdiff_t>(count),
                     scored->end());
    scored->resize(count);
  }
}

}  // namespace

std::vector<PlainList> BruteForce(const VectorView& rows, const EmbeddingMatrix& queries, int top_k,
                                  ComputePool* pool) {
  const size_t kept = static_cast<size_t>(top_k) + kMore;
  Mutex mutex;
  std::vector<std::vector<Scored>> best(queries.rows());
  pool->ParallelFor(rows.rows, kPiece, [&](int64_t begin, int64_t end) {
    std::vector<std::vector<Scored>> own(queries.rows());
    std::vector<float> numbers(rows.dimension);
    for (int64_t row = begin; row < end; ++row) {
      Float16ToFloat32(rows.row(row), numbers.size(), numbers.data());
      for (int64_t query = 0; query < queries.rows(); ++query) {
        const auto wanted = queries.row(query);
        double score = 0;
        for (size_t i = 0; i < numbers.size(); ++i) score += double{numbers[i]} * wanted[i];
        own[query].emplace_back(-score, row);
        if (own[query].size() == kPiece) KeepBest(&own[query], kept);
      }
    }
    MutexLock lock(mutex);
    for (size_t query = 0; query < own.size(); ++query) {
      KeepBest(&own[query], kept);
      best[query].insert(best[query].end(), own[query].begin(), own[query].end());
    }
  });
  std::vector<PlainList> lists;
  for (std::vector<Scored>& scored : best) {
    KeepBest(&scored, kept);
    std::sort(scored.begin(), scored.end());
    PlainList& list = lists.emplace_back();
    for (const auto& [negative, row] : scored) {
      list.rows.push_back(row);
      list.scores.push_back(-negative);
    }
  }
  return lists;
}

std::string DifferenceFrom(const PlainList& expected, const std::vector<Neighbor>& found,
                           int top_k) {
  const size_t count = std::min(expected.rows.size(), static_cast<size_t>(top_k));
  if (found.size() != count) {
    return absl::StrCat("there are ", found.size(), " rows, and should be ", count);
  }
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    if (std::abs(found[i].score - expected.scores[i]) > kTolerance) {
      return absl::StrCat("place ", i, " has score ", found[i].score, ", and should have ",
                          expected.scores[i]);
    }
    const auto at = std::find(expected.rows.begin(), expected.rows.end(), found[i].row);
    if (at == expected.rows.end() || !seen.insert(found[i].row).second) {
      return absl::StrCat("place ", i, " has row ", found[i].row, ", and should have ",
                          expected.rows[i]);
    }
    const double exact = expected.scores[at - expected.rows.begin()];
    if (std::abs(exact - expected.scores[i]) > kTolerance) {
      return absl::StrCat("place ", i, " has row ", found[i].row, ", whose score is ", exact,
                          ", and should have ", expected.rows[i]);
    }
  }
  return "";
}

}  // namespace sightline
