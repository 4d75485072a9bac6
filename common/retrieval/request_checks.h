// What a request must be before anybody works for it.  All return InvalidArgument that
// names the field by its path in the request message, the value's size and the bound.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_REQUEST_CHECKS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_REQUEST_CHECKS_H_

#include "absl/status/status.h"
#include "common/api/search.h"
#include "common/retrieval/retriever.h"

namespace sightline {

// Everything of the request that can be judged without knowing an index:
// - a text is UTF-8, not blank and within max_text_bytes; an item id is not empty;
// - an image has bytes, within max_image_bytes; what is in them is the encoder's affair;
// - regions have sizes that agree, numbers that are finite, and the image's limit;
// - an embedding names its space and is finite;
// - tags of a filter are UTF-8, neither empty nor too long nor too many;
// - counts, top_k, depth, lambda, recall and effort are in their ranges.
absl::Status CheckSearchRequest(const SearchRequest& request, const RetrieverOptions& options);
absl::Status CheckScorePairsRequest(const ScorePairsRequest& request,
                                    const RetrieverOptions& options);
absl::Status CheckGetItemsRequest(const GetItemsRequest& request, const RetrieverOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_REQUEST_CHECKS_H_
