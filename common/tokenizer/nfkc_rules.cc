#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/tokenizer/charsmap.h"

namespace sightline {
namespace {

constexpr char kSpace[] = " ";
constexpr UChar32 kZeroWidthSpace = 0x200B;
constexpr UChar32 kWordStart = 0x2581;
constexpr UChar32 kReplacement = 0xFFFD;

bool IsKnown(UChar32 c) {
  UVersionInfo age;
  u_charAge(c, age);
  constexpr uint8_t kVersion = 15;
  return age[0] != 0 && (age[0] < kVersion || (age[0] == kVersion && age[1] == 0));
}

bool IsHangulSyllable(UChar32 c) {
  return u_getIntPropertyValue(c, UCHAR_HANGUL_SYLLABLE_TYPE) != U_HST_NOT_APPLICABLE;
}

std::string Utf8Of(const icu::UnicodeString& text) {
  std::string bytes;
  return text.toUTF8String(bytes);
}

std::string Utf8Of(UChar32 c) {
  return Utf8Of(icu::UnicodeString(c));
}

// What is not in the standard's form, or composes to what is.
class RuleMaker {
 public:
  RuleMaker(const icu::Normalizer2& nfc, const icu::Normalizer2& nfkc) : nfc_(nfc), nfkc_(nfkc) {}

  absl::StatusOr<NormalizationRules> Make() {
    for (UChar32 c = 1; c <= UCHAR_MAX_VALUE; ++c) {
      if (U_IS_SURROGATE(c) || !IsKnown(c)) continue;
      AddCharacter(c);
    }
    if (U_SUCCESS(error_)) return rules_;
    return absl::InternalError(absl::StrCat("ICU cannot normalize: ", u_errorName(error_)));
  }

 private:
  void AddCharacter(UChar32 c) {
    if (c != ' ' &&
        (u_isUWhiteSpace(c) || c == kZeroWidthSpace || c == kWordStart || c == kReplacement)) {
      rules_[Utf8Of(c)] = kSpace;
    } else if (u_charType(c) == U_CONTROL_CHAR) {
      rules_[Utf8Of(c)] = "";
    } else if (icu::UnicodeString parts; nfkc_.getDecomposition(c, parts) && !IsHangulSyllable(c)) {
      for (const icu::UnicodeString& spelled : SpellingsOf(c)) {
        const icu::UnicodeString normal = nfkc_.normalize(spelled, error_);
        if (normal != spelled) rules_[Utf8Of(spelled)] = Utf8Of(normal);
      }
    }
  }

  // The character, and if it is another one and a mark, each spelling of that one and the mark.
  std::vector<icu::UnicodeString> SpellingsOf(UChar32 c) const {
    std::vector<icu::UnicodeString> spellings = {icu::UnicodeString(c)};
    icu::UnicodeString parts;
    if (!nfc_.getRawDecomposition(c, parts) || parts.countChar32() != 2) return spellings;
    const UChar32 first = parts.char32At(0);
    const icu::UnicodeString mark(parts.char32At(parts.moveIndex32(0, 1)));
    for (const icu::UnicodeString& spelled : SpellingsOf(first)) {
      spellings.push_back(spelled + mark);
    }
    return spellings;
  }

  const icu::Normalizer2& nfc_;
  const icu::Normalizer2& nfkc_;
  UErrorCode error_ = U_ZERO_ERROR;
  NormalizationRules rules_;
};

}  // namespace

absl::StatusOr<NormalizationRules> NfkcRules() {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const nfc = icu::Normalizer2::getNFCInstance(error);
  const icu::Normalizer2* const nfkc = icu::Normalizer2::getNFKCInstance(error);
  if (U_FAILURE(error)) {
    return absl::InternalError(
        absl::StrCat("ICU has no data to normalize by: ", u_errorName(error)));
  }
  return RuleMaker(*nfc, *nfkc).Make();
}

}  // namespace sightline
