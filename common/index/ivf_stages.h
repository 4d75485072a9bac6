// What a build has finished, kept so that one that was killed goes on where it was.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_STAGES_H_
#define SIGHTLINE_COMMON_INDEX_IVF_STAGES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sightline {

// Not thread-safe.
class IvfStages {
 public:
  // Below `directory`, of a build that `fingerprint` tells from all that would have others.
  IvfStages(std::string directory, std::string fingerprint)
      : directory_(std::move(directory)), fingerprint_(std::move(fingerprint)) {}

  // What was kept as `name`, if it is of this build, whole, and `byte_count` long.
  absl::optional<std::string> Find(absl::string_view name, int64_t byte_count) const;

  // Keeps `content` as `name`.
  absl::Status Keep(absl::string_view name, absl::string_view content) const;

 private:
  const std::string directory_;
  const std::string fingerprint_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_STAGES_H_
