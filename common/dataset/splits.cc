#include "common/dataset/splits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

constexpr std::pair<Split, absl::string_view> kSplits[] = {
    {Split::kTrain, "train"}, {Split::kValidation, "validation"}, {Split::kHeldOut, "held_out"}};

}  // namespace

absl::string_view SplitName(Split split) {
  for (const auto& [known, name] : kSplits) {
    if (known == split) return name;
  }
  return "unknown";
}

absl::StatusOr<Split> ParseSplit(absl::string_view name) {
  for (const auto& [split, known] : kSplits) {
    if (known == name) return split;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown split \"", name, "\"; known: train, validation, held_out"));
}

Split SplitOfItem(absl::string_view item_id) {
  Sha256 sha;
  sha.Update(item_id);
  const int byte = static_cast<unsigned char>(sha.Raw()[0]);
  if (byte < kHeldOutBelow) return Split::kHeldOut;
  return byte < kValidationBelow ? Split::kValidation : Split::kTrain;
}

std::vector<Split> SplitsOfItems(absl::Span<const std::string> item_ids,
                                 absl::Span<const int64_t> groups) {
  std::vector<Split> splits;
  splits.reserve(item_ids.size());
  for (const int64_t smallest : groups) splits.push_back(SplitOfItem(item_ids[smallest]));
  return splits;
}

}  // namespace sightline
