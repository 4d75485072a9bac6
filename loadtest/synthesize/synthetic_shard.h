// The items of one synthetic shard, made when the writer asks for them.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_SHARD_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_SHARD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/shard_source.h"
#include "loadtest/synthesize/item_vectors.h"
#include "loadtest/synthesize/synthetic_regions.h"

namespace sightline {

// Ids have nine digits, so that their order is that of the numbers.
inline constexpr int64_t kMostSyntheticItems = 1'000'000'000;

// "synthetic-000000042".
std::string SyntheticItemId(uint32_t item);

// Holds a block of vectors at a time.  Not thread-safe.
class SyntheticShard : public ShardSource {
 public:
  // `items` are the numbers of the shard's items, ascending; `regions` may be null: no
  // features.  `made` is told how many bytes of the shard's files were made since it was
  // called last.  All must outlive the shard.  Reading fails when `call` ends.
  SyntheticShard(absl::Span<const uint32_t> items, const ItemVectors* vectors,
                 const SyntheticRegions* regions, ComputePool* pool, const CallContext* call,
                 std::function<void(int64_t bytes)> made);

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override;
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override;
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override;

 private:
  absl::Status FillBlock(int64_t first);

  const absl::Span<const uint32_t> items_;
  const ItemVectors* const vectors_;
  const SyntheticRegions* const regions_;
  ComputePool* const pool_;
  const CallContext* const call_;
  const std::function<void(int64_t)> made_;

  ItemRecord record_;
  ItemFeatures features_;
  int64_t block_begin_ = 0;  // the items whose vectors are in block_
  int64_t block_end_ = 0;
  std::vector<float> block_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_SHARD_H_
