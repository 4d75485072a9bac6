// Text to the ids that a text encoder's embedding table is indexed by.
//
// A tokenizer is immutable once made, so any number of threads may share one.  It knows
// nothing of sequence length or layout: the models library cuts and puts the special ids
// where its family wants them.
#ifndef SIGHTLINE_COMMON_TOKENIZER_TOKENIZER_H_
#define SIGHTLINE_COMMON_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct Token {
  int32_t id = 0;
  std::string text;  // as the vocabulary spells it
};

// Thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of `text` in order, without special ids around them; none for a text without
  // visible characters.  Every id lies in [0, vocabulary_size()).  Time is linear in the
  // text for a given vocabulary.
  //
  // InvalidArgument if `text` is not UTF-8, naming the offset of the first bad byte.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const = 0;

  // The same tokens with their spelling, for people and for the parity checker.
  virtual absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text) const = 0;

  virtual int32_t vocabulary_size() const = 0;

  // Special ids, looked up in the vocabulary by name, never assumed.  A kind without a
  // token of that role (CLIP's byte-level BPE has no mask) returns -1.
  virtual int32_t pad_id() const = 0;
  virtual int32_t unk_id() const = 0;
  virtual int32_t cls_id() const = 0;
  virtual int32_t sep_id() const = 0;
  virtual int32_t mask_id() const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_TOKENIZER_H_
