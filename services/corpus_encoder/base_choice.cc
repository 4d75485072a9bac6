#include "services/corpus_encoder/base_choice.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/log/log.h"

namespace sightline {
namespace {

absl::StatusOr<BaseGeneration> OpenBoth(const BaseChoice& choice, const std::string& generation) {
  BaseRequirements required = choice.required;
  BaseGeneration base;
  required.item_kind = bundle::v1::IMAGE;
  ASSIGN_OR_RETURN(base.images,
                   BaseIndex::Open(choice.store.folder, choice.images_index, generation, required));
  required.item_kind = bundle::v1::CAPTION;
  ASSIGN_OR_RETURN(base.captions, BaseIndex::Open(choice.store.folder, choice.captions_index,
                                                  generation, required));
  return base;
}

// Empty if nothing was ever published.
absl::StatusOr<std::string> NameOfCurrent(const BaseChoice& choice, const CallContext& call) {
  const absl::StatusOr<bundle::v1::CurrentGeneration> current =
      ReadCurrentOf(choice.store, choice.images_index, call);
  if (absl::IsNotFound(current.status())) return "";
  RETURN_IF_ERROR(current.status());
  return current->generation();
}

absl::StatusOr<BaseGeneration> OpenChecked(const BaseChoice& choice, const std::string& generation,
                                           const CallContext& call) {
  ASSIGN_OR_RETURN(BaseGeneration base, OpenBoth(choice, generation));
  ASSIGN_OR_RETURN(const bool carries, choice.carries(base));
  if (!carries) return base;
  RETURN_IF_ERROR(base.images->Verify(choice.store.folder, *choice.tally, call));
  RETURN_IF_ERROR(base.captions->Verify(choice.store.folder, *choice.tally, call));
  return base;
}

// Errors that say something of the base, not of the machine.
bool BlamesBase(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
}

// What CURRENT names, if it is of use.
absl::StatusOr<BaseGeneration> Propose(const BaseChoice& choice, const CallContext& call) {
  ASSIGN_OR_RETURN(const std::string name, NameOfCurrent(choice, call));
  if (name.empty()) return BaseGeneration();
  absl::StatusOr<BaseGeneration> base = OpenChecked(choice, name, call);
  if (base.ok() || !BlamesBase(base.status())) return base;
  Log(Severity::kWarning, "nothing is carried over",
      {{"generation", name}, {"reason", base.status()}});
  return BaseGeneration();
}

// All workers copy from the base, and compare what they copy (BaseReader).  That all of it is
// compared beforehand saves work that a damaged base would cost; it is enough that one worker does
// it, whatever was agreed upon: worker 0, without which nothing is published.
absl::StatusOr<BaseGeneration> OpenAgreed(const BaseChoice& choice, absl::string_view agreed,
                                          const CallContext& call) {
  const std::string name(absl::StripSuffix(agreed, "\n"));
  if (name.empty()) return BaseGeneration();
  absl::StatusOr<BaseGeneration> base =
      choice.share.writes() ? OpenChecked(choice, name, call) : OpenBoth(choice, name);
  if (base.ok()) return base;
  return WithPrefix(base.status(), absl::StrCat("the workers carry over from generation ", name,
                                                " (", choice.agreement_path, ")"));
}

absl::StatusOr<BaseGeneration> Agree(const BaseChoice& choice, const CallContext& call) {
  const absl::StatusOr<std::string> agreed = ReadFile(choice.agreement_path);
  if (agreed.ok()) {
    absl::StatusOr<BaseGeneration> base = OpenAgreed(choice, *agreed, call);
    if (base.ok() || !BlamesBase(base.status())) return base;
    if (!choice.lock->IfAlone([&] { ::unlink(choice.agreement_path.c_str()); })) return base;
    Log(Severity::kWarning, "another base is chosen", {{"reason", base.status()}});
  } else if (!absl::IsNotFound(agreed.status())) {
    return agreed.status();
  }
  ASSIGN_OR_RETURN(BaseGeneration own, Propose(choice, call));
  const std::string proposal = absl::StrCat(own.name(), "\n");
  ASSIGN_OR_RETURN(const std::string chosen,
                   AgreeOn(choice.agreement_path, proposal, choice.share));
  if (chosen == proposal) return own;
  return OpenAgreed(choice, chosen, call);
}

}  // namespace

absl::StatusOr<BaseGeneration> ChooseBase(const BaseChoice& choice, const CallContext& call) {
  if (choice.base == kNoBase) return BaseGeneration();
  if (!choice.base.empty()) return OpenChecked(choice, choice.base, call);
  return choice.share.workers == 1 ? Propose(choice, call) : Agree(choice, call);
}

}  // namespace sightline
