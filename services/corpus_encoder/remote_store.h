// The store that a job works for: a folder, or an object store that goes with one.  Then the job
// works in the folder, reads there what was brought from the object store, and brings there what it
// has made; and what is current, the object store says.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct JobStore {
  std::string folder;
  std::shared_ptr<ObjectStore> object_store;  // null: the folder is the store
  FetchOptions fetch;
};

// What `base` may be instead of a generation's name.
inline constexpr absl::string_view kNoBase = "none";

// What a job reads of a store.
struct JobInputs {
  std::vector<std::string> models;
  std::string images_index, captions_index;
  std::string base;  // as that of BaseChoice
};

// Brings it into the folder, as far as it is not there.  A base that was not asked for by name and
// is not whole is left, with a log line.  Errors as those of Mirror.  Several processes may do so
// at once.  Of a store that has an object store.
absl::Status FetchInputs(const JobStore& store, const JobInputs& inputs, const CallContext& call);

// As ReadCurrent, or ReadRemoteCurrent.
absl::StatusOr<bundle::v1::CurrentGeneration> ReadCurrentOf(const JobStore& store,
                                                            const std::string& index,
                                                            const CallContext& call);

// As PublishGeneration, or PublishRemote.
absl::Status PublishIn(const JobStore& store, const std::string& index,
                       const std::string& generation, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_REMOTE_STORE_H_
