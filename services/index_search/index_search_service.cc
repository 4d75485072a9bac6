#include "services/index_search/index_search_service.h"

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"

namespace sightline {

IndexSearchService::IndexSearchService(SearchEngine* engine, RpcCalls* calls)
    : engine_(engine),
      search_(calls->AddMethod(v1::IndexSearch::service_full_name(), "SearchIndex")),
      fetch_(calls->AddMethod(v1::IndexSearch::service_full_name(), "FetchItems")) {}

grpc::Status IndexSearchService::SearchIndex(grpc::ServerContext* context,
                                             const v1::SearchIndexRequest* request,
                                             v1::SearchIndexResponse* response) {
  return search_->Serve(context, [&](const CallContext& call) -> absl::Status {
    ASSIGN_OR_RETURN(const SearchShardRequest wanted, FromProto(*request));
    ASSIGN_OR_RETURN(SearchShardResponse found, engine_->SearchShard(wanted, call));
    ToProto(std::move(found), wanted.target, response);
    return absl::OkStatus();
  });
}

grpc::Status IndexSearchService::FetchItems(grpc::ServerContext* context,
                                            const v1::FetchItemsRequest* request,
                                            v1::FetchItemsResponse* response) {
  return fetch_->Serve(context, [&](const CallContext& call) -> absl::Status {
    ASSIGN_OR_RETURN(const FetchItemsRequest wanted, FromProto(*request));
    ASSIGN_OR_RETURN(FetchItemsResponse fetched, engine_->FetchItems(wanted, call));
    ToProto(std::move(fetched), wanted.target, response);
    return absl::OkStatus();
  });
}

}  // namespace sightline
