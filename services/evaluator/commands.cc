#include "services/evaluator/commands.h"

#include "services/evaluator/compare_command.h"
#include "services/evaluator/measure_command.h"
#include "services/evaluator/precision_command.h"
#include "services/evaluator/questions_command.h"
#include "services/evaluator/scores_command.h"
#include "services/evaluator/tables_command.h"
#include "services/evaluator/words_command.h"
#include "services/evaluator/write_questions_command.h"

namespace sightline {

Program Evaluator() {
  return {"evaluator",
          "measures how well a store, or a fleet, finds what it should.",
          {kMeasureCommand, kCompareCommand, kQuestionsCommand, kPrecisionCommand,
           kWriteQuestionsCommand, kScoresCommand, kTablesCommand, kWordsCommand}};
}

int RunEvaluator(const std::vector<std::string>& args, const Console& console) {
  return RunProgram(Evaluator(), args, console);
}

}  // namespace sightline
