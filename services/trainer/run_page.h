// A training run as one HTML page: what it lost, how it learnt, and what it wrote.
#ifndef SIGHTLINE_SERVICES_TRAINER_RUN_PAGE_H_
#define SIGHTLINE_SERVICES_TRAINER_RUN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/trainer/run_metrics.h"

namespace sightline {

// A plot for each number that the run reports, then what it wrote and said.  What the metrics left
// out stands at the top.  `name` is text.
std::string RunPage(absl::string_view name, const RunMetrics& run);

// A sentence for each thing that was left out or is no number; for people, as the page has them.
std::vector<std::string> RunDoubts(const RunMetrics& run);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_RUN_PAGE_H_
