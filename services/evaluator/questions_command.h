// `questions`: whether a fleet finds what people ask for.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_QUESTIONS_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_QUESTIONS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/clients/search_client.h"
#include "common/config/command.h"
#include "common/evaluation/questions.h"

namespace sightline {

int RunQuestions(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kQuestionsCommand = {
    "questions", "evaluator questions --questions FILE [--router ADDR] [flags]",
    "asks a fleet a file of questions and counts those whose answer is among the first hits",
    RunQuestions};

struct AskOptions {
  SearchRequest request;  // all but the query
  absl::Duration timeout = absl::Seconds(30);
};

struct AskedQuestions {
  int answered = 0;
  int found = 0;
  // What the requests that failed amount to (common/config/exit_status.h).
  int exit_status = kSuccess;
};

// Asks one after the other and prints a line for each: whether and at which rank the first
// expected item came, the query, and what came first.  A request that fails is told and
// counts as not found.
AskedQuestions AskQuestions(SearchClient& client, absl::Span<const Question> questions,
                            const AskOptions& options, const Console& console);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_QUESTIONS_COMMAND_H_
