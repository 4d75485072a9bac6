// `evaluator scores`: scores of a corpus by a model, for `evaluator tables`.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_SCORES_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_SCORES_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunScores(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kScoresCommand = {
    "scores", "evaluator scores --model MODEL --corpus CORPUS --by WHAT --out FILE.npy [flags]",
    "scores a corpus's pictures with its captions, for tables", RunScores};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_SCORES_COMMAND_H_
