// A model file of SentencePiece (sentencepiece_model.proto of its release), read and written by
// hand: its library carries a protobuf of its own under the names of ours, so no process can have
// both, and it trusts what a model file says.
#ifndef SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_MODEL_H_
#define SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct SentencePieceModel {
  enum class Type : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUnused = 5 };

  struct Piece {
    std::string text;
    float score = 0;  // a log probability; finite
    Type type = Type::kNormal;
  };

  std::vector<Piece> pieces;  // by SentencePiece's id

  // How a text is normalised; see sentencepiece_normalizer.h.
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// InvalidArgument, naming the piece or the byte, for what is no protobuf message of that
// kind, more than a million pieces, one that is empty, of more than 512 bytes, not UTF-8 or
// without a finite score; and for what XLM-R's model has not: an algorithm other than the
// unigram model, pieces that are user defined or stand for bytes, white space as a suffix.
absl::StatusOr<SentencePieceModel> ParseSentencePieceModel(absl::string_view bytes);

// The file that is read as `model`, by SentencePiece's library too; a unigram model.
std::string SerializeSentencePieceModel(const SentencePieceModel& model);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_MODEL_H_
