// What SentencePiece does to a text before it cuts it into pieces.
#ifndef SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_NORMALIZER_H_
#define SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_NORMALIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/sentencepiece_model.h"

namespace sightline {

// Replaces the longest prefix that the model's rules know by what they say (mostly NFKC),
// again and again; runs of spaces become one, a space is put in front, and each space is
// spelled U+2581, all three if the model wants it.  Thread-safe.
//
// The rules are a "precompiled charsmap": the length of a trie in bytes, 32 bits; the trie,
// a double array of darts-clone, in units of 32 bits; the replacements, each ended by a zero
// byte, to which the trie's values point.  All of it little-endian.
class SentencePieceNormalizer {
 public:
  // InvalidArgument if the charsmap's parts do not fit its length, a replacement is longer
  // than 256 bytes, or they are not UTF-8.
  static absl::StatusOr<std::unique_ptr<SentencePieceNormalizer>> Create(
      const SentencePieceModel& model);

  // `text` must be UTF-8.  The result is, too, unless the trie points into the middle of a
  // character.  At most 256 bytes for each byte of the text; rules for more than 256 bytes
  // of text are not found, and one that points behind the replacements is none.
  std::string Normalize(absl::string_view text) const;

 private:
  explicit SentencePieceNormalizer(const SentencePieceModel& model);

  // A prefix of the text, in bytes, and what it becomes.
  struct Step {
    size_t length = 0;
    absl::string_view replacement;
  };

  absl::Status ReadCharsmap(absl::string_view charsmap);
  Step NextStep(absl::string_view text) const;
  Step FindRule(absl::string_view text) const;

  const bool add_dummy_prefix_;
  const bool remove_extra_whitespaces_;
  const absl::string_view space_;  // how a space is spelled
  std::vector<uint32_t> trie_;
  std::string replacements_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_NORMALIZER_H_
