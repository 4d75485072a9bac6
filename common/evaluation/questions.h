// A file of questions and of what should be found.
#ifndef SIGHTLINE_COMMON_EVALUATION_QUESTIONS_H_
#define SIGHTLINE_COMMON_EVALUATION_QUESTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct Question {
  std::string query;
  std::vector<std::string> expected;  // item ids; one of them is enough.  Not empty.
};

// A JSON object a line, {"query": "a red fish", "expect": ["stamps/animals/fish/red"]};
// blank lines and other keys are passed over.  InvalidArgument, naming the line, for
// anything malformed, and for a file without a question.
absl::StatusOr<std::vector<Question>> ParseQuestions(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_QUESTIONS_H_
