// What `words` found, for people and for programs.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_WORDS_REPORT_H_
#define SIGHTLINE_SERVICES_EVALUATOR_WORDS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "services/evaluator/shown_words.h"
#include "services/evaluator/word_tokenizer.h"

namespace sightline {

struct WordsReport {
  // A question, and those of its words, punctuation left out, that training never showed.
  struct Question {
    std::string query;
    std::vector<TokenizedWord> unseen;
  };

  std::vector<TokenizedWord> words;  // that were asked for
  absl::optional<ShownWords> shown;  // nothing: no captions were given
  std::vector<Question> questions;   // all of them
};

// A line for each word; then one for each question with a word that was never shown.
std::string WordsText(const WordsReport& report);

// Everything, indented, with a newline at the end; README.md describes it.
std::string WordsJson(const WordsReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_WORDS_REPORT_H_
