// `measure`: Recall@K and MRR of a store, in process or of the fleet that serves it.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_MEASURE_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_MEASURE_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunMeasure(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kMeasureCommand = {
    "measure", "evaluator measure --store DIR [--splits FILE] [--router ADDR] [flags]",
    "R@1/5/10/20 and MRR of retrieval alone and of each way to rerank, with intervals", RunMeasure};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_MEASURE_COMMAND_H_
