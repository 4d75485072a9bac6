#include "common/dataset/caption_rule.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

constexpr absl::string_view kFilingKeywords[] = {
    "action", "application",       "computer", "hash",  "icon",     "icons",
    "magick", "signs_and_symbols", "special",  "theme", "unsorted",
};

// ICU's macros count in int32; nothing near that is a caption.
constexpr size_t kMostBytes = 1 << 20;

bool IsMark(UChar32 c) {
  return (U_MASK(u_charType(c)) & (U_GC_MN_MASK | U_GC_MC_MASK | U_GC_ME_MASK)) != 0;
}

int CountLetters(absl::string_view text) {
  int letters = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(text.size());) {
    UChar32 c = 0;
    U8_NEXT(text.data(), i, static_cast<int32_t>(text.size()), c);
    if (c >= 0 && u_isalpha(c)) ++letters;
  }
  return letters;
}

}  // namespace

std::string NormalizeWords(absl::string_view text) {
  if (text.size() > kMostBytes || !IsValidUtf8(text)) return "";
  std::string words;
  bool in_word = false;
  for (int32_t i = 0; i < static_cast<int32_t>(text.size());) {
    UChar32 c = 0;
    U8_NEXT(text.data(), i, static_cast<int32_t>(text.size()), c);
    const bool belongs = u_isalnum(c) || (in_word && IsMark(c));
    if (belongs) {
      if (!in_word && !words.empty()) words += ' ';
      uint8_t encoded[U8_MAX_LENGTH];
      int32_t length = 0;
      U8_APPEND_UNSAFE(encoded, length, u_tolower(c));
      words.append(reinterpret_cast<const char*>(encoded), length);
    }
    in_word = belongs;
  }
  return words;
}

bool HasVisibleCharacter(absl::string_view text) {
  if (text.size() > kMostBytes || !IsValidUtf8(text)) return false;
  for (int32_t i = 0; i < static_cast<int32_t>(text.size());) {
    UChar32 c = 0;
    U8_NEXT(text.data(), i, static_cast<int32_t>(text.size()), c);
    if (u_isgraph(c)) return true;
  }
  return false;
}

bool IsFilingKeyword(absl::string_view keyword) {
  return absl::StartsWith(keyword, "lemon") ||
         std::find(std::begin(kFilingKeywords), std::end(kFilingKeywords), keyword) !=
             std::end(kFilingKeywords);
}

std::vector<std::string> DescribingKeywords(absl::Span<const std::string> keywords) {
  std::vector<std::string> describing;
  for (const std::string& keyword : keywords) {
    for (const absl::string_view part :
         absl::StrSplit(keyword, absl::ByAnyChar("/, \t\r\n"), absl::SkipEmpty())) {
      // The list is ASCII, so is its lower case; the words follow Unicode's.
      if (IsFilingKeyword(absl::AsciiStrToLower(part))) continue;
      std::string words = NormalizeWords(part);
      if (words.empty() ||
          std::find(describing.begin(), describing.end(), words) != describing.end()) {
        continue;
      }
      describing.push_back(std::move(words));
    }
  }
  return describing;
}

void ClipArtCaptionRule::Count(absl::string_view title) {
  ++title_counts_[NormalizeWords(title)];
}

std::vector<std::string> ClipArtCaptionRule::CaptionsOf(const ClipArtText& text) const {
  const std::string title = NormalizeWords(text.title);
  const auto count = title_counts_.find(title);
  const bool shared = count != title_counts_.end() && count->second > kMostSharedTitle;
  if (shared || CountLetters(title) < kFewestLetters || absl::EndsWith(title, "svg")) return {};

  std::vector<std::string> captions = {title};
  std::string keywords = absl::StrJoin(DescribingKeywords(text.keywords), " ");
  if (!keywords.empty() && keywords != title) captions.push_back(std::move(keywords));
  return captions;
}

}  // namespace sightline
