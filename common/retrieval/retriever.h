// The life of a search request: pin, encode, fan out, merge, rerank, combine.
//
// A Retriever holds the policy and nothing of the transport: common/api says what it is
// asked and whom it calls, generation_catalog.h what there is to call.  It answers before
// the deadline, partially if need be, and the answer says what was asked and what was done.
//
//   Retriever retriever(&backends, &catalog, &budget, options);
//   ASSIGN_OR_RETURN(SearchResult result, retriever.Search(request, call));
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RETRIEVER_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RETRIEVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/generation_catalog.h"

namespace sightline {

class RerankPaces;
struct SearchCaches;
struct SearchKeys;
struct SearchPlan;

struct RetrieverOptions {
  int default_depth = 20;
  int max_depth = 100;
  int max_text_bytes = limits::kMaxTextBytes;
  int64_t max_image_bytes = limits::kMaxImageBytes;  // of a picture's file or of its regions
  int max_pairs = limits::kMaxPairs;                 // texts times images of ScorePairs
  int max_get_items = limits::kMaxGetItems;
  // Candidates in one call to the reranker; the unit in which lateness is noticed.
  int rerank_slice = 10;
  // Slices under way at once.
  int rerank_parallelism = 2;
  // Whether fewer candidates are sent than asked for where more would not be scored in time, by
  // the reranker's pace of the last seconds (rerank_pace.h); else the time decides while they are
  // sent.
  bool fit_depth = true;
  // Whether shards are told how long they have, and look less hard where they would need longer.
  bool lower_effort = true;
};

// InvalidArgument, naming the field, unless sizes are positive and
// 0 <= default_depth <= max_depth <= limits::kMaxHits.
absl::Status Validate(const RetrieverOptions& options);

// Thread-safe.  Calls block the calling thread, until the deadline at the latest; they
// return CANCELLED soon after the call is cancelled.
// `backends`, `catalog`, `budget` and `caches` outlive the retriever; `options` are valid.  Without
// `caches` (search_caches.h) every search is computed, beside others that are equal.
//
// Errors: InvalidArgument (bad vector, k, depth, text, page token, space of an embedding is
// empty, no reranker of that name), NotFound (index, item), FailedPrecondition (space of an
// embedding differs, generation not loaded or, of a page token, not served any more), Unavailable
// (no shard answered, no encoder), DeadlineExceeded (not even retrieval fits), ResourceExhausted (a
// backend's queue is full).
class Retriever {
 public:
  Retriever(const Backends* backends, const GenerationCatalog* catalog, const BudgetPolicy* budget,
            RetrieverOptions options, SearchCaches* caches = nullptr);

  absl::StatusOr<SearchResult> Search(const SearchRequest& request, const CallContext& call) const;
  absl::StatusOr<ScorePairsResult> ScorePairs(const ScorePairsRequest& request,
                                              const CallContext& call) const;
  absl::StatusOr<GetItemsResult> GetItems(const GetItemsRequest& request,
                                          const CallContext& call) const;

 private:
  // A key is empty where nothing is kept.
  absl::StatusOr<SearchResult> Compute(const SearchRequest& request, const SearchPlan& plan,
                                       const SearchKeys& keys, const CallContext& call) const;

  const Backends* backends_;
  const GenerationCatalog* catalog_;
  const BudgetPolicy* budget_;
  RetrieverOptions options_;
  SearchCaches* caches_;
  std::shared_ptr<RerankPaces> paces_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RETRIEVER_H_
