// What can be searched at this moment.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_GENERATION_CATALOG_H_
#define SIGHTLINE_COMMON_RETRIEVAL_GENERATION_CATALOG_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/generation.h"

namespace sightline {

// Thread-safe.  Servers keep what a pinned GenerationInfo describes as long as somebody
// holds on to it, so a request does until its end.
class GenerationCatalog {
 public:
  virtual ~GenerationCatalog() = default;

  // The generation that new requests to `index` are pinned to.  NotFound for an index
  // that nobody was configured to serve; Unavailable for one that no backend has
  // reported yet.
  virtual absl::StatusOr<std::shared_ptr<const GenerationInfo>> Pin(
      absl::string_view index) const = 0;

  // A generation that a request was pinned to before, for a request that goes on from it.
  // NotFound as above; FailedPrecondition if requests were not pinned to it lately, or if it
  // is not held any more by all that the request needs.
  virtual absl::StatusOr<std::shared_ptr<const GenerationInfo>> PinGeneration(
      absl::string_view index, absl::string_view generation) const = 0;

  // All configured indexes, sorted by name; of those that no backend has reported yet the
  // name alone, with an empty generation.
  virtual std::vector<std::shared_ptr<const GenerationInfo>> Known() const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_GENERATION_CATALOG_H_
