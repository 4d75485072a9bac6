// Any merges and any text.  Bit 0 of the first byte says that merges come first, up to a zero
// byte, without their heading.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/byte_level_bpe.h"
#include "tests/fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  absl::string_view merges = "a a\naa a</w>\na b\nab c</w>\nt h\nth e</w>\n";
  if ((data[0] & 1) != 0) {
    merges = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(merges.size() + 1, text.size()));
  }
  const auto tokenizer =
      sightline::ByteLevelBpeTokenizer::Create(absl::StrCat("#version: 0.2\n", merges));
  if (!tokenizer.ok()) {
    sightline::Require(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  // A token takes at least a byte; composing and lower-casing make a text three times as
  // long, and a reference to a character one byte longer.
  sightline::CheckText(**tokenizer, text, /*ids_per_byte=*/12);
  return 0;
}
