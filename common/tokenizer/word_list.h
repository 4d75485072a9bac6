// SGRAF's tokenizer: the Treebank words of the lower-cased text, each looked up as a whole
// (vocab.py and data.py of the authors' release; the vocabularies are those of SCAN).
//
//   ASSIGN_OR_RETURN(auto tokenizer, WordListTokenizer::Create(json));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("A red fish."));
#ifndef SIGHTLINE_COMMON_TOKENIZER_WORD_LIST_H_
#define SIGHTLINE_COMMON_TOKENIZER_WORD_LIST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

// Words as treebank_words.h splits them; one that the list lacks is <unk>.  Special words
// cannot be written into a text: "<end>" is three words.  Thread-safe.
class WordListTokenizer : public Tokenizer {
 public:
  // `vocabulary` is SCAN's JSON: an object with "word2idx", an object of each word's id;
  // "idx2word", the same the other way round, and "idx", the number of words, have to agree
  // with it if they are there.
  //
  // InvalidArgument for other JSON, more than a million words, one that is empty, of more
  // than 512 bytes or there twice, ids that are not 0 to n-1, each once, and if <pad>,
  // <start>, <end> or <unk> is missing.
  static absl::StatusOr<std::unique_ptr<WordListTokenizer>> Create(absl::string_view vocabulary);

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override;
  absl::string_view Spelling(int32_t id) const override { return words_[id]; }

  int32_t vocabulary_size() const override { return static_cast<int32_t>(words_.size()); }

 private:
  using Ids = absl::flat_hash_map<std::string, int32_t>;

  WordListTokenizer(Ids ids, std::vector<std::string> words);

  const Ids ids_;
  const std::vector<std::string> words_;  // by id
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_WORD_LIST_H_
