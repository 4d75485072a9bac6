// Exact answers to questions, and how much of them other answers to the same questions have: the
// recall of an index that is not searched exactly, measured and not promised.
#ifndef SIGHTLINE_LOADTEST_MEASURE_EXACT_ANSWERS_H_
#define SIGHTLINE_LOADTEST_MEASURE_EXACT_ANSWERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/api/search.h"

namespace sightline {

struct ExactAnswer {
  std::string generation;            // others have other items
  std::vector<std::string> nearest;  // ids, nearest first; one at least
};

// By question.  Any number of threads may look for answers once all are there.
class ExactAnswers {
 public:
  // `kind` and `question` as a planned request has them.
  void Add(int kind, int64_t question, ExactAnswer answer) {
    answers_[{kind, question}] = std::move(answer);
  }

  // Null: none is known.  Valid as long as nothing is added.
  const ExactAnswer* Find(int kind, int64_t question) const {
    const auto found = answers_.find({kind, question});
    return found == answers_.end() ? nullptr : &found->second;
  }

  size_t size() const { return answers_.size(); }

 private:
  std::map<std::pair<int, int64_t>, ExactAnswer> answers_;
};

// How many of `nearest` are among as many of the first hits.
int NearestFound(absl::Span<const std::string> nearest, absl::Span<const Hit> hits);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_EXACT_ANSWERS_H_
