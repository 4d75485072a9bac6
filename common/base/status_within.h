// Says where an error arose.
#ifndef SIGHTLINE_COMMON_BASE_STATUS_WITHIN_H_
#define SIGHTLINE_COMMON_BASE_STATUS_WITHIN_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sightline {

// An error with "<place>: " before its message, without its details, which WithPrefix of
// error_details.h keeps; OK as it is.
inline absl::Status Within(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

template <typename T>
absl::StatusOr<T> Within(absl::string_view place, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return Within(place, result.status());
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_STATUS_WITHIN_H_
