// What holds for every tokenizer and every text.
#ifndef SIGHTLINE_TESTS_FUZZ_CHECK_TEXT_H_
#define SIGHTLINE_TESTS_FUZZ_CHECK_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

// Encodes `text` and aborts unless the result is right: at most `ids_per_byte` for each of
// its bytes (and one), each of the vocabulary.
inline void CheckText(const Tokenizer& tokenizer, absl::string_view text, size_t ids_per_byte) {
  const auto ids = tokenizer.Encode(text);
  Require(ids.ok() == CheckUtf8(text, "text").ok());
  if (!ids.ok()) {
    Require(ids.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  Require(ids->size() <= ids_per_byte * text.size() + 1);
  for (const int32_t id : *ids) {
    Require(id >= 0 && id < tokenizer.vocabulary_size());
    Require(!tokenizer.Spelling(id).empty());
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_FUZZ_CHECK_TEXT_H_
