// Sightline's public API for C++ programs: plain structs in and out, no protobuf, no
// gRPC in sight.
//
//   std::unique_ptr<SearchClient> client = MakeGrpcSearchClient("localhost:7400");
//   SearchRequest request;
//   request.query = TextQuery{"a red fish"};
//   CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(2));
//   ASSIGN_OR_RETURN(SearchResult result, client->SearchItems(call, request));
//
// Every method exists twice: the one with `done` starts the call and returns, under the
// rules of common/api/clients.h; the other waits for the answer.  Both honour the
// context's deadline and cancellation.  Errors are the server's, code and details kept
// (common/base/error_details.h reads them), with "router <address>: " before the message;
// an answer that does not fit the request is Internal.  Clients are thread-safe and may
// be dropped while calls are under way.
#ifndef SIGHTLINE_COMMON_CLIENTS_SEARCH_CLIENT_H_
#define SIGHTLINE_COMMON_CLIENTS_SEARCH_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/api/clients.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/base/server_address.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sightline {

// Search of search.proto.
class SearchClient {
 public:
  virtual ~SearchClient() = default;

  // InvalidArgument, without asking the server, for a text, a word, a name or an id that is
  // not UTF-8: it could not travel.
  virtual void SearchItems(const CallContext& call, SearchRequest request,
                           Done<SearchResult> done) = 0;
  virtual void ScorePairs(const CallContext& call, ScorePairsRequest request,
                          Done<ScorePairsResult> done) = 0;
  virtual void GetItems(const CallContext& call, GetItemsRequest request,
                        Done<GetItemsResult> done) = 0;

  absl::StatusOr<SearchResult> SearchItems(const CallContext& call, SearchRequest request);
  absl::StatusOr<ScorePairsResult> ScorePairs(const CallContext& call, ScorePairsRequest request);
  absl::StatusOr<GetItemsResult> GetItems(const CallContext& call, GetItemsRequest request);
};

// Never null.  The first makes a channel of its own with the retries of the
// public API's service config (UNAVAILABLE, once); the second uses the caller's as it is
// and names the server by `name` in messages.
std::unique_ptr<SearchClient> MakeGrpcSearchClient(const ServerAddress& address);
std::unique_ptr<SearchClient> MakeGrpcSearchClient(std::shared_ptr<grpc::Channel> channel,
                                                   const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_SEARCH_CLIENT_H_
