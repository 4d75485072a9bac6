#include "common/tokenizer/utf8.h"

#include <unicode/utf8.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sightline {

absl::Status CheckUtf8(absl::string_view bytes, absl::string_view what) {
  const int64_t size = static_cast<int64_t>(bytes.size());
  int64_t offset = 0;
  while (offset < size) {
    const int64_t start = offset;
    UChar32 code_point;
    U8_NEXT(bytes.data(), offset, size, code_point);
    if (code_point < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is not UTF-8 at byte offset ", start, " (0x",
                       absl::StrFormat("%02X", static_cast<uint8_t>(bytes[start])), ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sightline
