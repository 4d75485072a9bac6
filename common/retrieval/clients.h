// The services that retrieval calls, as plain C++: no protobuf, no gRPC.
//
// common/clients implements these over gRPC, tests/support with in-process fakes.  A
// call starts at once and never blocks; `done` runs exactly once, on any thread, maybe
// before the call returns, and at the latest soon after the call's deadline.  Everything
// that `done` touches must therefore be owned by it.  Requests are taken by value.
// All clients are thread-safe.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_CLIENTS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_CLIENTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/shared.h"
#include "common/bundle/item_features.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/score.h"
#include "common/image/image_input.h"

namespace sightline {

template <typename T>
using Done = std::function<void(absl::StatusOr<T>)>;

// Which release of which index a call is about.  Every call names it, so that no
// answer ever mixes generations; a server that does not hold it says
// FAILED_PRECONDITION.
struct GenerationRef {
  std::string index;
  std::string generation;
  std::string space;  // fingerprint of the embedding space
};

// --- query encoder ---

struct TextQuery {
  std::string text;
};
// Uploads may be many MiB, and a call goes to several replicas, so copies share them.
struct ImageQuery {
  Shared<std::string> bytes;  // encoded picture
};
struct RegionsQuery {
  Shared<ImageInput> image;  // regions filled, no pixels
};
using EncodableQuery = std::variant<TextQuery, ImageQuery, RegionsQuery>;

struct EncodeRequest {
  GenerationRef target;
  std::vector<EncodableQuery> queries;
  // Whether the answer should carry what a cross-encoder of the target needs of each query.
  bool want_features = false;
  std::string reranker;  // which one: its name, or empty for the default
};
struct EncodeResponse {
  EmbeddingMatrix embeddings;          // one row per query
  std::vector<ItemFeatures> features;  // one per query if wanted
  std::string reranker;                // name of whom they are for; empty if nobody
};

class QueryEncoderClient {
 public:
  virtual ~QueryEncoderClient() = default;
  virtual void EncodeQueries(const CallContext& call, EncodeRequest request,
                             Done<EncodeResponse> done) = 0;
};

// --- index search ---

struct SearchShardRequest {
  GenerationRef target;
  int shard = 0;
  EmbeddingMatrix queries;
  int top_k = 10;
  // When whoever asks would go on without the answer, if that is before the deadline.  For
  // replicas.h; servers are not told.
  absl::Time wanted_by = absl::InfiniteFuture();
};
struct SearchShardResponse {
  std::vector<std::vector<Candidate>> candidates;  // one list per query
};

struct FetchItemsRequest {
  GenerationRef target;
  int shard = 0;
  std::vector<std::string> item_ids;  // by id ...
  std::vector<int64_t> rows;          // ... or by row; one of the two is empty
  bool want_embeddings = false;
};
struct StoredItem {
  std::string item_id;
  std::string caption;
  std::string uri;
  std::vector<std::string> tags;
  int shard = 0;
  int64_t row = 0;
  std::vector<float> embedding;  // if wanted
};
struct FetchItemsResponse {
  // One per id or row asked for, in order; none for an id that the shard lacks.
  std::vector<absl::optional<StoredItem>> items;
};

class IndexSearchClient {
 public:
  virtual ~IndexSearchClient() = default;
  virtual void SearchShard(const CallContext& call, SearchShardRequest request,
                           Done<SearchShardResponse> done) = 0;
  virtual void FetchItems(const CallContext& call, FetchItemsRequest request,
                          Done<FetchItemsResponse> done) = 0;
};

// --- reranker ---

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
};
struct RerankResponse {
  std::vector<float> scores;  // raw, one per candidate, in order
  ScoreKind score_kind = ScoreKind::kSoftmaxMatch;
  std::string reranker;  // name of the cross-encoder
};

class RerankerClient {
 public:
  virtual ~RerankerClient() = default;
  virtual void RerankCandidates(const CallContext& call, RerankRequest request,
                                Done<RerankResponse> done) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_CLIENTS_H_
