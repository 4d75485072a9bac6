#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/tokenizer/sentencepiece_fields.h"
#include "common/tokenizer/sentencepiece_model.h"

namespace sightline {
namespace {

namespace fields = sentencepiece_fields;
using fields::WireType;

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  bytes += static_cast<char>(value);
  return bytes;
}

std::string Tag(uint64_t field, WireType type) {
  return Varint(field << 3 | static_cast<uint64_t>(type));
}

std::string NumberField(uint64_t field, uint64_t value) {
  return absl::StrCat(Tag(field, WireType::kVarint), Varint(value));
}

std::string BytesField(uint64_t field, absl::string_view bytes) {
  return absl::StrCat(Tag(field, WireType::kBytes), Varint(bytes.size()), bytes);
}

std::string FloatField(uint64_t field, float value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  return absl::StrCat(Tag(field, WireType::kFixed32), absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace

std::string SerializeSentencePieceModel(const SentencePieceModel& model) {
  std::string file;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    const std::string message = absl::StrCat(
        BytesField(fields::kPieceText, piece.text), FloatField(fields::kPieceScore, piece.score),
        NumberField(fields::kPieceType, static_cast<uint64_t>(piece.type)));
    absl::StrAppend(&file, BytesField(fields::kModelPieces, message));
  }
  const std::string trainer = NumberField(fields::kTrainerModelType, fields::kUnigram);
  const std::string normalizer = absl::StrCat(
      BytesField(fields::kNormalizerCharsmap, model.charsmap),
      NumberField(fields::kNormalizerDummyPrefix, model.add_dummy_prefix ? 1 : 0),
      NumberField(fields::kNormalizerExtraWhitespaces, model.remove_extra_whitespaces ? 1 : 0),
      NumberField(fields::kNormalizerEscapeWhitespaces, model.escape_whitespaces ? 1 : 0));
  absl::StrAppend(&file, BytesField(fields::kModelTrainerSpec, trainer),
                  BytesField(fields::kModelNormalizerSpec, normalizer));
  return file;
}

}  // namespace sightline
