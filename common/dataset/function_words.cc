#include "common/dataset/function_words.h"

#include "absl/algorithm/container.h"

namespace sightline {
namespace {

constexpr absl::string_view kFunctionWords[] = {
    "a",      "about",  "above",   "across", "after",  "against", "all",    "along", "am",
    "an",     "and",    "any",     "are",    "around", "as",      "at",     "be",    "been",
    "before", "behind", "being",   "below",  "beside", "between", "beyond", "both",  "but",
    "by",     "can",    "could",   "do",     "does",   "down",    "each",   "for",   "from",
    "had",    "has",    "have",    "he",     "her",    "here",    "him",    "his",   "i",
    "if",     "in",     "into",    "is",     "it",     "its",     "may",    "me",    "might",
    "must",   "my",     "near",    "next",   "no",     "not",     "of",     "off",   "on",
    "one",    "or",     "our",     "out",    "over",   "past",    "she",    "so",    "some",
    "than",   "that",   "the",     "their",  "them",   "then",    "there",  "these", "they",
    "this",   "those",  "through", "to",     "toward", "towards", "two",    "under", "up",
    "us",     "was",    "we",      "were",   "what",   "which",   "while",  "who",   "will",
    "with",   "would",  "you",     "your",   "three",  "four",    "five",   "six",   "seven",
    "eight",  "nine",   "ten"};

}  // namespace

bool IsFunctionWord(absl::string_view word) {
  return absl::c_linear_search(kFunctionWords, word);
}

}  // namespace sightline
