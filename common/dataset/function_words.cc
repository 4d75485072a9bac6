#include "common/dataset/function_words.h"

#include "absl/algorithm/container.h"

namespace sightline {
namespace {

constexpr absl::string_view kFunctionWords[] = {
    "a",       "about",  "above",  "across",  "after",   "against", "all",     "along",  "am",
    "an",      "and",    "any",    "are",     "around",  "as",      "at",      "be",     "because",
    "been",    "before", "behind", "being",   "below",   "beside",  "between", "beyond", "both",
    "but",     "by",     "can",    "could",   "do",      "does",    "down",    "during", "each",
    "eight",   "five",   "for",    "four",    "from",    "had",     "has",     "have",   "he",
    "her",     "here",   "him",    "his",     "how",     "i",       "if",      "in",     "inside",
    "into",    "is",     "it",     "its",     "may",     "me",      "might",   "must",   "my",
    "near",    "next",   "nine",   "no",      "not",     "of",      "off",     "on",     "one",
    "onto",    "or",     "our",    "out",     "outside", "over",    "past",    "seven",  "she",
    "since",   "six",    "so",     "some",    "such",    "ten",     "than",    "that",   "the",
    "their",   "them",   "then",   "there",   "these",   "they",    "this",    "those",  "three",
    "through", "to",     "toward", "towards", "two",     "under",   "until",   "up",     "upon",
    "us",      "was",    "we",     "were",    "what",    "when",    "where",   "which",  "while",
    "who",     "whose",  "why",    "will",    "with",    "within",  "without", "would",  "yet",
    "you",     "your"};

}  // namespace

bool IsFunctionWord(absl::string_view word) {
  return absl::c_linear_search(kFunctionWords, word);
}

}  // namespace sightline
