// `words`: which words were shown to a model.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_WORDS_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_WORDS_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunWords(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kWordsCommand = {
    "words", "evaluator words --model BUNDLE|--vocabulary FILE [--set DIR|--corpus ...] WORD...",
    "tells which words a model knows and was shown", RunWords};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_WORDS_COMMAND_H_
