// Any word list and any text.  Bit 0 of the first byte says that a list comes first, up to a
// zero byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/word_list.h"
#include "tests/fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  absl::string_view list =
      R"({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 2, "<unk>": 3, "a": 4, "n't": 5}})";
  if ((data[0] & 1) != 0) {
    list = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(list.size() + 1, text.size()));
  }
  const auto tokenizer = sightline::WordListTokenizer::Create(list);
  if (!tokenizer.ok()) {
    sightline::Require(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  sightline::CheckText(**tokenizer, text, /*ids_per_byte=*/1);
  return 0;
}
