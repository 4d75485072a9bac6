// An index that finds what its effort reaches, for tests of those who choose efforts.
#ifndef SIGHTLINE_TESTS_SERVICES_INDEX_SEARCH_APPROXIMATE_INDEX_H_
#define SIGHTLINE_TESTS_SERVICES_INDEX_SEARCH_APPROXIMATE_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/index/index_checks.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"

namespace sightline {

// Compares the first `effort` rows of those that may be found; all of them where a filter lets no
// more than `kNarrow` through.
class ApproximateIndex : public VectorIndex {
 public:
  static constexpr int64_t kNarrow = 4;

  // What a search was asked.
  struct Asked {
    int64_t queries = 0;
    int top_k = 0;
    int effort = 0;
    int64_t among = -1;  // rows of the filter; none: -1
  };

  // `during`, if there is one, runs inside each search.
  explicit ApproximateIndex(const VectorView& vectors, std::function<void()> during = {})
      : vectors_(vectors), during_(std::move(during)) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    {
      MutexLock lock(mutex_);
      asked_.push_back({queries.rows(), options.top_k, options.effort,
                        options.among == nullptr ? -1 : options.among->count()});
    }
    if (during_) during_();
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < vectors_.rows; ++row) {
      if (options.among == nullptr || options.among->Contains(row)) rows.push_back(row);
    }
    if (!IsExact(options)) rows.resize(static_cast<size_t>(options.effort));
    std::vector<std::vector<Neighbor>> found;
    for (int64_t i = 0; i < queries.rows(); ++i) {
      ASSIGN_OR_RETURN(found.emplace_back(),
                       BestOfRows(vectors_, queries.row(i).data(), rows, options.top_k, call));
    }
    return found;
  }

  bool IsExact(const SearchOptions& options) const override {
    const int64_t rows = options.among == nullptr ? vectors_.rows : options.among->count();
    return options.effort >= rows || (options.among != nullptr && rows <= kNarrow);
  }
  // Of a filter's rows as many are compared as without it, wherever they are.
  double WorkOf(const SearchOptions& options) const override {
    if (options.among == nullptr) return 1;
    return static_cast<double>(vectors_.rows) / static_cast<double>(options.among->count());
  }
  int64_t byte_count() const override { return 0; }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

  std::vector<Asked> asked() const {
    MutexLock lock(mutex_);
    return asked_;
  }

 private:
  const VectorView vectors_;
  const std::function<void()> during_;
  mutable Mutex mutex_;
  mutable std::vector<Asked> asked_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_INDEX_SEARCH_APPROXIMATE_INDEX_H_
