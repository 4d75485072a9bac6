// The first step of a search: all that is decided before anybody is asked.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SEARCH_PLAN_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SEARCH_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/generation.h"
#include "common/api/precision.h"
#include "common/api/search.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/generation_catalog.h"
#include "common/retrieval/page_token.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/retriever.h"

namespace sightline {

// Keeps the generations that it names; a value that does not change any more.
struct SearchPlan {
  PinnedIndex target;
  absl::optional<PinnedIndex> item_index;  // where the query is stored, if it is an item
  const RerankerInfo* reranker = nullptr;  // of the target; null if it is retrieval only
  Modality query = Modality::kUnknown;
  bool rerank = false;  // is there to be reranking, and somebody to do it
  int depth = 0;        // asked for, if so
  // How many of these the first page reranked; none: this is the first.
  absl::optional<int> reranked_before;
  int list_depth = 0;  // of the fingerprints of the list's page tokens
  // Hits at the head of the list, which all come of one retrieval: of as many candidates for each
  // page that begins among them.  Whole pages, and all that are reranked.
  int head = 0;
  int begin = 0, end = 0;  // the hits of the page, as places in the whole list
  // What the page goes on behind, if it does not begin in the head and its token says.
  absl::optional<PageToken::Place> behind;
  SearchResult outline;  // what can be said of the answer by now
  // What the pages before were computed in, if their token says.
  absl::optional<Precisions> precisions_before;
  // Of those of the two that take part; see WishPrecisions.
  PrecisionWish encoder_wish, reranker_wish;
  Precisions precision;  // the same, as keys name it
};

// Pins, and checks the request against what is pinned; it has passed CheckSearchRequest.  With a
// page token all is as it was for the page before.  Errors: those of Retriever that name the
// request, the catalog's, PageTokenExpired.
absl::StatusOr<SearchPlan> PlanSearch(const SearchRequest& request, const RetrieverOptions& options,
                                      const Backends& backends, const GenerationCatalog& catalog);

// What the answer is to be computed in: what the pages before were, or else what the replica has
// that a call would go to now, so that answers spread over precisions as calls over replicas.  All
// that is reranked keeps to that.  A first page's query may be encoded in another, where nobody of
// that one is there any more, and reranked in another (rerank_stage.h).
void WishPrecisions(const SearchRequest& request, const Backends& backends, absl::Time now,
                    SearchPlan& plan);

// Whether it is a text, a picture or regions.
bool NeedsEncoder(const Query& query);

// The item that must not find itself, or null.
const std::string* ItemToLeaveOut(const Query& query, const SearchPlan& plan);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SEARCH_PLAN_H_
