// Tables of lists that `measure` has seen, of a fleet or of this process.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_LISTS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_LISTS_H_

#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "services/evaluator/tables_flags.h"
#include "services/evaluator/tables_report.h"

namespace sightline {

// Files of one language are folds of a part, whose means are averaged; a part for each language, in
// the order of the files.  Of their methods those that all have.
//
// InvalidArgument, naming the file, for what is no such file, whose lists end elsewhere than those
// of the first, that is of a fleet where the first is not, or whose lists end before the cutoff of
// NDCG, and for families that are none of its images'; the errors of ReadFile.
absl::StatusOr<TablesReport> TablesOfLists(const TablesFlags& flags, const TablesPlan& plan,
                                           ComputePool* threads);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_LISTS_H_
