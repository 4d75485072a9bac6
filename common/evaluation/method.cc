#include "common/evaluation/method.h"

#include <algorithm>

namespace sightline {

bool SameMethod(const Method& a, const Method& b) {
  return a.depth == b.depth && (a.depth == 0 || SameCombination(a.combination, b.combination));
}

std::string MethodText(const Method& method) {
  return method.depth == 0 ? "retrieval" : CombinationText(method.combination);
}

std::vector<Combination> AllCombinations(absl::Span<const float> lambdas,
                                         const Combination& declared) {
  std::vector<Combination> combinations = {{CombinationKind::kReplace, 0}};
  for (const CombinationKind kind :
       {CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    for (const float lambda : lambdas) combinations.push_back({kind, lambda});
  }
  const bool known =
      std::any_of(combinations.begin(), combinations.end(),
                  [&](const Combination& c) { return SameCombination(c, declared); });
  if (!known) combinations.push_back(declared);
  return combinations;
}

std::vector<Method> Methods(absl::Span<const int> depths,
                            absl::Span<const Combination> combinations) {
  std::vector<Method> methods = {Method()};
  for (const int depth : depths) {
    for (const Combination& combination : combinations) methods.push_back({depth, combination});
  }
  return methods;
}

}  // namespace sightline
