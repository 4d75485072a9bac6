// Where the folder that a server reads a store in gets its content from.
#ifndef SIGHTLINE_COMMON_GENERATIONS_GENERATION_SOURCE_H_
#define SIGHTLINE_COMMON_GENERATIONS_GENERATION_SOURCE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/base/read_progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// This one is for a folder that is the store itself, where everything is at hand.
// common/object_store/mirror.h fills the folder from an object store.  Thread-safe.
class GenerationSource {
 public:
  using Manifest = bundle::v1::GenerationManifest;
  using Paths = std::function<std::vector<std::string>()>;
  virtual ~GenerationSource() = default;

  // Once, before anything is asked of it.  Errors say what is the matter with the folder.
  virtual absl::Status Open() { return absl::OkStatus(); }

  // Brings the folder's CURRENT of the index up to date.  NotFound if nothing was ever
  // published; after an error it says what it said before.
  virtual absl::Status FetchCurrent(const std::string& /*index*/, const CallContext& /*call*/) {
    return absl::OkStatus();
  }

  // Brings a generation's manifest, unless it is there.  NotFound (MANIFEST_MISSING) if there is no
  // such generation, DataLoss (MANIFEST_INVALID) if what is there is no manifest of it.
  virtual absl::Status FetchManifest(const std::string& /*index*/,
                                     const std::string& /*generation*/,
                                     const CallContext& /*call*/) {
    return absl::OkStatus();
  }

  // Brings those of `files` that are not there, compared with what the generation's manifest and
  // its models' say of them.  `files` is asked again when they are: a model's manifest tells of
  // more.  What comes is counted by the calling thread's ReadProgress.  Where there is no room for
  // them, other files are removed, but none of `in_use`.  NotFound if the store has one
  // not; Unavailable (FETCH_FAILED) if what came is not what it should be; ResourceExhausted
  // (CACHE_FULL); whatever else the store answers; as `call`.
  virtual absl::Status FetchFiles(const Manifest& /*manifest*/, const Paths& /*files*/,
                                  const Paths& /*in_use*/, const CallContext& /*call*/) {
    return absl::OkStatus();
  }

  // Lengths of those of `files` that FetchFiles would bring, as far as manifests tell of them.
  virtual ReadProgress::Files Missing(const Manifest& /*manifest*/,
                                      const std::vector<std::string>& /*files*/) {
    return {};
  }

  // Removes those of `files` that cannot be read or are not what the manifests say, so that they
  // are fetched anew.  Whether there was one.
  virtual bool DiscardDamaged(const Manifest& /*manifest*/,
                              const std::vector<std::string>& /*files*/,
                              const CallContext& /*call*/) {
    return false;
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_GENERATION_SOURCE_H_
