// What is compared: retrieval alone, and each way to rerank.
#ifndef SIGHTLINE_COMMON_EVALUATION_METHOD_H_
#define SIGHTLINE_COMMON_EVALUATION_METHOD_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/embedding/score.h"

namespace sightline {

// One way to rank.  A value.
struct Method {
  int depth = 0;  // candidates that are reranked; 0: retrieval alone
  Combination combination;
};

// The combination counts only where there is one.
bool SameMethod(const Method& a, const Method& b);

// "retrieval" for depth 0, else the combination.
std::string MethodText(const Method& method);

// Replace, then add-lambda with each lambda, then norm-add-lambda with each; then
// `declared` if it is none of them.
std::vector<Combination> AllCombinations(absl::Span<const float> lambdas,
                                         const Combination& declared);

// Retrieval alone, then each combination at each depth, depth by depth.
std::vector<Method> Methods(absl::Span<const int> depths,
                            absl::Span<const Combination> combinations);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_METHOD_H_
