// Shards for tests of kind "ivf": rows in memory or behind a reader, built and opened.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_IVF_SHARD_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_IVF_SHARD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "common/embedding/row_reader.h"
#include "common/index/index_kinds.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Rows of one type, as a server has them.
class IvfRows : public RowReader {
 public:
  IvfRows(std::vector<float> values, int dimension, Dtype dtype = Dtype::kFloat32)
      : dimension_(dimension), dtype_(dtype), bytes_(values.size() * DtypeSize(dtype)) {
    if (dtype == Dtype::kFloat16) {
      Float32ToFloat16(values.data(), values.size(), bytes_.data());
    } else if (!values.empty()) {
      std::memcpy(bytes_.data(), values.data(), bytes_.size());
    }
  }

  int64_t rows() const { return static_cast<int64_t>(bytes_.size()) / row_bytes(); }
  VectorView view() const {
    return {bytes_.data(), rows(), dimension_, dimension_, dtype_, nullptr};
  }
  VectorView view_on_disk() const {
    return {nullptr, rows(), dimension_, dimension_, dtype_, this};
  }

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override {
    for (const int64_t row : rows) {
      std::memcpy(to, bytes_.data() + row * row_bytes(), row_bytes());
      to += row_bytes();
    }
    return absl::OkStatus();
  }

 private:
  int64_t row_bytes() const { return dimension_ * static_cast<int64_t>(DtypeSize(dtype_)); }

  int dimension_;
  Dtype dtype_;
  std::vector<char> bytes_;
};

// Rows around a few centers, of about length one, as embeddings lie.
inline std::vector<float> ClusteredRows(int64_t rows, int dimension, uint32_t seed,
                                        int64_t clusters = 40) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> centers(clusters * dimension);
  for (float& number : centers) number = normal(random);
  random.seed(seed);
  std::vector<float> values(rows * dimension);
  for (int64_t i = 0; i < rows; ++i) {
    const float* const center = centers.data() + random() % clusters * dimension;
    double squares = 0;
    for (int j = 0; j < dimension; ++j) {
      float& number = values[i * dimension + j];
      number = center[j] + 0.5f * normal(random);
      squares += double{number} * number;
    }
    for (int j = 0; j < dimension; ++j) {
      values[i * dimension + j] /= static_cast<float>(std::sqrt(squares));
    }
  }
  return values;
}

inline EmbeddingMatrix QueriesOf(const std::vector<float>& values, int dimension) {
  EmbeddingMatrix queries(static_cast<int64_t>(values.size()) / dimension, dimension);
  std::copy(values.begin(), values.end(), queries.mutable_data());
  return queries;
}

// `code` as a spec has it; "rabitq/axes" is that along four axes for five dimensions.
inline bundle::v1::GenerationManifest IvfManifest(int64_t rows, int dimension,
                                                  const std::string& code, int lists,
                                                  int refine = 8) {
  bundle::v1::GenerationManifest manifest;
  manifest.mutable_embedding()->set_dimension(dimension);
  manifest.set_item_count(rows);
  manifest.add_shards()->set_item_count(rows);
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("ivf");
  spec->set_seed(11);
  spec->mutable_ivf()->set_list_count(lists);
  spec->mutable_ivf()->set_code(code == "rabitq/axes" ? "rabitq" : code);
  if (code != "rows") spec->mutable_ivf()->set_refine(refine);
  if (code == "pq4") spec->mutable_ivf()->set_pq_parts(std::max(1, dimension / 4));
  if (code == "rabitq/axes") spec->mutable_ivf()->set_pq_parts(std::max(1, dimension * 2 / 5));
  return manifest;
}

inline const IndexKind& IvfKind() {
  bundle::v1::GenerationManifest manifest;
  manifest.mutable_index_spec()->set_kind("ivf");
  return **IndexKindOf(manifest);
}

// Builds shard 0 below `directory`, with stages in `directory`/work, and enters the file.
inline absl::Status BuildIvfShard(const std::string& directory, const VectorView& vectors,
                                  ComputePool* pool, bundle::v1::GenerationManifest* manifest,
                                  const CallContext& call = CallContext::Unbounded()) {
  std::filesystem::create_directories(directory + "/shards");
  std::filesystem::create_directories(directory + "/work");
  IndexBuild build;
  build.directory = directory;
  build.manifest = manifest;
  build.vectors = vectors;
  build.work_directory = directory + "/work";
  build.pool = pool;
  build.call = &call;
  auto files = IvfKind().build(build);
  if (!files.ok()) return files.status();
  manifest->mutable_shards(0)->clear_index_files();
  for (bundle::v1::BundleFile& file : *files) {
    *manifest->mutable_shards(0)->add_index_files() = std::move(file);
  }
  return absl::OkStatus();
}

inline absl::StatusOr<std::unique_ptr<VectorIndex>> OpenIvfShard(
    const std::string& directory, const bundle::v1::GenerationManifest& manifest,
    const VectorView& vectors, ComputePool* pool) {
  return IvfKind().open(directory, manifest, 0, vectors, pool, CallContext::Unbounded());
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_IVF_SHARD_H_
