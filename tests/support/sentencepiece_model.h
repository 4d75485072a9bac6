// Model files of SentencePiece, without training.
#ifndef SIGHTLINE_TESTS_SUPPORT_SENTENCEPIECE_MODEL_H_
#define SIGHTLINE_TESTS_SUPPORT_SENTENCEPIECE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline {

// One piece as the model file has it.
struct SentencePieceEntry {
  std::string text;
  float score = 0;
  int type = 1;  // normal 1, unknown 2, control 3, user defined 4, unused 5, byte 6
};

// The bytes of one piece; a model file may be put together from such.
std::string SentencePieceEntryBytes(const SentencePieceEntry& entry);

// A field of bytes, or a number, of any message: for what a test wants to add to a file.
std::string BytesField(int number, const std::string& bytes);
std::string NumberField(int number, uint64_t value);

// A unigram model with these normal pieces, each a little rarer than the one before, behind
// <unk>, <s> and </s>.  Text is not normalised, but for spaces.  A tokenizer made of it has
// the ids 0 to 3 for special tokens, pieces from 4, and a vocabulary of 5 more than there are
// pieces.
std::string SentencePieceModelBytes(const std::vector<std::string>& pieces);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_SENTENCEPIECE_MODEL_H_
