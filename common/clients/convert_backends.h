// The calls between the services, on the wire and as the domain's structs.
//
// Servers use FromProto on requests and ToProto on answers; clients the other two.  An
// answer is read together with the request it answers, so that a server which answers
// with another generation, or with too many or too few results, is found out here: the
// error is Internal and names the field.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_BACKENDS_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_BACKENDS_H_

#include "absl/status/statusor.h"
#include "common/api/generation.h"
#include "common/api/index_search.h"
#include "common/api/query_encoder.h"
#include "common/api/reranker.h"
#include "sightline/v1/index_search.pb.h"
#include "sightline/v1/query_encoder.pb.h"
#include "sightline/v1/reranker.pb.h"

namespace sightline {

// Requests.  InvalidArgument with the field's path where FromProto finds a bound of the
// wire broken.  Uploads are moved out of the message; upload_wire.h sends them.
void ToProto(SearchShardRequest request, v1::SearchIndexRequest* out);
void ToProto(FetchItemsRequest request, v1::FetchItemsRequest* out);
absl::StatusOr<EncodeRequest> FromProto(v1::EncodeQueriesRequest request);
absl::StatusOr<SearchShardRequest> FromProto(const v1::SearchIndexRequest& request);
absl::StatusOr<FetchItemsRequest> FromProto(const v1::FetchItemsRequest& request);
absl::StatusOr<RerankRequest> FromProto(v1::RerankCandidatesRequest request);

// Answers; `target` is the generation that answered.
void ToProto(EncodeResponse response, const GenerationRef& target, v1::EncodeQueriesResponse* out);
void ToProto(SearchShardResponse response, const GenerationRef& target,
             v1::SearchIndexResponse* out);
void ToProto(FetchItemsResponse response, const GenerationRef& target, v1::FetchItemsResponse* out);
void ToProto(const RerankResponse& response, const GenerationRef& target,
             v1::RerankCandidatesResponse* out);
absl::StatusOr<EncodeResponse> FromProto(const v1::EncodeQueriesRequest& request,
                                         const v1::EncodeQueriesResponse& response);
// Also Internal: neighbors out of order (score, then item id), more than top_k.
absl::StatusOr<SearchShardResponse> FromProto(const v1::SearchIndexRequest& request,
                                              const v1::SearchIndexResponse& response);
// Also Internal: an item with another id or row than the one asked for.
absl::StatusOr<FetchItemsResponse> FromProto(const v1::FetchItemsRequest& request,
                                             const v1::FetchItemsResponse& response);
absl::StatusOr<RerankResponse> FromProto(const v1::RerankCandidatesRequest& request,
                                         const v1::RerankCandidatesResponse& response);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_BACKENDS_H_
