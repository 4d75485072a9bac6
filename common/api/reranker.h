// The calls of reranker, as plain values.
#ifndef SIGHTLINE_COMMON_API_RERANKER_H_
#define SIGHTLINE_COMMON_API_RERANKER_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/api/generation.h"
#include "common/api/precision.h"
#include "common/api/query.h"
#include "common/base/shared.h"
#include "common/bundle/item_features.h"
#include "common/embedding/score.h"

namespace sightline {

// An item whose features lie in a generation's feature store.
struct StoredRef {
  GenerationRef target;
  int shard = 0;
  int64_t row = 0;
};
// One side of a pair: a text, features that travel along (uploads), or a stored item.
using RerankSide = std::variant<TextQuery, Shared<ItemFeatures>, StoredRef>;

struct RerankRequest {
  // The generation one of whose cross-encoders scores.
  GenerationRef target;
  // True if `query` is the text and the candidates are images; false the other way.
  bool query_is_text = true;
  RerankSide query;
  std::vector<RerankSide> candidates;
  std::string reranker;  // name of the cross-encoder; empty: the default
  PrecisionWish wish;
};
struct RerankResponse {
  std::vector<float> scores;  // raw, one per candidate, in order
  ScoreKind score_kind = ScoreKind::kSoftmaxMatch;
  std::string reranker;   // name of the cross-encoder
  std::string precision;  // that it computes in; empty from a server that does not tell
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_RERANKER_H_
