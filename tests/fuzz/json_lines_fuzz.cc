// Any bytes as the files that the evaluator reads.  The first byte chooses: 's' splits,
// anything else questions.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/evaluation/item_splits.h"
#include "services/evaluator/questions.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSplits(absl::string_view text) {
  const auto splits = sightline::ParseItemSplits(text);
  if (!splits.ok()) {
    Require(absl::IsInvalidArgument(splits.status()));
    return;
  }
  for (const auto& item : *splits) Require(!item.first.empty());
}

void CheckQuestions(absl::string_view text) {
  const auto questions = sightline::ParseQuestions(text);
  if (!questions.ok()) {
    Require(absl::IsInvalidArgument(questions.status()));
    return;
  }
  Require(!questions->empty());
  for (const sightline::Question& question : *questions) {
    Require(!question.query.empty() && !question.expected.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's') {
    CheckSplits(text);
  } else {
    CheckQuestions(text);
  }
  return 0;
}
