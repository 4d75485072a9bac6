#include "common/tokenizer/charsmap.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/match.h"
#include "common/tokenizer/sentencepiece_normalizer.h"
#include "common/tokenizer/unicode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// What reads the rules, doing nothing else.
std::unique_ptr<SentencePieceNormalizer> NormalizerOf(const NormalizationRules& rules) {
  SentencePieceModel model;
  const auto charsmap = CompileCharsmap(rules);
  REQUIRE(charsmap.ok());
  uint32_t trie_bytes = 0;
  std::memcpy(&trie_bytes, charsmap->data(), sizeof(trie_bytes));
  REQUIRE(trie_bytes % 1024 == 0);  // or SentencePiece's library refuses it
  model.charsmap = *charsmap;
  model.add_dummy_prefix = model.remove_extra_whitespaces = model.escape_whitespaces = false;
  auto normalizer = SentencePieceNormalizer::Create(model);
  REQUIRE(normalizer.ok());
  return *std::move(normalizer);
}

std::string RandomText(std::mt19937* random, unsigned most) {
  const char* const kCharacters[] = {"a", "b", "\x01", " ", "\u00e9", "\u732b", "\U0001f40d"};
  std::string text;
  for (unsigned n = 1 + (*random)() % most; n > 0; --n) {
    text += kCharacters[(*random)() % std::size(kCharacters)];
  }
  return text;
}

// Tries every rule at every place.
std::string SlowNormalize(const NormalizationRules& rules, std::string text) {
  std::string normalized;
  while (!text.empty()) {
    size_t length = 0;
    std::string replacement;
    for (const auto& [from, to] : rules) {
      if (from.size() <= length || !absl::StartsWith(text, from)) continue;
      length = from.size();
      replacement = to;
    }
    if (length == 0) {
      length = 1;
      while (length < text.size() && (text[length] & 0xC0) == 0x80) ++length;
      replacement = text.substr(0, length);
    }
    normalized += replacement;
    text = text.substr(length);
  }
  return normalized;
}

TEST_CASE("the longest rule is found at every place, whatever the rules are") {
  std::mt19937 random(31);
  for (const int count : {0, 1, 5, 40, 3000}) {
    NormalizationRules rules;
    for (int i = 0; i < count; ++i) {
      rules[RandomText(&random, 5)] = random() % 5 == 0 ? "" : RandomText(&random, 3);
    }
    const auto normalizer = NormalizerOf(rules);
    for (int i = 0; i < 300; ++i) {
      std::string text = RandomText(&random, 20);
      // No rule has one, but a text may.
      if (i % 4 == 0) text.insert(text.begin(), '\0');
      CAPTURE(count, text);
      REQUIRE(normalizer->Normalize(text) == SlowNormalize(rules, text));
    }
    REQUIRE(*CompileCharsmap(rules) == *CompileCharsmap(rules));
  }
}

TEST_CASE("rules that cannot be are refused") {
  const std::pair<std::string, std::string> kBad[] = {{"", "a"},
                                                      {std::string("\0a", 2), "b"},
                                                      {"a", std::string("\0", 1)},
                                                      {"\xff", "a"},
                                                      {"a", "\xff"}};
  for (const auto& [from, to] : kBad) {
    NormalizationRules rules;
    rules[from] = to;
    REQUIRE(absl::IsInvalidArgument(CompileCharsmap(rules).status()));
  }
}

TEST_CASE("every character becomes what the standard's normal form KC makes of it") {
  const auto rules = NfkcRules();
  REQUIRE(rules.ok());
  const auto normalizer = NormalizerOf(*rules);
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfkc = icu::Normalizer2::getNFKCInstance(error);
  int64_t changed = 0;
  for (UChar32 c = 1; c <= UCHAR_MAX_VALUE; ++c) {
    UVersionInfo age;
    u_charAge(c, age);
    if (U_IS_SURROGATE(c) || age[0] == 0 || age[0] > 15 || (age[0] == 15 && age[1] > 0)) continue;
    std::string text, expected;
    AppendCodePoint(c, &text);
    nfkc->normalize(icu::UnicodeString(c), error).toUTF8String(expected);
    if (u_isUWhiteSpace(c) || c == 0x200B || c == 0x2581 || c == 0xFFFD) {
      expected = " ";
    } else if (u_charType(c) == U_CONTROL_CHAR) {
      expected = "";
    }
    if (normalizer->Normalize(text) == expected) {
      changed += expected != text;
      continue;
    }
    CAPTURE(c);
    REQUIRE(normalizer->Normalize(text) == expected);
  }
  REQUIRE(changed > 4000);
  REQUIRE(U_SUCCESS(error));
}

TEST_CASE("marks compose with what stands before them, composed or not") {
  const auto normalizer = NormalizerOf(*NfkcRules());
  for (const char* spelled : {"\u1ebf", "\u00ea\u0301", "e\u0302\u0301"}) {
    REQUIRE(normalizer->Normalize(spelled) == "\u1ebf");
  }
  REQUIRE(normalizer->Normalize("\uff21\u2460\ufb01\t\u2581x\x07") == "A1fi  x");
  // As the header says.
  REQUIRE(normalizer->Normalize("\u1112\u1161\u11ab") == "\u1112\u1161\u11ab");
}

}  // namespace
}  // namespace sightline
