// Reading what an object store has of a generation, to know that it is what was written.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_VERIFY_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_VERIFY_H_

#include <vector>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"

namespace sightline {

// Reads each object, options.connections at a time, and compares length and SHA-256; memory is
// connections * piece_bytes, and nothing is written.  What is in the files themselves is compared
// where they lie in a folder (common/bundle/verify.h).  DataLoss names all objects that are
// missing or damaged, up to ten; errors as those of ObjectStore.  Counts for the calling thread's
// ReadProgress, by key.
absl::Status VerifyObjects(ObjectStore* store, const std::vector<ExpectedFile>& expected,
                           const FetchOptions& options, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_VERIFY_H_
