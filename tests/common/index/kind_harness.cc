#include "tests/common/index/kind_harness.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/float16.h"
#include "common/index/index_kinds.h"
#include "common/index/row_scores.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int kGap = 3;  // numbers behind a row

bool ComesBefore(const Neighbor& a, const Neighbor& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

}  // namespace

GappedRows::GappedRows(const EmbeddingMatrix& values, Dtype dtype)
    : rows_(values.rows()),
      dimension_(values.dimension()),
      dtype_(dtype),
      stride_(values.dimension() + kGap),
      bytes_(rows_ * stride_ * DtypeSize(dtype), '\xff') {  // NaN of either type
  for (int64_t i = 0; i < rows_; ++i) {
    char* const row = bytes_.data() + i * stride_ * DtypeSize(dtype);
    if (dtype == Dtype::kFloat16) {
      Float32ToFloat16(values.row(i).data(), dimension_, row);
    } else {
      std::memcpy(row, values.row(i).data(), dimension_ * sizeof(float));
    }
  }
}

VectorView GappedRows::view() const {
  VectorView view{bytes_.data(), rows_, dimension_, stride_};
  view.dtype = dtype_;
  return view;
}

EmbeddingMatrix ClusteredRows(int64_t rows, int dimension, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  constexpr int kClusters = 40;
  EmbeddingMatrix centers(kClusters, dimension);
  for (int64_t i = 0; i < kClusters * dimension; ++i) centers.mutable_data()[i] = normal(random);
  EmbeddingMatrix matrix(rows, dimension);
  for (int64_t i = 0; i < rows; ++i) {
    const auto center = centers.row(static_cast<int64_t>(random() % kClusters));
    for (int k = 0; k < dimension; ++k) {
      matrix.mutable_row(i)[k] = center[k] + 0.7f * normal(random);
    }
  }
  NormalizeRows(matrix);
  return matrix;
}

EmbeddingMatrix QueriesNear(const EmbeddingMatrix& rows, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  EmbeddingMatrix queries(count, rows.dimension());
  const float noise = 0.5f / std::sqrt(static_cast<float>(rows.dimension()));
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < rows.dimension(); ++k) {
      const float near = rows.rows() == 0 ? 0 : rows.row(random() % rows.rows())[k];
      queries.mutable_row(i)[k] = near + noise * normal(random);
    }
  }
  return queries;
}

VectorView MemoryReader::view() const {
  VectorView view = rows_;
  view.data = nullptr;
  view.reader = this;
  view.stride = view.dimension;
  return view;
}

absl::Status MemoryReader::Read(absl::Span<const int64_t> rows, char* to) const {
  if (calls_left_ >= 0 && calls_left_-- <= 0) {
    calls_left_ = 0;
    return MakeError(reasons::kReadFailed, "the disk is gone");
  }
  const size_t row_bytes = rows_.dimension * DtypeSize(rows_.dtype);
  for (const int64_t row : rows) {
    if (row < 0 || row >= rows_.rows) throw std::out_of_range("a row that there is not");
    std::memcpy(to, rows_.row(row), row_bytes);
    to += row_bytes;
  }
  rows_read_ += static_cast<int64_t>(rows.size());
  return absl::OkStatus();
}

KindShard::KindShard(const KindCase& kind_case, const VectorView& vectors) : vectors_(vectors) {
  INFO(kind_case.name);
  REQUIRE(google::protobuf::TextFormat::ParseFromString(kind_case.spec,
                                                        manifest_.mutable_index_spec()));
  manifest_.set_format_version(1);
  manifest_.set_item_count(vectors.rows);
  manifest_.mutable_embedding()->set_dimension(vectors.dimension);
  manifest_.set_vector_dtype(DtypeName(vectors.dtype));
  manifest_.add_shards()->set_item_count(vectors.rows);
  const auto kind = IndexKindOf(manifest_);
  REQUIRE(kind.ok());
  kind_ = *kind;
  REQUIRE(MakeDirectories(directory_.File("shards")).ok());
  manifest_.mutable_index_spec()->set_rows_on_disk(vectors.on_disk());
}

bool KindShard::Fits() const {
  return (kind_->rows_on_disk(manifest_.index_spec()) || !vectors_.on_disk()) &&
         kind_->check(manifest_.index_spec(), vectors_.dimension).ok();
}

absl::Status KindShard::Build(ComputePool* pool, const CallContext& call) {
  if (kind_->build == nullptr) return absl::OkStatus();
  IndexBuild build;
  build.directory = directory_.path();
  build.manifest = &manifest_;
  build.vectors = vectors_;
  build.work_directory = work_directory_.path();
  build.pool = pool;
  build.call = &call;
  const auto files = kind_->build(build);
  if (!files.ok()) return files.status();
  auto& shard = *manifest_.mutable_shards(0);
  shard.clear_index_files();
  for (const auto& file : *files) *shard.add_index_files() = file;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VectorIndex>> KindShard::Open(ComputePool* pool) const {
  return Open(vectors_, pool);
}

absl::StatusOr<std::unique_ptr<VectorIndex>> KindShard::Open(const VectorView& vectors,
                                                             ComputePool* pool) const {
  return kind_->open(directory_.path(), manifest_, 0, vectors, pool, CallContext::Unbounded());
}

std::vector<std::string> KindShard::Files() const {
  std::vector<std::string> paths;
  for (const auto& file : manifest_.shards(0).index_files()) {
    paths.push_back(directory_.File(file.path()));
  }
  return paths;
}

std::vector<std::string> KindShard::Contents() const {
  std::vector<std::string> contents;
  for (const std::string& path : Files()) contents.push_back(*ReadFile(path));
  return contents;
}

NeighborLists Referee(const VectorView& rows, const EmbeddingMatrix& queries, int top_k,
                      const RowSet* among) {
  NeighborLists lists(queries.rows());
  for (int64_t query = 0; query < queries.rows(); ++query) {
    std::vector<Neighbor>& list = lists[query];
    for (int64_t row = 0; row < rows.rows; ++row) {
      if (among != nullptr && !among->Contains(row)) continue;
      const float score = RowScore(rows, queries.row(query).data(), row);
      if (!std::isnan(score)) list.push_back({row, score});
    }
    std::sort(list.begin(), list.end(), ComesBefore);
    list.resize(std::min(list.size(), static_cast<size_t>(top_k)));
  }
  return lists;
}

NeighborLists Find(const VectorIndex& index, const EmbeddingMatrix& queries,
                   const SearchOptions& options) {
  auto lists = index.Search(queries, options, CallContext::Unbounded());
  INFO(lists.status().ToString());
  REQUIRE(lists.ok());
  REQUIRE(lists->size() == queries.rows());
  return *std::move(lists);
}

bool SameLists(const NeighborLists& a, const NeighborLists& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](auto& p, auto& q) { return p.row == q.row && p.score == q.score; });
  });
}

double RecallOf(const NeighborLists& found, const NeighborLists& truth) {
  int64_t there = 0, all = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    for (const Neighbor& wanted : truth[i]) {
      ++all;
      there += std::any_of(found[i].begin(), found[i].end(),
                           [&](const Neighbor& one) { return one.row == wanted.row; });
    }
  }
  return all == 0 ? 1 : static_cast<double>(there) / static_cast<double>(all);
}

bool IsSound(const NeighborLists& found, const VectorView& rows, const EmbeddingMatrix& queries,
             const SearchOptions& options) {
  for (int64_t query = 0; query < queries.rows(); ++query) {
    const auto& list = found[query];
    if (list.size() > static_cast<size_t>(options.top_k)) return false;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto [row, score] = list[i];
      if (row < 0 || row >= rows.rows) return false;
      if (options.among != nullptr && !options.among->Contains(row)) return false;
      if (score != RowScore(rows, queries.row(query).data(), row)) return false;
      if (i > 0 && !ComesBefore(list[i - 1], list[i])) return false;
    }
  }
  return true;
}

RowSet ListOf(const std::vector<int64_t>& rows, int64_t universe) {
  return RowSet::OfRows(std::vector<uint32_t>(rows.begin(), rows.end()), universe);
}

RowSet BitsOf(const std::vector<int64_t>& rows, int64_t universe) {
  std::vector<uint64_t> words((universe + 63) / 64);
  for (const int64_t row : rows) words[row >> 6] |= uint64_t{1} << (row & 63);
  return RowSet::OfBits(std::move(words), universe);
}

}  // namespace sightline
