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
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/generation.h"
#include "common/api/index_search.h"
#include "common/api/precision.h"
#include "common/api/query_encoder.h"
#include "common/api/reranker.h"
#include "common/base/call_context.h"

namespace sightline {

// Runs on a thread that answers of the process share: it must not wait for another.
template <typename T>
using Done = std::function<void(absl::StatusOr<T>)>;

// Of calls that a model's replicas answer.
class ModelClient {
 public:
  virtual ~ModelClient() = default;

  // What the replica computes `model` in that a call about `target` would go to now: for answers
  // that are made of several calls.  None if it is not known.
  virtual Precision ChoosePrecision(const GenerationRef& /*target*/, const std::string& /*model*/,
                                    absl::Time /*now*/) const {
    return absl::nullopt;
  }
};

class QueryEncoderClient : public ModelClient {
 public:
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

class RerankerClient : public ModelClient {
 public:
  virtual void RerankCandidates(const CallContext& call, RerankRequest request,
                                Done<RerankResponse> done) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_CLIENTS_H_
