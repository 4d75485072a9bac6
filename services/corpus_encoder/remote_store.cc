#include "services/corpus_encoder/remote_store.h"

#include "absl/time/clock.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/publication.h"
#include "common/log/log.h"
#include "common/object_store/mirror.h"
#include "common/object_store/remote_publication.h"

namespace sightline {
namespace {

// Empty if there is none.
absl::StatusOr<std::string> BaseOf(const JobStore& store, const JobInputs& inputs,
                                   const CallContext& call) {
  if (inputs.base == kNoBase) return std::string();
  if (!inputs.base.empty()) return inputs.base;
  const auto current = ReadCurrentOf(store, inputs.images_index, call);
  if (absl::IsNotFound(current.status())) return std::string();
  RETURN_IF_ERROR(current.status());
  return current->generation();
}

// Of a base that nobody asked for by name: it is not there, not what it should be, or the folder
// has another one of its name.
bool MayBeLeft(const absl::Status& fetched) {
  return absl::IsNotFound(fetched) || absl::IsAlreadyExists(fetched) || absl::IsDataLoss(fetched) ||
         HasReason(fetched, reasons::kFetchFailed);
}

}  // namespace

absl::StatusOr<bundle::v1::CurrentGeneration> ReadCurrentOf(const JobStore& store,
                                                            const std::string& index,
                                                            const CallContext& call) {
  return store.object_store == nullptr ? ReadCurrent(store.folder, index)
                                       : ReadRemoteCurrent(store.object_store.get(), index, call);
}

absl::Status PublishIn(const JobStore& store, const std::string& index,
                       const std::string& generation, const CallContext& call) {
  return store.object_store == nullptr
             ? PublishGeneration(store.folder, index, generation).status()
             : PublishRemote(store.object_store.get(), index, generation, absl::Now(), call)
                   .status();
}

absl::Status FetchInputs(const JobStore& store, const JobInputs& inputs, const CallContext& call) {
  const std::unique_ptr<Mirror> mirror =
      Mirror::OverStore(store.object_store, store.folder, store.fetch);
  for (const std::string& model : inputs.models) {
    RETURN_IF_ERROR(mirror->FetchModel(model, call));
  }
  ASSIGN_OR_RETURN(const std::string base, BaseOf(store, inputs, call));
  if (base.empty()) return absl::OkStatus();
  for (const std::string& index : {inputs.images_index, inputs.captions_index}) {
    const absl::Status fetched = mirror->FetchGeneration(index, base, call);
    if (fetched.ok()) continue;
    if (!inputs.base.empty() || !MayBeLeft(fetched)) return fetched;
    Log(Severity::kWarning, "the base cannot be fetched",
        {{"index", index}, {"generation", base}, {"error", fetched}});
  }
  return absl::OkStatus();
}

}  // namespace sightline
