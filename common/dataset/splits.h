// What may be learnt from, what decides between models, and what is asked at the end.
//
// The split of an item follows from its id alone, by the first byte of the id's SHA-256:
// below 26 held out, below 38 validation, else training: about 10, 5 and 85 of a hundred.
// So everybody who knows the ids agrees, and an item that comes or goes moves no other.
// Near duplicates stay together: all go where the smallest of their ids goes.
#ifndef SIGHTLINE_COMMON_DATASET_SPLITS_H_
#define SIGHTLINE_COMMON_DATASET_SPLITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sightline {

enum class Split {
  kTrain,
  kValidation,  // for choices between models
  kHeldOut,     // for reports; nothing that a model is made of may depend on it
};

inline constexpr int kHeldOutBelow = 26;
inline constexpr int kValidationBelow = 38;

// "train", "validation", "held_out".
absl::string_view SplitName(Split split);
// InvalidArgument for any other name.
absl::StatusOr<Split> ParseSplit(absl::string_view name);

// The split of an item that has no near duplicates.
Split SplitOfItem(absl::string_view item_id);

// The split of every item.  `item_ids` are sorted bytewise, and groups[i] is the index of
// the smallest id in the group of item i, as GroupNearDuplicates returns it.
std::vector<Split> SplitsOfItems(absl::Span<const std::string> item_ids,
                                 absl::Span<const int64_t> groups);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_SPLITS_H_
