#include "common/index/choice_sample.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/shard_source.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"
#include "common/index/recall_probes.h"

namespace sightline {
namespace {

// Some rows of a vectors file, with ids that keep their order.
class SampledRows : public ShardSource {
 public:
  SampledRows(const VectorsFile& file, std::vector<int64_t> rows, const CallContext& call)
      : rows_(std::move(rows)), reader_(file), row_(file.dimension()), call_(call) {}

  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override {
    record_.item_id = absl::StrFormat("%012d", i);
    return &record_;
  }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override {
    RETURN_IF_ERROR(call_.Check("drawing a sample"));
    RETURN_IF_ERROR(reader_.Embedding(rows_[i], absl::MakeSpan(row_)));
    return absl::MakeConstSpan(row_);
  }
  absl::StatusOr<const ItemFeatures*> Features(int64_t, int) override {
    return absl::InternalError("a sample has no features");
  }

 private:
  const std::vector<int64_t> rows_;
  VectorsReader reader_;
  std::vector<float> row_;
  ItemRecord record_;
  const CallContext& call_;
};

int GreatestShardOf(const bundle::v1::GenerationManifest& manifest) {
  const auto greatest = std::max_element(
      manifest.shards().begin(), manifest.shards().end(),
      [](const auto& a, const auto& b) { return a.item_count() < b.item_count(); });
  return static_cast<int>(greatest - manifest.shards().begin());
}

}  // namespace

std::vector<int64_t> DrawRows(int64_t size, int64_t count, int64_t seed) {
  // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::vector<int64_t> rows;
  int64_t wanted = std::min(size, count);
  for (int64_t row = 0; wanted > 0; ++row) {
    if (static_cast<int64_t>(random() % static_cast<uint64_t>(size - row)) >= wanted) continue;
    rows.push_back(row);
    --wanted;
  }
  return rows;
}

absl::StatusOr<bundle::v1::GenerationManifest> WriteSample(
    absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int64_t count,
    int64_t seed, const EmbeddingMatrix& queries, absl::string_view folder, ComputePool* pool,
    const CallContext& call) {
  const bundle::v1::ShardManifest& shard = manifest.shards(GreatestShardOf(manifest));
  const int dimension = manifest.embedding().dimension();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<VectorsFile> file,
      VectorsFile::Open(JoinPath(directory, shard.vectors().path()), shard, dimension));
  SampledRows rows(*file, DrawRows(shard.item_count(), count, seed), call);
  bundle::v1::GenerationManifest sample = manifest;
  sample.clear_shards();
  sample.clear_recall_probe();
  sample.clear_index_spec();
  sample.set_item_count(rows.size());
  ASSIGN_OR_RETURN(*sample.add_shards(),
                   WriteShardFrom(folder, /*shard=*/0, /*shard_count=*/1, dimension,
                                  /*rerankers=*/{}, rows, VectorDtypeOf(manifest)));
  RecallProbeOptions probes;
  probes.neighbor_count = limits::kMaxProbeNeighbors;
  probes.floor = 0;
  RETURN_IF_ERROR(AddRecallProbes(folder, queries, probes, pool, call, &sample));
  return sample;
}

}  // namespace sightline
