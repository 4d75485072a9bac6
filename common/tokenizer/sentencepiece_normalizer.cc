#include "common/tokenizer/sentencepiece_normalizer.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

// The rules that SentencePiece ships have some 20 and 33 bytes at most.
constexpr size_t kMaxRuleBytes = 256;
constexpr size_t kMaxReplacementBytes = 256;
constexpr absl::string_view kVisibleSpace = "\u2581";
constexpr absl::string_view kReplacementCharacter = "\uFFFD";

// A unit of the double array.  Bit 31 marks a value, which no label equals.
bool HasLeaf(uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
uint32_t Value(uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
uint32_t Label(uint32_t unit) {
  return unit & 0x800000FF;
}
uint32_t Offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}

absl::Status CharsmapError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("SentencePiece model: charsmap ", what));
}

// Bytes of the character that `text`, which is not empty, starts with; 0 for a byte that
// starts none.  The rest of the text is UTF-8.
size_t CharacterLength(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xC0) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model)
    : add_dummy_prefix_(model.add_dummy_prefix),
      remove_extra_whitespaces_(model.remove_extra_whitespaces),
      space_(model.escape_whitespaces ? kVisibleSpace : absl::string_view(" ")) {}

absl::StatusOr<std::unique_ptr<SentencePieceNormalizer>> SentencePieceNormalizer::Create(
    const SentencePieceModel& model) {
  std::unique_ptr<SentencePieceNormalizer> normalizer(new SentencePieceNormalizer(model));
  if (!model.charsmap.empty()) RETURN_IF_ERROR(normalizer->ReadCharsmap(model.charsmap));
  return normalizer;
}

absl::Status SentencePieceNormalizer::ReadCharsmap(absl::string_view charsmap) {
  uint32_t trie_bytes = 0;
  if (charsmap.size() <= sizeof(trie_bytes)) return CharsmapError("is too short");
  std::memcpy(&trie_bytes, charsmap.data(), sizeof(trie_bytes));
  charsmap.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes % sizeof(uint32_t) != 0 || trie_bytes > charsmap.size()) {
    return CharsmapError(absl::StrCat("has ", charsmap.size(), " bytes for a trie of ", trie_bytes,
                                      "; its length is a multiple of 4"));
  }
  trie_.resize(trie_bytes / sizeof(uint32_t));
  if (!trie_.empty()) std::memcpy(trie_.data(), charsmap.data(), trie_bytes);
  charsmap.remove_prefix(trie_bytes);
  RETURN_IF_ERROR(CheckUtf8(charsmap, "SentencePiece model: the replacements of the charsmap"));
  replacements_ = std::string(charsmap);
  for (absl::string_view rest = replacements_; !rest.empty();) {
    const size_t length = std::min(rest.find('\0'), rest.size());
    if (length > kMaxReplacementBytes) {
      return CharsmapError(absl::StrCat("has a replacement of ", length, " bytes; it may have ",
                                        kMaxReplacementBytes));
    }
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  return absl::OkStatus();
}

SentencePieceNormalizer::Step SentencePieceNormalizer::FindRule(absl::string_view text) const {
  Step longest;
  if (trie_.empty()) return longest;
  size_t node = Offset(trie_[0]);
  for (size_t i = 0; i < std::min(text.size(), kMaxRuleBytes); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= trie_.size() || Label(trie_[node]) != byte) break;
    const uint32_t unit = trie_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= trie_.size()) break;
    const size_t begin = Value(trie_[node]);
    if (begin >= replacements_.size()) continue;
    const absl::string_view rest = absl::string_view(replacements_).substr(begin);
    longest = {i + 1, rest.substr(0, rest.find('\0'))};
  }
  return longest;
}

SentencePieceNormalizer::Step SentencePieceNormalizer::NextStep(absl::string_view text) const {
  const Step rule = FindRule(text);
  if (rule.length > 0) return rule;
  const size_t length = CharacterLength(text);
  // Only a rule that ends inside a character leads here.
  if (length == 0) return {1, kReplacementCharacter};
  return {length, text.substr(0, length)};
}

std::string SentencePieceNormalizer::Normalize(absl::string_view text) const {
  std::string normalized;
  // At the start as if after a space, so that the first ones go.
  bool after_space = remove_extra_whitespaces_;
  bool started = false;
  while (!text.empty()) {
    const Step step = NextStep(text);
    text.remove_prefix(step.length);
    if (!started && remove_extra_whitespaces_ && step.replacement == " ") continue;
    if (!started && add_dummy_prefix_) normalized.append(space_.data(), space_.size());
    started = true;
    absl::string_view part = step.replacement;
    while (after_space && absl::ConsumePrefix(&part, " ")) continue;
    for (const char c : part) {
      if (c == ' ') {
        normalized.append(space_.data(), space_.size());
      } else {
        normalized += c;
      }
    }
    if (!part.empty()) after_space = remove_extra_whitespaces_ && absl::EndsWith(part, " ");
  }
  if (remove_extra_whitespaces_) {
    while (absl::EndsWith(normalized, space_)) normalized.resize(normalized.size() - space_.size());
  }
  return normalized;
}

}  // namespace sightline
