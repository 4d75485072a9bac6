// Whether what could not be read (random_access_file.h, IsFailedRead) can be read by now.
#ifndef SIGHTLINE_COMMON_BASE_FAILED_READ_H_
#define SIGHTLINE_COMMON_BASE_FAILED_READ_H_

#include "absl/status/status.h"

namespace sightline {

// Opens the file of a failed read anew and reads what could not be read, which the reason's
// metadata tell (file, offset, length): OK once it can be, else how it failed now, which is a
// failed read again.  OK too where `status` tells of no such read.
absl::Status ReadWhatFailed(const absl::Status& status);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_FAILED_READ_H_
