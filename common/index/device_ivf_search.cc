#include "common/index/device_ivf_search.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/index/ivf_query.h"
#include "common/index/ivf_search.h"
#include "common/index/ivf_shape.h"
#include "common/index/row_scores.h"

namespace sightline {
namespace {

using Lists = std::vector<RankedList>;

// One call.
class ListSearches {
 public:
  ListSearches(const DeviceIvfParts& index, const EmbeddingMatrix& queries,
               const SearchOptions& options, const CallContext& call)
      : index_(index), queries_(queries), options_(options), call_(call), asked_(queries.rows()) {}

  absl::StatusOr<NeighborLists> Run() {
    RETURN_IF_ERROR(call_.Check("index search"));
    ForEachQuery([&](int64_t i) {
      asked_[i] =
          std::make_unique<IvfQuery>(queries_.row(i).data(), index_.file->shape, *index_.space);
    });
    return options_.among == nullptr ? FindInAll() : FindInFilter();
  }

 private:
  // Calls `work(i)` for each query, side by side.
  template <typename Work>
  void ForEachQuery(const Work& work) const {
    index_.rows->PoolOf(options_)->ParallelFor(queries_.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(i);
    });
  }

  // The best of the rows of `lists[i]` for the i-th of `queries`.
  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries,
                                       const std::vector<Lists>& lists,
                                       const SearchOptions& options) const {
    std::vector<std::vector<RowRange>> positions;
    for (const Lists& of_query : lists) {
      std::vector<RowRange>& ranges = positions.emplace_back();
      for (const RankedList& ranked : of_query) {
        const int64_t* const offset = index_.file->offsets() + ranked.list;
        ranges.push_back({offset[0], offset[1]});
      }
    }
    const std::vector<RowRanges> views(positions.begin(), positions.end());
    return index_.rows->SearchRanges(queries, views, options, call_);
  }

  absl::StatusOr<NeighborLists> FindInAll() const {
    std::vector<Lists> lists(queries_.rows());
    ForEachQuery([&](int64_t i) {
      lists[i] = index_.ranking->BestHolding(*asked_[i], options_.effort, options_.top_k);
    });
    return Search(queries_, lists, options_);
  }

  absl::StatusOr<NeighborLists> FindInFilter() const {
    const int64_t count = FirstLists(index_.file->shape, options_.effort, options_.among->count());
    std::vector<Lists> near(queries_.rows()), first(queries_.rows());
    ForEachQuery([&](int64_t i) {
      near[i] = index_.ranking->Best(*asked_[i], options_.effort);
      first[i] = index_.ranking->Best(*asked_[i], count);
    });
    SearchOptions unfiltered = options_;
    unfiltered.among = nullptr;
    ASSIGN_OR_RETURN(const NeighborLists near_found, Search(queries_, near, unfiltered));
    ASSIGN_OR_RETURN(NeighborLists found, Search(queries_, first, options_));
    std::vector<absl::optional<Lists>> others(queries_.rows());
    ForEachQuery([&](int64_t i) {
      const absl::optional<double> enough = Enough(i, near[i], near_found[i], found[i]);
      if (enough.has_value()) others[i] = Others(i, first[i], *enough);
    });
    RETURN_IF_ERROR(GoOn(std::move(others), &found));
    return found;
  }

  // Lists that promise less than this are left out; none if that is not known.
  absl::optional<double> Enough(int64_t i, const Lists& near,
                                const std::vector<Neighbor>& near_found,
                                const std::vector<Neighbor>& found) const {
    if (near_found.empty() || static_cast<int>(found.size()) < options_.top_k) return absl::nullopt;
    // Promises are of the query at length one.
    const double length = asked_[i]->length > 0 ? asked_[i]->length : 1;
    const double margin = near_found.back().score / length - near.back().promise;
    const double enough = found.back().score / length - margin;
    return std::isfinite(enough) ? absl::make_optional(enough) : absl::nullopt;
  }

  // The lists that promise `enough` but for those of `first`; none if it is more work to look into
  // them than to score what the filter lets through.
  absl::optional<Lists> Others(int64_t i, const Lists& first, double enough) const {
    std::vector<bool> seen(index_.file->shape.lists);
    for (const RankedList& ranked : first) seen[ranked.list] = true;
    Lists others;
    int64_t rows = 0;
    for (const RankedList& ranked : index_.ranking->Best(*asked_[i], index_.file->shape.lists)) {
      if (ranked.promise < enough) break;
      if (seen[ranked.list]) continue;
      others.push_back(ranked);
      rows += index_.file->row_count(ranked.list);
      if (rows > options_.among->count() / 2) return absl::nullopt;
    }
    return others;
  }

  // Adds the best of further lists, or of all of the filter's rows, to what was found.
  absl::Status GoOn(std::vector<absl::optional<Lists>> others, NeighborLists* found) const {
    std::vector<int64_t> some, all;
    std::vector<Lists> some_lists;
    for (int64_t i = 0; i < queries_.rows(); ++i) {
      if (!others[i].has_value()) {
        all.push_back(i);
      } else if (!others[i]->empty()) {
        some.push_back(i);
        some_lists.push_back(*std::move(others[i]));
      }
    }
    ASSIGN_OR_RETURN(const NeighborLists more,
                     Search(QueriesAt(queries_, some), some_lists, options_));
    for (size_t i = 0; i < some.size(); ++i) {
      MergeBest(more[i], options_.top_k, &(*found)[some[i]]);
    }
    ASSIGN_OR_RETURN(NeighborLists scored,
                     index_.rows->Search(QueriesAt(queries_, all), options_, call_));
    for (size_t i = 0; i < all.size(); ++i) (*found)[all[i]] = std::move(scored[i]);
    return absl::OkStatus();
  }

  const DeviceIvfParts& index_;
  const EmbeddingMatrix& queries_;
  const SearchOptions& options_;
  const CallContext& call_;
  std::vector<std::unique_ptr<const IvfQuery>> asked_;
};

}  // namespace

bool ComparesAllOnDevice(const DeviceIvfParts& index, const SearchOptions& options) {
  const IvfShape& shape = index.file->shape;
  if (ComparesAll(shape, index.rows->vectors(), options)) return true;
  if (options.among == nullptr) return false;
  const int64_t count = options.among->count();
  const int64_t lists = options.effort + FirstLists(shape, options.effort, count);
  return count <= lists * shape.rows / shape.lists;
}

absl::StatusOr<NeighborLists> SearchListsOnDevice(const DeviceIvfParts& index,
                                                  const EmbeddingMatrix& queries,
                                                  const SearchOptions& options,
                                                  const CallContext& call) {
  return ListSearches(index, queries, options, call).Run();
}

}  // namespace sightline
