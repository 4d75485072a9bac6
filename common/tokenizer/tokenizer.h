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

// Looked up in the vocabulary by name, never assumed.  A kind without a token of that role
// (CLIP's byte-level BPE has no mask) has -1.
struct SpecialIds {
  int32_t pad = -1;
  int32_t unk = -1;
  int32_t cls = -1;
  int32_t sep = -1;
  int32_t mask = -1;
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

  // How the vocabulary spells an id that Encode gives: for people and for the parity checker.
  virtual absl::string_view Spelling(int32_t id) const = 0;

  virtual int32_t vocabulary_size() const = 0;

  int32_t pad_id() const { return special_ids_.pad; }
  int32_t unk_id() const { return special_ids_.unk; }
  int32_t cls_id() const { return special_ids_.cls; }
  int32_t sep_id() const { return special_ids_.sep; }
  int32_t mask_id() const { return special_ids_.mask; }

 protected:
  // Once, before others see it.
  void set_special_ids(const SpecialIds& ids) { special_ids_ = ids; }

 private:
  SpecialIds special_ids_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_TOKENIZER_H_
