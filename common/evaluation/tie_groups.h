// Where the relevant candidates of a query stand.
//
// A ranking may have ties.  Either candidates of equal scores stand in their own order, which is
// deterministic, or every order of them is as likely as any other, and what is measured are
// expectations over these: so a method that scores everything alike gains nothing from the order of
// a file.  One form serves both: groups of candidates of equal scores, which in the first case have
// one candidate each.
#ifndef SIGHTLINE_COMMON_EVALUATION_TIE_GROUPS_H_
#define SIGHTLINE_COMMON_EVALUATION_TIE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

enum class TieRule {
  kCandidateOrder,  // the candidate that comes first stands first
  kExpectedRank,    // by chance
};

// Candidates that share the places above + 1 to above + tied, in any order.
struct TieGroup {
  int64_t above = 0;     // candidates that stand before all of them
  int64_t tied = 1;      // how many they are
  int64_t relevant = 1;  // of them, at least 1
};

// The groups with a relevant candidate, best first: the higher score stands first.  `scores` are
// those of all candidates and have no NaN; `relevant` are places in it, each once.
std::vector<TieGroup> RankRelevant(absl::Span<const float> scores, absl::Span<const int> relevant,
                                   TieRule ties);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_TIE_GROUPS_H_
