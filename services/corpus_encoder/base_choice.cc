#include "services/corpus_encoder/base_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/log/log.h"

namespace sightline {
namespace {

absl::StatusOr<BaseGeneration> OpenBoth(const BaseChoice& choice, const std::string& generation) {
  BaseRequirements required = choice.required;
  BaseGeneration base;
  required.item_kind = bundle::v1::IMAGE;
  ASSIGN_OR_RETURN(base.images,
                   BaseIndex::Open(choice.store, choice.images_index, generation, required));
  required.item_kind = bundle::v1::CAPTION;
  ASSIGN_OR_RETURN(base.captions,
                   BaseIndex::Open(choice.store, choice.captions_index, generation, required));
  return base;
}

// Empty if nothing was ever published.
absl::StatusOr<std::string> NameOfCurrent(const BaseChoice& choice) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrent(choice.store, choice.images_index);
  if (absl::IsNotFound(current.status())) return "";
  RETURN_IF_ERROR(current.status());
  return current->generation();
}

}  // namespace

absl::StatusOr<BaseGeneration> ChooseBase(const BaseChoice& choice) {
  if (choice.base == kNoBase) return BaseGeneration();
  if (!choice.base.empty()) return OpenBoth(choice, choice.base);
  ASSIGN_OR_RETURN(std::string name, NameOfCurrent(choice));
  if (choice.share.workers > 1) {
    ASSIGN_OR_RETURN(const std::string agreed,
                     AgreeOn(choice.agreement_path, absl::StrCat(name, "\n"), choice.share));
    name = std::string(absl::StripSuffix(agreed, "\n"));
  }
  if (name.empty()) return BaseGeneration();
  absl::StatusOr<BaseGeneration> base = OpenBoth(choice, name);
  if (base.ok()) return base;
  Log(Severity::kInfo, "nothing is carried over",
      {{"generation", name}, {"reason", base.status()}});
  return BaseGeneration();
}

}  // namespace sightline
