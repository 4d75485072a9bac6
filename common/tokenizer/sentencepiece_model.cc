#include "common/tokenizer/sentencepiece_model.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/tokenizer/sentencepiece_fields.h"

namespace sightline {

using namespace sentencepiece_fields;  // NOLINT: the format's numbers, in the file of the format

namespace {

constexpr size_t kMaxPieces = 1'000'000;
constexpr size_t kMaxPieceBytes = 512;

absl::Status ModelError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("SentencePiece model: ", what));
}

struct Field {
  uint64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;       // of kVarint, kFixed32, kFixed64
  absl::string_view bytes;  // of kBytes
};

// Reads the fields of one message.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : message_(message), rest_(message) {}

  bool AtEnd() const { return rest_.empty(); }

  absl::StatusOr<Field> Next() {
    ASSIGN_OR_RETURN(const uint64_t tag, Varint());
    Field field;
    field.number = tag >> 3;
    field.type = static_cast<WireType>(tag & 7);
    switch (field.type) {
      case WireType::kVarint: {
        ASSIGN_OR_RETURN(field.value, Varint());
        return field;
      }
      case WireType::kFixed64:
      case WireType::kFixed32: {
        const size_t size = field.type == WireType::kFixed64 ? 8 : 4;
        ASSIGN_OR_RETURN(const absl::string_view number, Take(size));
        std::memcpy(&field.value, number.data(), size);  // both are little-endian
        return field;
      }
      case WireType::kBytes: {
        ASSIGN_OR_RETURN(const uint64_t size, Varint());
        ASSIGN_OR_RETURN(field.bytes, Take(size));
        return field;
      }
    }
    return Broken();
  }

 private:
  absl::Status Broken() const {
    return ModelError(absl::StrCat("a message of ", message_.size(), " bytes is broken at byte ",
                                   message_.size() - rest_.size(), " of it"));
  }

  absl::StatusOr<absl::string_view> Take(uint64_t size) {
    if (size > rest_.size()) return Broken();
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  absl::StatusOr<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    return Broken();
  }

  absl::string_view message_;
  absl::string_view rest_;
};

absl::Status CheckPiece(const SentencePieceModel::Piece& piece, uint64_t type, size_t index) {
  using Type = SentencePieceModel::Type;
  const std::string where = absl::StrCat("piece ", index);
  if (piece.text.empty()) return ModelError(absl::StrCat(where, " is empty"));
  if (piece.text.size() > kMaxPieceBytes) {
    return ModelError(absl::StrCat(where, " has ", piece.text.size(),
                                   " bytes; a piece has at most ", kMaxPieceBytes));
  }
  RETURN_IF_ERROR(CheckUtf8(piece.text, absl::StrCat("SentencePiece model: ", where)));
  if (!std::isfinite(piece.score)) {
    return ModelError(absl::StrCat("the score of ", where, " is ", piece.score));
  }
  for (const Type known : {Type::kNormal, Type::kUnknown, Type::kControl, Type::kUnused}) {
    if (type == static_cast<uint64_t>(known)) return absl::OkStatus();
  }
  return ModelError(absl::StrCat(
      where, " is of type ", type,
      "; normal (1), unknown (2), control (3) and unused (5) pieces are read, no others"));
}

absl::Status ParsePiece(absl::string_view message, SentencePieceModel* model) {
  SentencePieceModel::Piece piece;
  auto type = static_cast<uint64_t>(piece.type);
  for (FieldReader reader(message); !reader.AtEnd();) {
    ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (field.number == kPieceText && field.type == WireType::kBytes) {
      piece.text = std::string(field.bytes);
    } else if (field.number == kPieceScore && field.type == WireType::kFixed32) {
      const auto bits = static_cast<uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, sizeof(bits));
    } else if (field.number == kPieceType && field.type == WireType::kVarint) {
      type = field.value;
    }
  }
  RETURN_IF_ERROR(CheckPiece(piece, type, model->pieces.size()));
  piece.type = static_cast<SentencePieceModel::Type>(type);
  model->pieces.push_back(std::move(piece));
  return absl::OkStatus();
}

absl::Status CheckTrainerSpec(absl::string_view message) {
  for (FieldReader reader(message); !reader.AtEnd();) {
    ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (field.type != WireType::kVarint) continue;
    if (field.number == kTrainerModelType && field.value != kUnigram) {
      return ModelError(absl::StrCat("model_type is ", field.value,
                                     "; only the unigram model (1), which XLM-R has, is read"));
    }
    if (field.number == kTrainerWhitespaceAsSuffix && field.value != 0) {
      return ModelError("treat_whitespace_as_suffix is set; such models are not read");
    }
  }
  return absl::OkStatus();
}

absl::Status ParseNormalizerSpec(absl::string_view message, SentencePieceModel* model) {
  for (FieldReader reader(message); !reader.AtEnd();) {
    ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (field.number == kNormalizerCharsmap && field.type == WireType::kBytes) {
      model->charsmap = std::string(field.bytes);
    } else if (field.type == WireType::kVarint) {
      if (field.number == kNormalizerDummyPrefix) model->add_dummy_prefix = field.value != 0;
      if (field.number == kNormalizerExtraWhitespaces) {
        model->remove_extra_whitespaces = field.value != 0;
      }
      if (field.number == kNormalizerEscapeWhitespaces) {
        model->escape_whitespaces = field.value != 0;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SentencePieceModel> ParseSentencePieceModel(absl::string_view bytes) {
  SentencePieceModel model;
  for (FieldReader reader(bytes); !reader.AtEnd();) {
    ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (field.type != WireType::kBytes) continue;
    if (field.number == kModelPieces) {
      if (model.pieces.size() >= kMaxPieces) {
        return ModelError(absl::StrCat("there are more than ", kMaxPieces, " pieces"));
      }
      RETURN_IF_ERROR(ParsePiece(field.bytes, &model));
    } else if (field.number == kModelTrainerSpec) {
      RETURN_IF_ERROR(CheckTrainerSpec(field.bytes));
    } else if (field.number == kModelNormalizerSpec) {
      RETURN_IF_ERROR(ParseNormalizerSpec(field.bytes, &model));
    }
  }
  return model;
}

}  // namespace sightline
