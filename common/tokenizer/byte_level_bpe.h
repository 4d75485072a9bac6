// CLIP's tokenizer: the bytes of each word, joined pair by pair in the order in which the
// pairs were learnt (simple_tokenizer.py of the authors' release).
//
//   ASSIGN_OR_RETURN(auto tokenizer, ByteLevelBpeTokenizer::Create(merges));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("a red fish"));
//
// A text is composed (NFC), freed of HTML's character references twice, stripped of
// superfluous white space and lower-cased; then it is split into English contractions
// ('s, 'll, ...), runs of letters, single digits, and runs of anything else.  NFC stands
// where the release has ftfy.fix_text, as in Hugging Face's fast tokenizer: ftfy would also
// straighten curly quotes (so that a contraction with U+2019 is one), open ligatures, narrow
// full-width letters and guess at encodings that went wrong.  A written "<|endoftext|>" is
// three words, where the release makes the special token of it: nobody can forge one, and
// CLIP reads its result where the largest id is.
#ifndef SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_BPE_H_
#define SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_BPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

// Ids: 256 bytes, the same at the end of a word, the merges in the order of the file,
// <|startoftext|> (cls_id), <|endoftext|> (sep_id).  Bytes come in the order of the release:
// first those that are printed as themselves.  Thread-safe.
class ByteLevelBpeTokenizer : public Tokenizer {
 public:
  // `merges` is the text of the merges file: a heading with "#version:", then a merge a
  // line, two symbols with a space between; lines end in \n or \r\n.  Of more than the
  // 48 894 merges that CLIP uses the rest is not read, so that OpenAI's file of 262 145
  // lines is taken as it is.
  //
  // InvalidArgument, with the line's number from one, for a file without the heading, a
  // line that is no two symbols, a symbol that is neither a byte nor made by an earlier
  // line, one of more than 512 bytes, and a line that makes what there is already.
  static absl::StatusOr<std::unique_ptr<ByteLevelBpeTokenizer>> Create(absl::string_view merges);

  // See Tokenizer; the time for a text of n bytes is n log n.
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override;
  absl::string_view Spelling(int32_t id) const override { return symbols_[id]; }

  int32_t vocabulary_size() const override { return sep_id() + 1; }

 private:
  ByteLevelBpeTokenizer();
  absl::Status ReadMerges(absl::string_view merges);
  absl::Status AddMerge(absl::string_view line, size_t line_number);
  absl::StatusOr<int32_t> FindSymbol(absl::string_view symbol, size_t line_number) const;
  void AppendWord(absl::string_view word, std::vector<int32_t>* ids) const;

  std::array<int32_t, 256> byte_ids_;
  std::vector<std::string> symbols_;  // by id, without the special ones
  absl::flat_hash_map<std::string, int32_t> ids_;
  // What two neighbours become.  The smaller id was learnt earlier, so it is the rank too.
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> merges_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_BPE_H_
