#include "common/tokenizer/byte_level_words.h"

#include <unicode/uchar.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/tokenizer/html_entities.h"
#include "common/tokenizer/unicode.h"

namespace sightline {
namespace {

constexpr int kByteCount = 256;

bool IsPrintedAsItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// All below take text that CheckText has passed.

// `text` with runs of white space made one space, and none at its ends.
std::string CollapseSpaces(absl::string_view text) {
  std::string collapsed;
  bool space = false;
  for (int64_t offset = 0; offset < static_cast<int64_t>(text.size());) {
    const UChar32 c = NextCodePoint(text, &offset);
    if (IsPythonSpace(c)) {
      space = true;
      continue;
    }
    if (space && !collapsed.empty()) collapsed += ' ';
    space = false;
    AppendCodePoint(c, &collapsed);
  }
  return collapsed;
}

absl::StatusOr<std::string> Clean(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::string composed, ComposeCanonically(text));
  return LowerCase(CollapseSpaces(UnescapeHtml(UnescapeHtml(composed))));
}

// What a code point makes a run of.
enum class Run { kSpace, kLetters, kNumber, kOther };

Run RunOf(UChar32 c) {
  if (c == ' ') return Run::kSpace;
  const uint32_t category = U_GET_GC_MASK(c);
  if ((category & U_GC_L_MASK) != 0) return Run::kLetters;
  return (category & U_GC_N_MASK) != 0 ? Run::kNumber : Run::kOther;
}

// The length of the contraction that `text` starts with; 0 if there is none.  The long s
// is one because the release's pattern knows no case.
size_t ContractionLength(absl::string_view text) {
  for (const absl::string_view contraction :
       {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'\u017f"}) {
    if (absl::StartsWith(text, contraction)) return contraction.size();
  }
  return 0;
}

// The length of the word that `text`, which is not empty, starts with.
size_t WordLength(absl::string_view text) {
  const size_t contraction = ContractionLength(text);
  if (contraction > 0) return contraction;
  int64_t end = 0;
  const Run run = RunOf(NextCodePoint(text, &end));
  if (run == Run::kNumber || run == Run::kSpace) return end;
  for (int64_t next = end; next < static_cast<int64_t>(text.size()); end = next) {
    if (RunOf(NextCodePoint(text, &next)) != run) break;
  }
  return end;
}

}  // namespace

std::vector<int> BytesInOrder() {
  std::vector<int> bytes;
  for (const bool as_itself : {true, false}) {
    for (int byte = 0; byte < kByteCount; ++byte) {
      if (IsPrintedAsItself(byte) == as_itself) bytes.push_back(byte);
    }
  }
  return bytes;
}

std::string ByteSpelling(int byte) {
  UChar32 character = byte;
  if (!IsPrintedAsItself(byte)) {
    // The characters from U+0100 on stand in, in order.
    character = kByteCount;
    for (int before = 0; before < byte; ++before) character += IsPrintedAsItself(before) ? 0 : 1;
  }
  std::string spelling;
  AppendCodePoint(character, &spelling);
  return spelling;
}

absl::Status ForEachByteLevelWord(absl::string_view text,
                                  const std::function<void(absl::string_view word)>& take) {
  RETURN_IF_ERROR(CheckText(text));
  ASSIGN_OR_RETURN(const std::string cleaned, Clean(text));
  for (absl::string_view rest = cleaned; !rest.empty();) {
    const size_t length = WordLength(rest);
    if (rest[0] != ' ') take(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return absl::OkStatus();
}

}  // namespace sightline
