// Opening files that may be anything.
#ifndef SIGHTLINE_COMMON_BASE_OPEN_REGULAR_H_
#define SIGHTLINE_COMMON_BASE_OPEN_REGULAR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"

namespace sightline {

// Opens a file for reading and tells its size.  FailedPrecondition if it is no regular file
// (a pipe that somebody has put there is not waited for), or what FileError gives.
absl::StatusOr<Descriptor> OpenRegularFile(absl::string_view path, int64_t* size);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_OPEN_REGULAR_H_
