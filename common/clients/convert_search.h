// The public calls (search.proto), on the wire and as the domain's structs.
//
// The router uses FromProto on requests and ToProto on answers; SearchClient the other
// two.  Policy that depends on a server's configuration (the largest depth, which index
// an empty name means, blank text) is the Retriever's; here the wire's own bounds are
// checked, and the error is InvalidArgument with the field's path.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_SEARCH_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_SEARCH_H_

#include "absl/status/statusor.h"
#include "common/api/search.h"
#include "sightline/v1/search.pb.h"

namespace sightline {

void ToProto(SearchRequest request, v1::SearchItemsRequest* out);
void ToProto(ScorePairsRequest request, v1::ScorePairsRequest* out);
void ToProto(GetItemsRequest request, v1::GetItemsRequest* out);
// Uploads are moved out of the message.
absl::StatusOr<SearchRequest> FromProto(v1::SearchItemsRequest request);
absl::StatusOr<ScorePairsRequest> FromProto(v1::ScorePairsRequest request);
absl::StatusOr<GetItemsRequest> FromProto(const v1::GetItemsRequest& request);

// `with_items`: whether the hits carry their items (ITEM_VIEW_FULL).
void ToProto(SearchResult result, bool with_items, v1::SearchItemsResponse* out);
// `image_count`: images of the request, which tells the pairs' rows and columns.
void ToProto(const ScorePairsResult& result, int image_count, v1::ScorePairsResponse* out);
// Items that were not found are left out.
void ToProto(GetItemsResult result, v1::GetItemsResponse* out);

// Internal, naming the field, if the answer is not one to `request`.  Of values of enums
// that only a newer server knows, degraded reasons are left out, and an outcome of reranking
// is told by the depths.
absl::StatusOr<SearchResult> FromProto(const v1::SearchItemsRequest& request,
                                       const v1::SearchItemsResponse& response);
absl::StatusOr<ScorePairsResult> FromProto(const v1::ScorePairsRequest& request,
                                           const v1::ScorePairsResponse& response);
absl::StatusOr<GetItemsResult> FromProto(const v1::GetItemsRequest& request,
                                         const v1::GetItemsResponse& response);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_SEARCH_H_
