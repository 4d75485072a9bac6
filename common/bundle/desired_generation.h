// What CURRENT asks a server to serve.
#ifndef SIGHTLINE_COMMON_BUNDLE_DESIRED_GENERATION_H_
#define SIGHTLINE_COMMON_BUNDLE_DESIRED_GENERATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct DesiredGeneration {
  bundle::v1::GenerationManifest manifest;
  int64_t sequence = 0;
};

// Reads CURRENT and the manifest that it names.  NotFound, with what to do about it, if
// nothing was published; else as ReadCurrent and ReadGenerationManifest.
absl::StatusOr<DesiredGeneration> ReadDesiredGeneration(absl::string_view store,
                                                        absl::string_view index);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_DESIRED_GENERATION_H_
