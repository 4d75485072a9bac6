#include "services/corpus_encoder/remote_store.h"

#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/publication.h"
#include "common/log/log.h"
#include "common/object_store/mirror.h"
#include "services/corpus_encoder/base_choice.h"

namespace sightline {
namespace {

// Empty if there is none.
absl::StatusOr<std::string> BaseOf(const std::string& folder, const JobInputs& inputs) {
  if (inputs.base == kNoBase) return std::string();
  if (!inputs.base.empty()) return inputs.base;
  const auto current = ReadCurrent(folder, inputs.images_index);
  if (absl::IsNotFound(current.status())) return std::string();
  RETURN_IF_ERROR(current.status());
  return current->generation();
}

}  // namespace

absl::Status FetchPublication(const std::shared_ptr<ObjectStore>& object_store,
                              const std::string& folder, const std::string& index,
                              const CallContext& call) {
  const absl::Status fetched = Mirror::OverStore(object_store, folder)->FetchCurrent(index, call);
  return absl::IsNotFound(fetched) ? absl::OkStatus() : fetched;
}

absl::Status FetchInputs(const std::shared_ptr<ObjectStore>& object_store,
                         const std::string& folder, const JobInputs& inputs,
                         const CallContext& call) {
  const std::unique_ptr<Mirror> mirror = Mirror::OverStore(object_store, folder);
  for (const std::string& model : inputs.models) {
    RETURN_IF_ERROR(mirror->FetchModel(model, call));
  }
  const std::string* const indexes[] = {&inputs.images_index, &inputs.captions_index};
  for (const std::string* index : indexes) {
    RETURN_IF_ERROR(FetchPublication(object_store, folder, *index, call));
  }
  ASSIGN_OR_RETURN(const std::string base, BaseOf(folder, inputs));
  if (base.empty()) return absl::OkStatus();
  for (const std::string* index : indexes) {
    const absl::Status fetched = mirror->FetchGeneration(*index, base, call);
    if (inputs.base.empty() && HasReason(fetched, reasons::kFetchFailed)) {
      Log(Severity::kWarning, "the base cannot be fetched",
          {{"index", *index}, {"generation", base}, {"error", fetched}});
      continue;
    }
    RETURN_IF_ERROR(fetched);
  }
  return absl::OkStatus();
}

}  // namespace sightline
