#include "tests/support/sentencepiece_model.h"

#include <cstring>

namespace sightline {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr int kModelPieces = 1;
constexpr int kPieceText = 1;
constexpr int kPieceScore = 2;
constexpr int kPieceType = 3;

constexpr int kVarint = 0;
constexpr int kBytes = 2;
constexpr int kFixed32 = 5;

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  bytes += static_cast<char>(value);
  return bytes;
}

std::string Tag(int number, int wire_type) {
  return Varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(wire_type));
}

std::string FloatField(int number, float value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  return Tag(number, kFixed32) + std::string(bytes, sizeof(bytes));
}

}  // namespace

std::string BytesField(int number, const std::string& bytes) {
  return Tag(number, kBytes) + Varint(bytes.size()) + bytes;
}

std::string NumberField(int number, uint64_t value) {
  return Tag(number, kVarint) + Varint(value);
}

std::string SentencePieceEntryBytes(const SentencePieceEntry& entry) {
  return BytesField(kModelPieces, BytesField(kPieceText, entry.text) +
                                      FloatField(kPieceScore, entry.score) +
                                      NumberField(kPieceType, entry.type));
}

std::string SentencePieceModelBytes(const std::vector<std::string>& pieces) {
  std::string model = SentencePieceEntryBytes({"<unk>", 0, 2}) +
                      SentencePieceEntryBytes({"<s>", 0, 3}) +
                      SentencePieceEntryBytes({"</s>", 0, 3});
  float score = -1;
  for (const std::string& piece : pieces) {
    model += SentencePieceEntryBytes({piece, score, 1});
    score -= 0.01f;
  }
  return model;
}

}  // namespace sightline
