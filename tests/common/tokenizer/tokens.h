// Ids with their spelling.
#ifndef SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENS_H_
#define SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

struct Token {
  int32_t id = 0;
  std::string text;
};

inline absl::StatusOr<std::vector<Token>> Tokenize(const Tokenizer& tokenizer,
                                                   absl::string_view text) {
  const absl::StatusOr<std::vector<int32_t>> ids = tokenizer.Encode(text);
  if (!ids.ok()) return ids.status();
  std::vector<Token> tokens;
  for (const int32_t id : *ids) tokens.push_back({id, std::string(tokenizer.Spelling(id))});
  return tokens;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENS_H_
