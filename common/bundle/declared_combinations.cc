#include "common/bundle/declared_combinations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// `Spec` has a combination and its lambda.
template <typename Spec>
absl::StatusOr<Combination> Read(const Spec& spec, absl::string_view field) {
  const auto named = [field](const absl::Status& status, absl::string_view part) {
    return absl::Status(status.code(), absl::StrCat(field, part, ": ", status.message()));
  };
  const auto kind = ParseCombinationKind(spec.combination());
  if (!kind.ok()) return named(kind.status(), "combination");
  const Combination combination{*kind, spec.combination_lambda()};
  const absl::Status valid = Validate(combination);
  if (!valid.ok()) return named(valid, "combination_lambda");
  return combination;
}

absl::StatusOr<DeclaredCombination> ReadDirection(const bundle::v1::DirectionSpec& spec,
                                                  absl::string_view field,
                                                  const Combination& otherwise) {
  if (spec.combination() == kNoCombination) return DeclaredCombination{otherwise, false};
  absl::StatusOr<Combination> own = Read(spec, field);
  if (own.ok()) return DeclaredCombination{*own};
  return absl::Status(own.status().code(),
                      absl::StrCat(own.status().message(), ", or ", kNoCombination));
}

template <typename Spec>
void Write(const Combination& combination, Spec* spec) {
  spec->set_combination(std::string(CombinationKindName(combination.kind)));
  spec->set_combination_lambda(combination.lambda);
}

}  // namespace

absl::StatusOr<DeclaredCombinations> ReadCombinations(const bundle::v1::CrossEncoderSpec& spec) {
  ASSIGN_OR_RETURN(const Combination both, Read(spec, "cross_encoder."));
  DeclaredCombinations declared{{both}, {both}};
  if (spec.has_text_to_image()) {
    ASSIGN_OR_RETURN(declared.text_to_image,
                     ReadDirection(spec.text_to_image(), "cross_encoder.text_to_image.", both));
  }
  if (spec.has_image_to_text()) {
    ASSIGN_OR_RETURN(declared.image_to_text,
                     ReadDirection(spec.image_to_text(), "cross_encoder.image_to_text.", both));
  }
  return declared;
}

void WriteCombinations(const DeclaredCombinations& declared, bundle::v1::CrossEncoderSpec* spec) {
  const Combination& both = declared.text_to_image.combination;
  Write(both, spec);
  spec->clear_text_to_image();
  spec->clear_image_to_text();
  if (!declared.text_to_image.by_default) {
    spec->mutable_text_to_image()->set_combination(kNoCombination);
  }
  if (!declared.image_to_text.by_default) {
    spec->mutable_image_to_text()->set_combination(kNoCombination);
  } else if (!SameCombination(declared.image_to_text.combination, both)) {
    Write(declared.image_to_text.combination, spec->mutable_image_to_text());
  }
}

}  // namespace sightline
