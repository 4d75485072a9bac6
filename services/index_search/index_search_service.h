// IndexSearch over gRPC: message in, SearchEngine, message out.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_

#include "common/rpc/rpc_service.h"
#include "services/index_search/search_engine.h"
#include "sightline/v1/index_search.grpc.pb.h"

namespace sightline {

class IndexSearchService final : public RpcService {
 public:
  // Both must outlive the service.
  IndexSearchService(SearchEngine* engine, CallGate* calls);

 private:
  absl::Status SearchIndex(v1::SearchIndexRequest request, const CallContext& call,
                           v1::SearchIndexResponse* response);
  absl::Status FetchItems(v1::FetchItemsRequest request, const CallContext& call,
                          v1::FetchItemsResponse* response);

  SearchEngine* const engine_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVICE_H_
