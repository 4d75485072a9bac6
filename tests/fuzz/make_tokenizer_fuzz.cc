// Any vocabulary file, gzipped ones included.  The first byte chooses the kind.
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/make_tokenizer.h"
#include "tests/fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto kind = static_cast<sightline::TokenizerKind>(data[0] % 4);
  const absl::string_view vocabulary(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto tokenizer = sightline::MakeTokenizer(kind, vocabulary, /*lowercase=*/true);
  if (!tokenizer.ok()) {
    sightline::Require(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  sightline::CheckText(**tokenizer, "A dog, isn't it? \u00c9t\u00e9 &amp; 1.",
                       /*ids_per_byte=*/257);
  return 0;
}
