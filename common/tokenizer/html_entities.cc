#include "common/tokenizer/html_entities.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "common/tokenizer/unicode.h"

namespace sightline {
namespace {

struct NamedReference {
  absl::string_view name;  // with its semicolon, if that is needed
  absl::string_view text;
};

constexpr NamedReference kNamed[] = {
#include "common/tokenizer/html_entities.inc"
};

constexpr size_t kShortestName = 2;
constexpr size_t kLongestName = 32;
constexpr UChar32 kReplacement = 0xFFFD;
constexpr UChar32 kMaxCodePoint = 0x10FFFF;

// What the numbers 128 to 159 stand for: the characters that Windows has there.
constexpr UChar32 kWindows[] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

// Appends the character that `number` stands for, if it stands for one.
void AppendNumbered(UChar32 number, std::string* text) {
  if (number >= 0x80 && number <= 0x9F) {
    AppendCodePoint(kWindows[number - 0x80], text);
  } else if (number == 0 || number > kMaxCodePoint || U_IS_SURROGATE(number)) {
    AppendCodePoint(kReplacement, text);
  } else {
    const bool control =
        (number < 0x20 && number != '\t' && number != '\n' && number != '\f' && number != '\r') ||
        number == 0x7F;
    if (!control && !U_IS_UNICODE_NONCHAR(number)) AppendCodePoint(number, text);
  }
}

int DigitValue(char c, int base) {
  if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return c - '0';
  if (base == 16 && absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
    return absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  }
  return -1;
}

// The two below take what follows an ampersand, append what the reference stands for, and
// return its length; 0 if it is none.

size_t TakeNumber(absl::string_view rest, std::string* text) {
  size_t at = 1;  // behind the number sign
  int base = 10;
  if (at < rest.size() && (rest[at] == 'x' || rest[at] == 'X')) {
    base = 16;
    ++at;
  }
  const size_t digits = at;
  UChar32 number = 0;
  for (; at < rest.size() && DigitValue(rest[at], base) >= 0; ++at) {
    number = std::min(number * base + DigitValue(rest[at], base), kMaxCodePoint + 1);
  }
  if (at == digits) return 0;
  if (at < rest.size() && rest[at] == ';') ++at;
  AppendNumbered(number, text);
  return at;
}

size_t TakeName(absl::string_view rest, std::string* text) {
  size_t length = 0;
  while (length < std::min(rest.size(), kLongestName) &&
         absl::ascii_isalnum(static_cast<unsigned char>(rest[length]))) {
    ++length;
  }
  if (length < rest.size() && rest[length] == ';') ++length;
  for (; length >= kShortestName; --length) {
    const absl::string_view name = rest.substr(0, length);
    const auto* found = std::lower_bound(
        std::begin(kNamed), std::end(kNamed), name,
        [](const NamedReference& entry, absl::string_view key) { return entry.name < key; });
    if (found == std::end(kNamed) || found->name != name) continue;
    text->append(found->text.data(), found->text.size());
    return length;
  }
  return 0;
}

}  // namespace

std::string UnescapeHtml(absl::string_view text) {
  std::string unescaped;
  unescaped.reserve(text.size());
  while (!text.empty()) {
    const size_t plain = std::min(text.find('&'), text.size());
    unescaped.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    text.remove_prefix(1);
    const size_t taken =
        !text.empty() && text[0] == '#' ? TakeNumber(text, &unescaped) : TakeName(text, &unescaped);
    if (taken == 0) unescaped += '&';
    text.remove_prefix(taken);
  }
  return unescaped;
}

}  // namespace sightline
