// Page tokens: how a search goes on where its last answer ended.
//
// A token says which request it belongs to and what its pages are cut from.  It is no
// secret and grants nothing: whoever forges one gets a page that he could have asked for, or
// could have a while ago (GenerationCatalog::PinGeneration).
#ifndef SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_
#define SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/api/search.h"

namespace sightline {

// In which an answer is computed; empty where none of the kind takes part, or it is not told.
struct Precisions {
  std::string encoder, reranker;
};

struct PageToken {
  std::string index;
  std::string generation;
  // Of the index that stores the queried item, if that is another one; else empty.
  std::string item_generation;
  std::string request;  // FingerprintOf the request
  int offset = 0;       // hits on the pages before; 1 to limits::kMaxHits - 1
  int depth = 0;        // of that fingerprint; known to TokenOf, and not in the text
  // How many candidates the first page reranked, if fewer than `depth`: later pages rerank as
  // many, or they would be of another list.
  absl::optional<int> reranked;
  // Of the first page; none of a router that did not ask.
  absl::optional<Precisions> precisions;
  // A candidate: where it is stored, and its retrieval score.
  struct Place {
    int shard = 0;
    int64_t row = 0;
    float score = 0;
  };
  // The last one of the pages before, in the order of retrieval: the list goes on with what ranks
  // behind it.  None where all were compared and the offset tells as much; see page_candidates.h.
  absl::optional<Place> behind;
};

// SHA-256, raw, over all that decides which hits come in which order, an upload by its length
// and its CRC-32C; `depth` is that of the request or the default, or 0 where by default nothing
// is reranked.  Only for requests that bring a token or get one.
std::string FingerprintOf(const SearchRequest& request, int depth);

// Letters, digits, '-' and '_'.  Without `behind` it is the text of Sightlines that searched every
// index exactly, without `precisions` that of those which knew of one only, and without `reranked`
// that of those which knew no other lists than those which are reranked as deep as they were asked
// to be.
std::string ToText(const PageToken& token);

// InvalidArgument that names `page_token` if `text` was not made by ToText; FailedPrecondition
// (PAGE_TOKEN_EXPIRED) if it was by that of a Sightline whose tokens say something else.
absl::StatusOr<PageToken> ParsePageToken(absl::string_view text);

// The request's token, made with one of the two depths (which may be one), whichever the
// generation that it names will turn out to call for.  InvalidArgument: as above, or
// PageTokenMismatch.
absl::StatusOr<PageToken> TokenOf(const SearchRequest& request, int depth, int other_depth);

// InvalidArgument with the reason PAGE_TOKEN_MISMATCH: it belongs to another request.
absl::Status PageTokenMismatch();

// FailedPrecondition with the reason PAGE_TOKEN_EXPIRED.
absl::Status PageTokenExpired(const PageToken& token);
// The same, for want of servers that compute as before.
absl::Status PageTokenExpired(const GenerationRef& of, const absl::Status& why);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_PAGE_TOKEN_H_
