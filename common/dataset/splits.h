// What may be learnt from, what decides between models, and what is asked at the end.
//
// Where a source says in which split an item is, it is in that: published test sets stay what
// they are.  The split of any other item follows from its id alone, by the first byte of the id's
// SHA-256: below 26 held out, below 38 validation, else training: about 10, 5 and 85 of a hundred.
// So everybody who knows the ids agrees, and an item that comes or goes moves no other.
// Near duplicates stay together: all go where the smallest of their ids goes, or, if the source
// says something of some of them, with those that are kept back the most.
#ifndef SIGHTLINE_COMMON_DATASET_SPLITS_H_
#define SIGHTLINE_COMMON_DATASET_SPLITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace sightline {

// In the order in which they are kept back.
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
// the smallest id in the group of item i, as GroupNearDuplicates returns it.  said[i] is what
// the source says of item i; empty: it says nothing of any.
std::vector<Split> SplitsOfItems(absl::Span<const std::string> item_ids,
                                 absl::Span<const int64_t> groups,
                                 absl::Span<const absl::optional<Split>> said = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_SPLITS_H_
