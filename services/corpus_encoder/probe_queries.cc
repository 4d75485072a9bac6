#include "services/corpus_encoder/probe_queries.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"

namespace sightline {

absl::StatusOr<EmbeddingMatrix> ProbeQueries(absl::Span<const GenerationItem> items,
                                             const ItemSources& sources, int count,
                                             const CallContext& call) {
  const auto size = static_cast<int64_t>(items.size());
  const int64_t wanted = std::min<int64_t>(count, size);
  std::vector<const GenerationItem*> sample;
  for (int64_t i = 0; i < wanted; ++i) sample.push_back(&items[i * size / wanted]);
  GenerationShard source(std::move(sample), sources, call);
  EmbeddingMatrix queries(wanted, sources.dimension);
  for (int64_t i = 0; i < wanted; ++i) {
    ASSIGN_OR_RETURN(const absl::Span<const float> embedding, source.Embedding(i));
    std::copy(embedding.begin(), embedding.end(), queries.mutable_row(i).begin());
  }
  return queries;
}

}  // namespace sightline
