// The families' own parts of a conversion: from a checkpoint's tensors to those that the family
// loads, and a manifest.  ConvertCheckpoint does the rest.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_FAMILY_CONVERSIONS_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_FAMILY_CONVERSIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/models/convert/checkpoint.h"
#include "common/models/convert/conversion.h"

namespace sightline {

// What ConvertOptions has for some families only.
enum FamilyOption : unsigned {
  kHeadsOption = 1 << 0,
  kUseOption = 1 << 1,
  kScoreKindOption = 1 << 2,
  kTagTokensOption = 1 << 3,
  kTagPaddingOption = 1 << 4,
  kCellsOption = 1 << 5,
  kRegionRuleOptions = 1 << 6,  // confidence_floor, min_region_count
  kSceneTextOptions = 1 << 7,   // scene_text and what goes with it
};

// An option that decides a field of the manifest.
struct FieldOption {
  absl::string_view field;
  absl::string_view flag;
};

struct FamilyConversion {
  // Whether a checkpoint, of which nobody has said what it is, is one of this family.  An error
  // for one that may be and that only its owner can tell, with the options that would.
  absl::StatusOr<bool> (*recognizes)(const Checkpoint& source, const ConvertOptions& options);

  // Fills tensors, warnings and manifest of a Conversion, but for the manifest's family; its
  // description says in a word or two what the model is.
  absl::StatusOr<Conversion> (*convert)(const Checkpoint& source, const ConvertOptions& options);

  // FamilyOptions that it takes; others are refused, not ignored.
  unsigned options;

  // Of fields that no other family has.
  absl::Span<const FieldOption> field_options;
};

// <family>::kConversion, of every family in families.bzl that is made of checkpoints: in
// <family>/conversion.cc.
#define SIGHTLINE_FAMILY(family)             \
  namespace family {                         \
  extern const FamilyConversion kConversion; \
  }
#include "common/models/converted_families.inc"
#undef SIGHTLINE_FAMILY

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_FAMILY_CONVERSIONS_H_
