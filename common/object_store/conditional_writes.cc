#include "common/object_store/conditional_writes.h"

#include "absl/strings/str_cat.h"

namespace sightline {

absl::Status CheckConditionalWrites(ObjectStore& store, const CallContext& call) {
  // What is written differs, so that no attempt takes the other's object for its own.
  for (const char* const bytes : {"the first that was written", "the second"}) {
    const absl::Status status = store.Create(kConditionalWritesProbe, bytes, call);
    if (absl::IsAlreadyExists(status)) return absl::OkStatus();
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      store.name(),
      ": the store ignores If-None-Match, so that publications could overwrite each other; take "
      "one that keeps to it, such as Amazon S3 or a MinIO of today"));
}

}  // namespace sightline
