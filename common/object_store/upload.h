// Bringing what is finished from a store's folder into an object store.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_UPLOAD_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_UPLOAD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// Both send what the object store does not have yet, by the length and the SHA-256 that objects
// tell, after comparing it with the manifest: stopped anywhere, the next one goes on.  `resend`
// sends all of it, for objects, manifests among them, that the store has damaged.  The manifest is
// last, so that what is not whole is nothing.  Files count for the calling thread's ReadProgress.
// DataLoss if a file is not what its manifest says; otherwise errors as those of ObjectStore and
// of the files.

// The model bundle that lies in `directory`, whatever that is called; returns its id.  NotFound if
// it holds none.
absl::StatusOr<std::string> UploadModel(ObjectStore* store, const std::string& directory,
                                        const CallContext& call, bool resend = false);

// A generation of the store in `folder`, after the models that it names.  AlreadyExists if the
// object store has another generation of this name, unless that was never published: it is then
// replaced, as what a job makes anew that was cut off before it published.
absl::Status UploadGeneration(ObjectStore* store, const std::string& folder,
                              absl::string_view index, absl::string_view generation,
                              const CallContext& call, bool resend = false);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_UPLOAD_H_
