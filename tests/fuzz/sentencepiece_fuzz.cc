// Any model and any text.  The second and third byte are the length of the model's bytes,
// which come next.  Bit 0 of the first byte says that they are the whole model file; else they
// follow a small valid one, whose pieces theirs are added to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/sentencepiece_tokenizer.h"
#include "tests/fuzz/check_text.h"
#include "tests/support/sentencepiece_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const size_t model_size = std::min<size_t>(data[1] + 256 * data[2], size - 3);
  const absl::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  std::string model;
  if ((data[0] & 1) == 0) {
    model = sightline::SentencePieceModelBytes({"\u2581", "a", "b", "ab", "\u2581a", "\u00e9"});
  }
  absl::StrAppend(&model, rest.substr(0, model_size));
  const auto tokenizer = sightline::SentencePieceTokenizer::Create(model);
  if (!tokenizer.ok()) {
    sightline::Require(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  // A rule makes at most 256 bytes of one.
  sightline::CheckText(**tokenizer, rest.substr(model_size).substr(0, 4096), /*ids_per_byte=*/257);
  return 0;
}
