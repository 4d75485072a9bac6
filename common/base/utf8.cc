#include "common/base/utf8.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// Length of the well-formed sequence that starts at bytes[i], or 0.
size_t SequenceLength(absl::string_view bytes, size_t i) {
  const auto at = [&](size_t k) { return static_cast<uint8_t>(bytes[k]); };
  const uint8_t lead = at(i);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (bytes.size() - i < length) return 0;
  // The second byte's range is what rules out overlong forms, surrogates and the rest.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at(i + 1) < low || at(i + 1) > high) return 0;
  for (size_t k = i + 2; k < i + length; ++k) {
    if (at(k) < 0x80 || at(k) > 0xBF) return 0;
  }
  return length;
}

// Offset of the first byte at fault; the length if there is none.
size_t FirstFault(absl::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const size_t length = SequenceLength(bytes, i);
    if (length == 0) break;
    i += length;
  }
  return i;
}

}  // namespace

bool IsValidUtf8(absl::string_view bytes) {
  return FirstFault(bytes) == bytes.size();
}

absl::Status CheckUtf8(absl::string_view bytes, absl::string_view what) {
  const size_t fault = FirstFault(bytes);
  if (fault == bytes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is not UTF-8 at byte offset ", fault, " (0x",
                   absl::Hex(static_cast<uint8_t>(bytes[fault]), absl::kZeroPad2), ")"));
}

}  // namespace sightline
