#include "common/dataset/splits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/clean_text.h"

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
  return absl::InvalidArgumentError(absl::StrCat("unknown split \"",
                                                 EscapeUnlessPrintable(name.substr(0, 100)),
                                                 "\"; known: train, validation, held_out"));
}

Split SplitOfItem(absl::string_view item_id) {
  Sha256 sha;
  sha.Update(item_id);
  const int byte = static_cast<unsigned char>(sha.Raw()[0]);
  if (byte < kHeldOutBelow) return Split::kHeldOut;
  return byte < kValidationBelow ? Split::kValidation : Split::kTrain;
}

std::vector<Split> SplitsOfItems(absl::Span<const std::string> item_ids,
                                 absl::Span<const int64_t> groups,
                                 absl::Span<const absl::optional<Split>> said) {
  // By the group's smallest: what is said of its items, the most kept back.
  std::vector<absl::optional<Split>> said_of_group(item_ids.size());
  for (size_t i = 0; i < said.size(); ++i) {
    absl::optional<Split>& of_group = said_of_group[groups[i]];
    of_group = std::max(of_group, said[i]);
  }
  std::vector<Split> splits;
  splits.reserve(item_ids.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const absl::optional<Split> own = said.empty() ? absl::nullopt : said[i];
    const absl::optional<Split>& of_group = said_of_group[groups[i]];
    if (own.has_value()) {
      splits.push_back(*own);
    } else {
      splits.push_back(of_group.has_value() ? *of_group : SplitOfItem(item_ids[groups[i]]));
    }
  }
  return splits;
}

}  // namespace sightline
