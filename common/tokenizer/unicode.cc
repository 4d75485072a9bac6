#include "common/tokenizer/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

// ICU counts in 32 bits, and lower-casing can make a text three times as long.
constexpr size_t kMaxTextBytes = size_t{1} << 29;

// A code point and its canonical combining class.
struct Mark {
  UChar32 c = 0;
  uint8_t combining_class = 0;
};

// The standard's algorithm (UAX 15): decompose, sort marks by class, compose.
class Composer {
 public:
  explicit Composer(const icu::Normalizer2& nfc) : nfc_(nfc) {}

  std::string Compose(absl::string_view text) {
    for (int64_t offset = 0; offset < static_cast<int64_t>(text.size());) {
      const UChar32 c = NextCodePoint(text, &offset);
      icu::UnicodeString parts;
      if (c < 0x80 || !nfc_.getDecomposition(c, parts)) {
        Add(c);
        continue;
      }
      for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) Add(parts.char32At(i));
    }
    FlushMarks();
    FlushStarter();
    return std::move(composed_);
  }

 private:
  void Add(UChar32 c) {
    const uint8_t combining_class = u_getCombiningClass(c);
    if (combining_class != 0) {
      marks_.push_back({c, combining_class});
      return;
    }
    FlushMarks();
    const bool adjacent = has_starter_ && blocked_.empty();
    const UChar32 pair = adjacent ? nfc_.composePair(starter_, c) : -1;
    if (pair >= 0) {
      starter_ = pair;
      return;
    }
    FlushStarter();
    starter_ = c;
    has_starter_ = true;
  }

  // Composes the starter with those marks that nothing of their class or a higher one
  // stands before.
  void FlushMarks() {
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    });
    uint8_t last_class = 0;
    for (const Mark& mark : marks_) {
      const bool reaches = has_starter_ && last_class < mark.combining_class;
      const UChar32 pair = reaches ? nfc_.composePair(starter_, mark.c) : -1;
      if (pair >= 0) {
        starter_ = pair;
      } else {
        AppendCodePoint(mark.c, &blocked_);
        last_class = mark.combining_class;
      }
    }
    marks_.clear();
  }

  void FlushStarter() {
    if (has_starter_) AppendCodePoint(starter_, &composed_);
    composed_ += blocked_;
    blocked_.clear();
  }

  const icu::Normalizer2& nfc_;
  std::string composed_;
  bool has_starter_ = false;
  UChar32 starter_ = 0;      // the last one, that may still grow
  std::vector<Mark> marks_;  // since the starter, not yet in order
  std::string blocked_;      // marks behind the starter that do not compose with it
};

}  // namespace

absl::Status CheckText(absl::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "text has ", text.size(), " bytes; a tokenizer takes at most ", kMaxTextBytes));
  }
  return CheckUtf8(text, "text");
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isascii(c); });
}

UChar32 NextCodePoint(absl::string_view text, int64_t* offset) {
  UChar32 code_point;
  U8_NEXT(text.data(), *offset, static_cast<int64_t>(text.size()), code_point);
  return code_point;
}

void AppendCodePoint(UChar32 code_point, std::string* text) {
  uint8_t bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, code_point);
  text->append(reinterpret_cast<const char*>(bytes), size);
}

bool IsPythonSpace(UChar32 c) {
  // Python counts ASCII's separators of information, Unicode does not.
  return (c >= 0x1C && c <= 0x1F) || u_isUWhiteSpace(c);
}

absl::StatusOr<std::string> LowerCase(absl::string_view text) {
  if (IsAscii(text)) return absl::AsciiStrToLower(text);
  std::string lower;
  icu::StringByteSink<std::string> sink(&lower, static_cast<int32_t>(text.size()));
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                            sink, nullptr, error);
  if (U_FAILURE(error)) {
    return absl::InternalError(absl::StrCat("ICU cannot lower-case: ", u_errorName(error)));
  }
  return lower;
}

absl::StatusOr<std::string> ComposeCanonically(absl::string_view text) {
  if (IsAscii(text)) return std::string(text);
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(error);
  if (U_FAILURE(error)) {
    return absl::InternalError(absl::StrCat("ICU has no NFC data: ", u_errorName(error)));
  }
  return Composer(*nfc).Compose(text);
}

}  // namespace sightline
