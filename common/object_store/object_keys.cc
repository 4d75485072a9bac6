#include "common/object_store/object_keys.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/bundle/layout.h"

namespace sightline {
namespace {

constexpr size_t kSequenceDigits = 19;  // as many as an int64_t may have

}  // namespace

std::string ModelPrefix(absl::string_view model_id) {
  return absl::StrCat(ModelDirectory("", model_id), "/");
}

std::string GenerationsPrefix(absl::string_view index) {
  return absl::StrCat(IndexDirectory("", index), "/generations/");
}

std::string GenerationPrefix(absl::string_view index, absl::string_view generation) {
  return absl::StrCat(GenerationDirectory("", index, generation), "/");
}

std::string CurrentPrefix(absl::string_view index) {
  return absl::StrCat(IndexDirectory("", index), "/CURRENT/");
}

std::string PrunedPrefix(absl::string_view index) {
  return absl::StrCat(IndexDirectory("", index), "/.pruned/");
}

std::string CurrentKey(absl::string_view index, int64_t sequence) {
  return absl::StrCat(CurrentPrefix(index), absl::StrFormat("%0*d", kSequenceDigits, sequence));
}

absl::optional<int64_t> SequenceOfKey(absl::string_view index, absl::string_view key) {
  int64_t sequence = 0;
  if (!absl::ConsumePrefix(&key, CurrentPrefix(index)) || key.size() != kSequenceDigits ||
      !std::all_of(key.begin(), key.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(key, &sequence) || sequence == std::numeric_limits<int64_t>::max()) {
    return absl::nullopt;
  }
  return sequence;
}

}  // namespace sightline
