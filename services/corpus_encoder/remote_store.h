// The object store that a job's store goes with: the job works in a folder, reads there what was
// brought from the object store, and brings there what it has made.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// What a job reads of a store.
struct JobInputs {
  std::vector<std::string> models;
  std::string images_index, captions_index;
  std::string base;  // as that of BaseChoice
};

// Brings it into the folder, as far as it is not there; CURRENT as it is now.  A base that was not
// asked for by name and is not whole is left, with a log line.  Errors as those of Mirror.  Several
// processes may do so at once.
absl::Status FetchInputs(const std::shared_ptr<ObjectStore>& object_store,
                         const std::string& folder, const JobInputs& inputs,
                         const CallContext& call);

// Brings CURRENT of the index into the folder, where it was published at all.
absl::Status FetchPublication(const std::shared_ptr<ObjectStore>& object_store,
                              const std::string& folder, const std::string& index,
                              const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_
