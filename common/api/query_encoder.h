// The calls of query_encoder, as plain values.
#ifndef SIGHTLINE_COMMON_API_QUERY_ENCODER_H_
#define SIGHTLINE_COMMON_API_QUERY_ENCODER_H_

#include <string>
#include <vector>

#include "common/api/generation.h"
#include "common/api/precision.h"
#include "common/api/query.h"
#include "common/bundle/item_features.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {

struct EncodeRequest {
  GenerationRef target;
  std::vector<EncodableQuery> queries;
  // Whether the answer should carry what a cross-encoder of the target needs of each query.
  bool want_features = false;
  std::string reranker;  // which one: its name, or empty for the default
  PrecisionWish wish;    // of the encoder
};
struct EncodeResponse {
  EmbeddingMatrix embeddings;          // one row per query
  std::vector<ItemFeatures> features;  // one per query if wanted
  std::string reranker;                // name of whom they are for; empty if nobody
  std::string precision;               // of the encoder; empty from a server that does not tell
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_QUERY_ENCODER_H_
