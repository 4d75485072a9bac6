#include "services/index_search/index_search_service.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"
#include "common/rpc/event_loop.h"

namespace sightline {

IndexSearchService::IndexSearchService(SearchEngine* engine, CallGate* calls)
    : RpcService(v1::IndexSearch::service_full_name(), calls), engine_(engine) {
  AddUnary("SearchIndex", &IndexSearchService::SearchIndex, CallGate::Admission::kLimited,
           HandlerPlace::kFiber);
  AddUnary("FetchItems", &IndexSearchService::FetchItems);
}

absl::Status IndexSearchService::SearchIndex(v1::SearchIndexRequest request,
                                             const CallContext& call,
                                             v1::SearchIndexResponse* response) {
  ASSIGN_OR_RETURN(const SearchShardRequest wanted, FromProto(request));
  const auto search = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(SearchShardResponse found, engine_->SearchShard(wanted, call));
    ToProto(std::move(found), wanted.target, response);
    return absl::OkStatus();
  };
  return engine_->IsBrief(wanted) ? search() : AwaitInThread(search);
}

absl::Status IndexSearchService::FetchItems(v1::FetchItemsRequest request, const CallContext& call,
                                            v1::FetchItemsResponse* response) {
  ASSIGN_OR_RETURN(const FetchItemsRequest wanted, FromProto(request));
  ASSIGN_OR_RETURN(FetchItemsResponse fetched, engine_->FetchItems(wanted, call));
  ToProto(std::move(fetched), wanted.target, response);
  return absl::OkStatus();
}

}  // namespace sightline
