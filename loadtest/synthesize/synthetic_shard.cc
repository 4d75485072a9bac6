#include "loadtest/synthesize/synthetic_shard.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kBlockItems = 4096;  // 12 MiB at 768 numbers
constexpr int64_t kGrain = 128;        // items that one thread makes at a time

// The writer reads features to measure them and again to write them.
constexpr int64_t kFeatureReadings = 2;

}  // namespace

std::string SyntheticItemId(uint32_t item) {
  return absl::StrFormat("synthetic-%09d", item);
}

SyntheticShard::SyntheticShard(absl::Span<const uint32_t> items, const ItemVectors* vectors,
                               const SyntheticRegions* regions, ComputePool* pool,
                               const CallContext* call, std::function<void(int64_t)> made)
    : items_(items),
      vectors_(vectors),
      regions_(regions),
      pool_(pool),
      call_(call),
      made_(std::move(made)) {}

absl::StatusOr<const ItemRecord*> SyntheticShard::Record(int64_t i) {
  if (i % kBlockItems == 0) RETURN_IF_ERROR(call_->Check("making items"));
  const uint32_t item = items_[i];
  record_.item_id = SyntheticItemId(item);
  record_.caption = absl::StrCat("item ", item, " of cluster ", vectors_->ClusterOf(item));
  record_.uri = absl::StrCat("synthetic:", item);
  return &record_;
}

absl::StatusOr<absl::Span<const float>> SyntheticShard::Embedding(int64_t i) {
  if (i < block_begin_ || i >= block_end_) RETURN_IF_ERROR(FillBlock(i));
  const int64_t dimension = vectors_->dimension();
  return absl::MakeConstSpan(block_).subspan((i - block_begin_) * dimension, dimension);
}

absl::Status SyntheticShard::FillBlock(int64_t first) {
  RETURN_IF_ERROR(call_->Check("making vectors"));
  const int64_t count = std::min(kBlockItems, size() - first);
  const int64_t dimension = vectors_->dimension();
  block_.resize(static_cast<size_t>(count * dimension));
  pool_->ParallelFor((count + kGrain - 1) / kGrain, 1, [&](int64_t begin, int64_t end) {
    const int64_t from = begin * kGrain;
    const int64_t to = std::min(end * kGrain, count);
    vectors_->Fill(items_.subspan(first + from, to - from), &block_[from * dimension]);
  });
  block_begin_ = first;
  block_end_ = first + count;
  made_(count * dimension * static_cast<int64_t>(sizeof(float)));
  return absl::OkStatus();
}

absl::StatusOr<const ItemFeatures*> SyntheticShard::Features(int64_t i, int /*reranker*/) {
  if (regions_ == nullptr) return &features_;
  if (i % kBlockItems == 0) RETURN_IF_ERROR(call_->Check("making features"));
  regions_->Fill(items_[i], &features_);
  made_(regions_->bytes_per_item() / kFeatureReadings);
  return &features_;
}

}  // namespace sightline
