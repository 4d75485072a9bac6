// The candidates that a page of hits is cut out of.
//
// All pages of a list have to fit together: each hit once, in one order, whether or not the index
// is searched exactly.  An index that is not may find other rows among the first n when it is asked
// for more than n.  So:
// - Pages that begin in the head of the list (SearchPlan::head), and with them all that is
//   reranked, are cut from one retrieval, of as many candidates each time, which repeats.
// - A later page has what ranks behind the last candidate of the page before, which its token
//   carries (PageToken::behind).  What a deeper retrieval finds before that place it found too
//   late: it was not among what was asked for when its place was, and is part of the recall that is
//   not had.  Scores are exact products of stored rows, so that the order is one, and nothing that
//   was on an earlier page lies behind it.  If more than the page's part of the retrieval lies
//   before that place, twice as much is asked for, until the page is full or there is no more.
// - Where everything is compared, such a candidate would say no more than the number of hits before
//   it, and the token does without.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_PAGE_CANDIDATES_H_
#define SIGHTLINE_COMMON_RETRIEVAL_PAGE_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"
#include "common/retrieval/page_token.h"
#include "common/retrieval/search_plan.h"
#include "common/retrieval/search_shards.h"

namespace sightline {

struct PageCandidates {
  std::vector<Candidate> best;  // RanksBefore; without the queried item
  int first = 0;                // place of the first of them in the whole list
  int64_t findable = 0;         // hits that the whole list can have
  ItemsByPlace items;           // what is stored of some of them
  // What the next page goes on behind; none where its place in the list says as much.
  absl::optional<PageToken::Place> next_behind;
};

// Asks the shards, and tells `result` of coverage, effort and what was missing.  Errors, `planned`
// and `latest` as of SearchShards.
absl::StatusOr<PageCandidates> FindPageCandidates(const SearchRequest& request,
                                                  const SearchPlan& plan,
                                                  const EmbeddingMatrix& embedding,
                                                  bool lower_effort, absl::Time planned,
                                                  absl::Time latest, const CallContext& call,
                                                  SearchResult& result);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_PAGE_CANDIDATES_H_
