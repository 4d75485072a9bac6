// Page tokens: how a search goes on where its last answer ended.
//
// A token says which request it belongs to and what its pages are cut from.  It is no
// secret and grants nothing: whoever forges one gets a page that he could have asked for, or
// could have a while ago (GenerationCatalog::PinGeneration).
#ifndef SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_
#define SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/retrieval/retriever.h"

namespace sightline {

struct PageToken {
  std::string index;
  std::string generation;
  // Of the index that stores the queried item, if that is another one; else empty.
  std::string item_generation;
  std::string request;  // FingerprintOf the request
  int offset = 0;       // hits on the pages before; 1 to kMaxHits - 1
};

// SHA-256, raw, over all that decides which hits come in which order, an upload by its length
// and its CRC-32C; `depth` is that of the request or the default.  Only for requests that
// bring a token or get one.
std::string FingerprintOf(const SearchRequest& request, int depth);

// Letters, digits, '-' and '_'.
std::string ToText(const PageToken& token);

// InvalidArgument that names `page_token` if `text` was not made by ToText.
absl::StatusOr<PageToken> ParsePageToken(absl::string_view text);

// The request's token.  InvalidArgument: as above, or with the reason PAGE_TOKEN_MISMATCH
// if it belongs to another request.
absl::StatusOr<PageToken> TokenOf(const SearchRequest& request, int depth);

// FailedPrecondition with the reason PAGE_TOKEN_EXPIRED.
absl::Status PageTokenExpired(const PageToken& token);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_
