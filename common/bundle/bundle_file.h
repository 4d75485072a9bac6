// Files of a model's bundle as a server reads them: into memory of its own, and compared there.
#ifndef SIGHTLINE_COMMON_BUNDLE_BUNDLE_FILE_H_
#define SIGHTLINE_COMMON_BUNDLE_BUNDLE_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/resident_memory.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// The content of the file `name`.  InvalidArgument if the manifest lists none of that name;
// DataLoss (CHECKSUM_MISMATCH) if it does not have the manifest's SHA-256, and neither has it
// when it is read again; Unavailable (READ_FAILED) if it cannot be read.
absl::StatusOr<std::unique_ptr<ResidentMemory>> ReadBundleFile(const ModelBundle& bundle,
                                                               absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_BUNDLE_FILE_H_
