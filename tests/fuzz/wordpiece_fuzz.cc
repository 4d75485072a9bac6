// Any vocabulary and any text.  The first byte chooses: bit 0 lower-cases, bit 1 says that
// a vocabulary comes first, up to a zero byte; it is appended to the special tokens.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/wordpiece.h"
#include "tests/fuzz/check_text.h"

namespace {

constexpr char kSpecials[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
constexpr char kWords[] = "a\n##a\nb\n##b\nab\n##ab\nc\n##c\n\u00e9\n##\u00e9\n.\n,\n\u4e00\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  sightline::WordPieceOptions options;
  options.lowercase = (data[0] & 1) != 0;
  absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  absl::string_view words = kWords;
  if ((data[0] & 2) != 0) {
    words = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(words.size() + 1, text.size()));
  }
  const auto tokenizer =
      sightline::WordPieceTokenizer::Create(absl::StrCat(kSpecials, words), options);
  if (!tokenizer.ok()) {
    sightline::Require(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  // Every piece takes at least one character of the text or of what it decomposes to.
  sightline::CheckText(**tokenizer, text, /*ids_per_byte=*/4);
  return 0;
}
