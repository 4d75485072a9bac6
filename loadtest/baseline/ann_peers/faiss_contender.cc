#include "loadtest/baseline/ann_peers/faiss_contender.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexRefine.h>
#include <faiss/impl/AuxIndexStructures.h>
#include <faiss/impl/DistanceComputer.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <faiss/utils/Heap.h>
#include <omp.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// As hnswlib's.
constexpr int kBuildBreadth = 200;
// Of each list's centroid, as many items are trained with.  More are hardly better and take FAISS
// a long time.
constexpr int64_t kTrainingItems = 64;
constexpr int64_t kAddedAtOnce = 65'536;

// Scores as distances, as FAISS's graphs want them.
class Negative : public faiss::DistanceComputer {
 public:
  explicit Negative(faiss::DistanceComputer* scores) : scores_(scores) {}
  void set_query(const float* query) override { scores_->set_query(query); }
  float operator()(faiss::Index::idx_t row) override { return -(*scores_)(row); }
  float symmetric_dis(faiss::Index::idx_t a, faiss::Index::idx_t b) override {
    return -scores_->symmetric_dis(a, b);
  }

 private:
  const std::unique_ptr<faiss::DistanceComputer> scores_;
};

// What the factory's language has as separators is none in a file's name.
std::string NameOf(const std::string& factory) {
  std::string name = absl::StrCat("faiss-", factory);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  }
  return name;
}

class Faiss : public Contender {
 public:
  explicit Faiss(const std::string& factory) : factory_(factory), name_(NameOf(factory)) {}

  const std::string& name() const override { return name_; }
  bool ours() const override { return false; }

  std::vector<Sweep> Sweeps() const override {
    std::vector<Sweep> sweeps;
    if (graph_ != nullptr) {
      // FAISS keeps candidates in a list of ef that is scanned, or in heaps: whichever is faster.
      for (const int heaps : {0, 1}) {
        Sweep& sweep = sweeps.emplace_back();
        for (const int breadth : EffortLadder(10, 4096)) {
          sweep.push_back({absl::StrCat("ef ", breadth, heaps ? ", heaps" : ""), breadth, heaps});
        }
      }
      return sweeps;
    }
    if (lists_ == nullptr) return {{{"all"}}};
    const std::vector<int> depths =
        refine_ == nullptr ? std::vector<int>{0} : std::vector<int>{2, 4, 8, 16, 32, 64};
    for (const int depth : depths) {
      Sweep& sweep = sweeps.emplace_back();
      for (const int breadth : EffortLadder(1, static_cast<int>(lists_->nlist))) {
        std::string label = absl::StrCat("nprobe ", breadth);
        if (depth > 0) absl::StrAppend(&label, ", refine ", depth);
        sweep.push_back({label, breadth, depth});
      }
    }
    return sweeps;
  }

  absl::Status Build(const VectorView& items, int threads, const std::string& path) const override {
    try {
      omp_set_num_threads(threads);
      const std::unique_ptr<faiss::Index> index(
          faiss::index_factory(items.dimension, factory_.c_str(), faiss::METRIC_INNER_PRODUCT));
      if (auto* const graph = dynamic_cast<faiss::IndexHNSW*>(index.get())) {
        graph->hnsw.efConstruction = kBuildBreadth;
      }
      Train(items, index.get());
      Add(items, index.get());
      faiss::write_index(index.get(), path.c_str());
      omp_set_num_threads(1);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InvalidArgumentError(absl::StrCat(factory_, ": ", error.what()));
    }
  }

  absl::Status Load(const VectorView& items, const std::string& path) override {
    try {
      omp_set_num_threads(1);
      index_.reset(faiss::read_index(path.c_str()));
      refine_ = dynamic_cast<faiss::IndexRefine*>(index_.get());
      faiss::Index* const base = refine_ == nullptr ? index_.get() : refine_->base_index;
      lists_ = dynamic_cast<faiss::IndexIVF*>(base);
      graph_ = dynamic_cast<faiss::IndexHNSW*>(base);
      if (graph_ != nullptr) {
        scores_ = std::make_unique<Negative>(graph_->storage->get_distance_computer());
        visited_ = std::make_unique<faiss::VisitedTable>(static_cast<int>(items.rows));
      }
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat(path, ": ", error.what()));
    }
  }

  // By members, since 1.7.3 takes no parameters with a call of most kinds, and of HNSW only half
  // of them.
  void SetEffort(const Effort& effort) override {
    if (refine_ != nullptr) refine_->k_factor = static_cast<float>(effort.depth);
    if (lists_ != nullptr) {
      lists_->nprobe = effort.breadth;
      // A graph over the lists finds those that are asked for, and some more to choose from.
      if (auto* const coarse = dynamic_cast<faiss::IndexHNSW*>(lists_->quantizer)) {
        coarse->hnsw.efSearch = std::max(16, 2 * effort.breadth);
      }
    }
    if (graph_ != nullptr) {
      graph_->hnsw.efSearch = effort.breadth;
      graph_->hnsw.search_bounded_queue = effort.depth == 0;
    }
  }

  absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) override {
    try {
      rows->resize(k);
      scratch_.resize(k);
      if (graph_ != nullptr) {
        SearchGraph(query, k, rows->data());
      } else {
        index_->search(1, query, k, scratch_.data(), rows->data());
      }
      rows->erase(std::remove(rows->begin(), rows->end(), -1), rows->end());
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat(name_, ": ", error.what()));
    }
  }

 private:
  void Train(const VectorView& items, faiss::Index* index) const {
    if (index->is_trained) return;
    int64_t lists = 1024;
    faiss::Index* base = index;
    if (auto* const refine = dynamic_cast<faiss::IndexRefine*>(base)) base = refine->base_index;
    if (const auto* const ivf = dynamic_cast<faiss::IndexIVF*>(base)) {
      lists = static_cast<int64_t>(ivf->nlist);
    }
    // Evenly spread, since neighbors may lie beside each other.
    const int64_t count = std::min(items.rows, kTrainingItems * lists);
    std::vector<float> sample(count * items.dimension);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(items.float_row(i * items.rows / count), items.dimension,
                  &sample[i * items.dimension]);
    }
    index->train(count, sample.data());
  }

  // A graph is built of all at once, since FAISS begins with the items of the upper layers.
  void Add(const VectorView& items, faiss::Index* index) const {
    if (items.stride == items.dimension) return index->add(items.rows, items.float_row(0));
    std::vector<float> rows(std::min(kAddedAtOnce, items.rows) * items.dimension);
    for (int64_t first = 0; first < items.rows; first += kAddedAtOnce) {
      const int64_t count = std::min(kAddedAtOnce, items.rows - first);
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(items.float_row(first + i), items.dimension, &rows[i * items.dimension]);
      }
      index->add(count, rows.data());
    }
  }

  // As IndexHNSW::search, but for the table of visited items, which that makes and clears for each
  // call: FAISS is not to look slow for that.
  void SearchGraph(const float* query, int k, int64_t* rows) {
    scores_->set_query(query);
    faiss::maxheap_heapify(k, scratch_.data(), rows);
    graph_->hnsw.search(*scores_, k, rows, scratch_.data(), *visited_);
    faiss::maxheap_reorder(k, scratch_.data(), rows);
  }

  const std::string factory_;
  const std::string name_;
  std::unique_ptr<faiss::Index> index_;
  faiss::IndexRefine* refine_ = nullptr;
  faiss::IndexIVF* lists_ = nullptr;
  faiss::IndexHNSW* graph_ = nullptr;
  std::unique_ptr<faiss::DistanceComputer> scores_;
  std::unique_ptr<faiss::VisitedTable> visited_;
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<Contender> FaissContender(const std::string& factory) {
  return std::make_unique<Faiss>(factory);
}

}  // namespace sightline
