// IndexSearch over gRPC: message in, SearchEngine, message out.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_

#include "common/rpc/rpc_calls.h"
#include "services/index_search/search_engine.h"
#include "sightline/v1/index_search.grpc.pb.h"

namespace sightline {

class IndexSearchService final : public v1::IndexSearch::Service {
 public:
  // Both must outlive the service.
  IndexSearchService(SearchEngine* engine, RpcCalls* calls);

  grpc::Status SearchIndex(grpc::ServerContext* context, const v1::SearchIndexRequest* request,
                           v1::SearchIndexResponse* response) override;
  grpc::Status FetchItems(grpc::ServerContext* context, const v1::FetchItemsRequest* request,
                          v1::FetchItemsResponse* response) override;

 private:
  SearchEngine* const engine_;
  RpcMethod* const search_;
  RpcMethod* const fetch_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_
