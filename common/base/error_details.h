// What a caller's program needs to know of an error beyond its code and message.
//
// Domain code attaches it to an absl::Status with no thought of a protocol; common/rpc
// turns it into google.rpc details on the wire and back.
//
//   return WithField(
//       WithReason(absl::InvalidArgumentError("the vector has 128 numbers; this index takes 256"),
//                  "EMBEDDING_DIMENSION_MISMATCH",
//                  {{"expectedDimension", "256"}, {"actualDimension", "128"}}),
//       "queries.embedding");
//
// All functions leave an OK status as it is, keep the code, the message and all other
// details, and are thread-safe as pure functions are.
#ifndef SIGHTLINE_COMMON_BASE_ERROR_DETAILS_H_
#define SIGHTLINE_COMMON_BASE_ERROR_DETAILS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// Why the call failed, for programs.
struct ErrorReason {
  // UPPER_SNAKE_CASE, stable over releases: "SPACE_MISMATCH".
  std::string reason;
  // lowerCamelCase keys, values short enough to log.
  std::map<std::string, std::string> metadata;
};

// What has to change before the same call can succeed.
struct PreconditionViolation {
  // What kind of condition: "GENERATION".
  std::string type;
  // What it is about: "indexes/pictures/generations/7".
  std::string subject;
  // For people.
  std::string description;
};

// Sets the reason, in place of one that is there.
absl::Status WithReason(absl::Status status, absl::string_view reason,
                        std::map<std::string, std::string> metadata = {});
absl::optional<ErrorReason> GetReason(const absl::Status& status);

// Adds a request field, as a path in the request message ("query.text"), to those that
// are at fault.
absl::Status WithField(absl::Status status, absl::string_view field);
std::vector<std::string> GetFields(const absl::Status& status);

// Sets how long the caller should wait before it tries again; negative counts as zero, and
// absl::InfiniteDuration() says that no later time is better.
absl::Status WithRetryDelay(absl::Status status, absl::Duration delay);
absl::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

// Adds a violated precondition.
absl::Status WithPrecondition(absl::Status status, const PreconditionViolation& violation);
std::vector<PreconditionViolation> GetPreconditions(const absl::Status& status);

// The same status with `prefix` and ": " before its message; details are kept.
absl::Status WithPrefix(const absl::Status& status, absl::string_view prefix);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_ERROR_DETAILS_H_
