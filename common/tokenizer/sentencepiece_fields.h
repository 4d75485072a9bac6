// Field numbers of sentencepiece_model.proto of SentencePiece's release, and its values that
// matter, for those who read and write its messages by hand.
#ifndef SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_FIELDS_H_
#define SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_FIELDS_H_

#include <cstdint>

namespace sightline {
namespace sentencepiece_fields {

inline constexpr uint64_t kModelPieces = 1;
inline constexpr uint64_t kModelTrainerSpec = 2;
inline constexpr uint64_t kModelNormalizerSpec = 3;
inline constexpr uint64_t kPieceText = 1;
inline constexpr uint64_t kPieceScore = 2;
inline constexpr uint64_t kPieceType = 3;
inline constexpr uint64_t kTrainerModelType = 3;
inline constexpr uint64_t kTrainerWhitespaceAsSuffix = 24;
inline constexpr uint64_t kNormalizerCharsmap = 2;
inline constexpr uint64_t kNormalizerDummyPrefix = 3;
inline constexpr uint64_t kNormalizerExtraWhitespaces = 4;
inline constexpr uint64_t kNormalizerEscapeWhitespaces = 5;
inline constexpr uint64_t kUnigram = 1;

// Of protobuf's wire format.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace sentencepiece_fields
}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_FIELDS_H_
