#include "loadtest/baseline/ann_peers/our_contenders.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// Exact search, which is told nothing and keeps nothing beside the items.
class Flat : public Contender {
 public:
  const std::string& name() const override { return name_; }
  bool ours() const override { return true; }
  std::vector<Sweep> Sweeps() const override { return {{{"all"}}}; }

  absl::Status Build(const VectorView& /*items*/, int /*threads*/,
                     const std::string& /*path*/) const override {
    return absl::OkStatus();
  }

  absl::Status Load(const VectorView& items, const std::string& /*path*/) override {
    query_ = EmbeddingMatrix(1, items.dimension);
    ASSIGN_OR_RETURN(index_, OpenFlatIndex(items, &pool_));
    return absl::OkStatus();
  }

  int64_t SharedBytes(const VectorView& items) const override {
    return items.rows * items.stride * static_cast<int64_t>(sizeof(float));
  }

  void SetEffort(const Effort& /*effort*/) override {}

  absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) override {
    std::copy_n(query, query_.dimension(), query_.mutable_data());
    ASSIGN_OR_RETURN(const auto found, index_->Search(query_, {k}, CallContext::Unbounded()));
    rows->clear();
    for (const Neighbor& neighbor : found[0]) rows->push_back(neighbor.row);
    return absl::OkStatus();
  }

 private:
  const std::string name_ = "flat";
  ComputePool pool_{1};
  EmbeddingMatrix query_;
  std::unique_ptr<VectorIndex> index_;
};

}  // namespace

std::vector<std::unique_ptr<Contender>> OurContenders() {
  std::vector<std::unique_ptr<Contender>> all;
  all.push_back(std::make_unique<Flat>());
  return all;
}

}  // namespace sightline
