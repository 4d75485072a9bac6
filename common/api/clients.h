// The backends as whoever calls them sees them: no protobuf, no gRPC.
//
// common/clients implements these over gRPC, common/replicas over several of the same
// kind, tests/support with in-process fakes.  A call starts at once and never blocks;
// `done` runs exactly once, on any thread, maybe before the call returns, and at the
// latest soon after the call's deadline.  Everything that `done` touches must therefore
// be owned by it.  Requests are taken by value.  All clients are thread-safe.
#ifndef SIGHTLINE_COMMON_API_CLIENTS_H_
#define SIGHTLINE_COMMON_API_CLIENTS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "common/api/index_search.h"
#include "common/api/query_encoder.h"
#include "common/api/reranker.h"
#include "common/base/call_context.h"

namespace sightline {

template <typename T>
using Done = std::function<void(absl::StatusOr<T>)>;

class QueryEncoderClient {
 public:
  virtual ~QueryEncoderClient() = default;
  virtual void EncodeQueries(const CallContext& call, EncodeRequest request,
                             Done<EncodeResponse> done) = 0;
};

class IndexSearchClient {
 public:
  virtual ~IndexSearchClient() = default;
  virtual void SearchShard(const CallContext& call, SearchShardRequest request,
                           Done<SearchShardResponse> done) = 0;
  virtual void FetchItems(const CallContext& call, FetchItemsRequest request,
                          Done<FetchItemsResponse> done) = 0;
};

class RerankerClient {
 public:
  virtual ~RerankerClient() = default;
  virtual void RerankCandidates(const CallContext& call, RerankRequest request,
                                Done<RerankResponse> done) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_CLIENTS_H_
