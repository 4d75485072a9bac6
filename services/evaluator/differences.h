// Lists of differences between two ways to compute one ranking, for people and programs to look at.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_DIFFERENCES_H_
#define SIGHTLINE_SERVICES_EVALUATOR_DIFFERENCES_H_

#include <string>

#include "absl/types/span.h"
#include "common/api/search.h"
#include "common/evaluation/agreement.h"
#include "common/evaluation/query.h"

namespace sightline {

// A query and its two lists, which `agreement` is of.
struct ComparedLists {
  Direction direction = Direction::kTextToImage;
  const EvaluationQuery& query;
  absl::Span<const Hit> expected;
  absl::Span<const Hit> actual;
  const Agreement& agreement;
};

// A JSON object in a line of its own: which query; whether the lists are "different", have a tie at
// the "depth", ties that changed places ("tied"), or the same order and scores that are "rounded"
// otherwise; the first problem if they are different; and each place at which they have another
// item or another score, digit for digit, with what stands there in either.  Empty if there is no
// such place.
std::string DifferenceLine(const ComparedLists& lists);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_DIFFERENCES_H_
