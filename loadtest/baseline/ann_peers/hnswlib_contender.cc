#include "loadtest/baseline/ann_peers/hnswlib_contender.h"

#include <hnswlib/hnswlib.h>

#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"

namespace sightline {
namespace {

// What hnswlib's own examples and most published comparisons build with.
constexpr int kBuildBreadth = 200;

class Hnswlib : public Contender {
 public:
  explicit Hnswlib(int links) : links_(links), name_(absl::StrCat("hnswlib-M", links)) {}

  const std::string& name() const override { return name_; }
  bool ours() const override { return false; }

  std::vector<Sweep> Sweeps() const override {
    Sweep sweep;
    for (const int breadth : EffortLadder(10, 4096)) {
      sweep.push_back({absl::StrCat("ef ", breadth), breadth});
    }
    return {sweep};
  }

  absl::Status Build(const VectorView& items, int threads, const std::string& path) const override {
    std::atomic<bool> failed{false};
    try {
      hnswlib::InnerProductSpace space(items.dimension);
      Graph graph(&space, items.rows, links_, kBuildBreadth);
      graph.addPoint(items.row(0), 0);  // what the threads' own may begin from
      ComputePool pool(threads);
      pool.ParallelFor(items.rows - 1, 1024, [&](int64_t begin, int64_t end) {
        try {
          for (int64_t row = begin + 1; row <= end && !failed; ++row) {
            graph.addPoint(items.row(row), row);
          }
        } catch (const std::exception&) {
          failed = true;
        }
      });
      if (failed) return absl::InternalError(absl::StrCat(name_, ": an item could not be added"));
      graph.saveIndex(path);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat(name_, ": ", error.what()));
    }
  }

  absl::Status Load(const VectorView& items, const std::string& path) override {
    try {
      space_ = std::make_unique<hnswlib::InnerProductSpace>(items.dimension);
      graph_ = std::make_unique<Graph>(space_.get(), path);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat(path, ": ", error.what()));
    }
  }

  void SetEffort(const Effort& effort) override { graph_->setEf(effort.breadth); }

  absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) override {
    try {
      auto found = graph_->searchKnn(query, k);
      rows->resize(found.size());
      for (auto row = rows->rbegin(); row != rows->rend(); ++row) {  // the worst comes first
        *row = static_cast<int64_t>(found.top().second);
        found.pop();
      }
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat(name_, ": ", error.what()));
    }
  }

 private:
  using Graph = hnswlib::HierarchicalNSW<float>;

  const int links_;
  const std::string name_;
  std::unique_ptr<hnswlib::InnerProductSpace> space_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace

std::unique_ptr<Contender> HnswlibContender(int links) {
  return std::make_unique<Hnswlib>(links);
}

}  // namespace sightline
