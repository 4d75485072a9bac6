// `write-questions`: labelled questions out of a store.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_WRITE_QUESTIONS_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_WRITE_QUESTIONS_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunWriteQuestions(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kWriteQuestionsCommand = {
    "write-questions", "evaluator write-questions --store DIR [--limit N] [flags]",
    "writes captions of a store as questions, with the pictures that are right", RunWriteQuestions};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_WRITE_QUESTIONS_COMMAND_H_
