// By what the router keeps what it has computed: the one place where such keys are made.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SEARCH_KEYS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SEARCH_KEYS_H_

#include <string>

#include "common/api/search.h"
#include "common/retrieval/search_plan.h"

namespace sightline {

// SHA-256 each.  All name the generation, what it is, the models that take part and the precision
// in which they compute (SearchPlan::precision), so what is kept for one generation answers no
// request to another, and what was computed in one precision no request that is computed in
// another.
struct SearchKeys {
  // Of the whole answer: all fields of the request, as they were given, and of the plan what the
  // answer depends on beside them.
  std::string answer;
  // Of the query as the encoder gives it: the query, and for which cross-encoder.
  std::string encoded;
  // Of the scores of the query with candidates, by the cross-encoder that the request chooses.
  std::string scored;
};

// Which of them somebody keeps something by; the others stay empty.
struct KeptKeys {
  bool answer = false, encoded = false, scored = false;
};

// Reads an upload once, if at all.  What is the same for all requests of a router
// (RetrieverOptions) is in none of them.
SearchKeys KeysOf(const SearchRequest& request, const SearchPlan& plan, const KeptKeys& kept);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SEARCH_KEYS_H_
