#include "common/tokenizer/basic_tokenizer.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/unicode.h"

namespace sightline {
namespace {

// All below take text that CheckText has passed.

bool IsSpace(UChar32 c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return true;
  // Line and paragraph separators split because the reference splits with Python's
  // str.split() in the end.
  return c >= 0x80 && (U_GET_GC_MASK(c) & U_GC_Z_MASK) != 0;
}

// Cc and Cf, as in the authors' release.  Some later ports drop every category C*; the
// golden cases say that unassigned code points stay (and then make their word unknown).
bool IsDropped(UChar32 c) {
  return c == 0xFFFD || (U_GET_GC_MASK(c) & (U_GC_CC_MASK | U_GC_CF_MASK)) != 0;
}

bool IsPunctuation(UChar32 c) {
  // All of ASCII's signs count, although Unicode calls "$+<=>^`|~" symbols.
  if (c < 0x80) return absl::ascii_ispunct(static_cast<unsigned char>(c));
  return u_ispunct(c);
}

// The blocks of ideographs; not kana, not Hangul.
bool IsIdeograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Steps up to the split at spaces.
std::vector<std::string> CleanAndSplit(absl::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&words, &word] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (int64_t offset = 0; offset < static_cast<int64_t>(text.size());) {
    const UChar32 c = NextCodePoint(text, &offset);
    if (IsSpace(c)) {
      flush();
    } else if (IsDropped(c)) {
      continue;
    } else if (IsIdeograph(c)) {
      flush();
      AppendCodePoint(c, &word);
      flush();
    } else {
      AppendCodePoint(c, &word);
    }
  }
  flush();
  return words;
}

// Canonical decomposition (NFD) without its nonspacing marks.
//
// ICU's normalizer would do, but its reordering of marks is quadratic in their number,
// and a text of nothing but marks is easily sent.  So marks are dropped before they are
// ordered, and the few spacing ones that have a combining class are sorted.
class AccentStripper {
 public:
  explicit AccentStripper(const icu::Normalizer2& nfd) : nfd_(nfd) {}

  std::string Strip(absl::string_view word) {
    for (int64_t offset = 0; offset < static_cast<int64_t>(word.size());) {
      const UChar32 c = NextCodePoint(word, &offset);
      icu::UnicodeString parts;
      if (c < 0x80 || !nfd_.getDecomposition(c, parts)) {
        Add(c);
        continue;
      }
      for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) Add(parts.char32At(i));
    }
    FlushMarks();
    return std::move(stripped_);
  }

 private:
  void Add(UChar32 c) {
    const uint8_t combining_class = u_getCombiningClass(c);
    if (combining_class == 0) FlushMarks();
    if (u_charType(c) == U_NON_SPACING_MARK) return;
    if (combining_class == 0) {
      AppendCodePoint(c, &stripped_);
    } else {
      marks_.emplace_back(combining_class, c);
    }
  }

  void FlushMarks() {
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& mark : marks_) AppendCodePoint(mark.second, &stripped_);
    marks_.clear();
  }

  const icu::Normalizer2& nfd_;
  std::string stripped_;
  std::vector<std::pair<uint8_t, UChar32>> marks_;  // class and code point, since a starter
};

absl::StatusOr<std::string> LowerCaseAndStripAccents(absl::string_view word) {
  if (IsAscii(word)) return absl::AsciiStrToLower(word);
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(error);
  if (U_FAILURE(error)) {
    return absl::InternalError(absl::StrCat("ICU has no NFD data: ", u_errorName(error)));
  }
  ASSIGN_OR_RETURN(const std::string lower, LowerCase(word));
  return AccentStripper(*nfd).Strip(lower);
}

void SplitAtPunctuation(absl::string_view word, std::vector<std::string>* words) {
  int64_t begin = 0;
  for (int64_t offset = 0; offset < static_cast<int64_t>(word.size());) {
    const int64_t start = offset;
    if (!IsPunctuation(NextCodePoint(word, &offset))) continue;
    if (start > begin) words->emplace_back(word.substr(begin, start - begin));
    words->emplace_back(word.substr(start, offset - start));
    begin = offset;
  }
  if (begin < static_cast<int64_t>(word.size())) words->emplace_back(word.substr(begin));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitIntoWords(absl::string_view text, bool lowercase) {
  RETURN_IF_ERROR(CheckText(text));
  std::vector<std::string> words;
  for (std::string& word : CleanAndSplit(text)) {
    if (lowercase) {
      ASSIGN_OR_RETURN(word, LowerCaseAndStripAccents(word));
    }
    SplitAtPunctuation(word, &words);
  }
  return words;
}

}  // namespace sightline
