// An index whose recall and time follow from its effort, and a kind that builds one, for tests of
// what measures and builds.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_SCRIPTED_INDEX_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_SCRIPTED_INDEX_H_

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "common/index/vector_index.h"

namespace sightline {

// Finds the neighbors that it is told, but only those of each query that `finds(effort, rank)` lets
// it find, and calls `searched(effort)` for each query.
class ScriptedIndex : public VectorIndex {
 public:
  struct Behaviour {
    std::vector<std::vector<int64_t>> neighbors;  // of query q, whose first number is q
    int64_t size = 0;
    int dimension = 0;
    int all = 1 << 20;  // the effort from which on it is exact
    std::function<bool(int effort, int rank)> finds;
    std::function<void(int effort)> searched = [](int) {};
  };
  explicit ScriptedIndex(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(const EmbeddingMatrix& queries,
                                                            const SearchOptions& options,
                                                            const CallContext&) const override {
    std::vector<std::vector<Neighbor>> found(queries.rows());
    for (int64_t i = 0; i < queries.rows(); ++i) {
      behaviour_.searched(options.effort);
      const auto& truth = behaviour_.neighbors[static_cast<size_t>(queries.row(i)[0])];
      for (int rank = 0; rank < std::min<int>(options.top_k, truth.size()); ++rank) {
        if (!behaviour_.finds(options.effort, rank)) continue;
        found[i].push_back({truth[rank], static_cast<float>(-rank)});
      }
    }
    return found;
  }
  bool IsExact(const SearchOptions& options) const override {
    return options.effort >= behaviour_.all;
  }
  int64_t byte_count() const override { return 0; }
  int dimension() const override { return behaviour_.dimension; }
  int64_t size() const override { return behaviour_.size; }

 private:
  const Behaviour behaviour_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_SCRIPTED_INDEX_H_
