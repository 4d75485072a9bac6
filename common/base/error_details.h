// What a caller's program needs to know of an error beyond its code and message.
//
// Domain code attaches it to an absl::Status with no thought of a protocol; common/rpc
// turns it into google.rpc details on the wire and back.
//
//   return WithField(MakeError(reasons::kEmbeddingDimensionMismatch,
//                              "the vector has 128 numbers; this index takes 256",
//                              {{"expectedDimension", "256"}, {"actualDimension", "128"}}),
//                    "queries.embedding");
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
#include "common/base/error_reasons.h"

namespace sightline {

// Why the call failed, for programs, as an error says it: that of another release may say
// something that error_reasons.h does not know.
struct ErrorReason {
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

// An error with this reason and its code.
absl::Status MakeError(const Reason& reason, absl::string_view message,
                       std::map<std::string, std::string> metadata = {});

// Sets the reason, in place of one that is there: of an error that came from elsewhere and
// keeps its code.  The second form is for what was read from a wire or a file.
absl::Status WithReason(absl::Status status, const Reason& reason,
                        std::map<std::string, std::string> metadata = {});
absl::Status WithReason(absl::Status status, ErrorReason reason);
absl::optional<ErrorReason> GetReason(const absl::Status& status);
bool HasReason(const absl::Status& status, const Reason& reason);

// InvalidArgument "<field> <problem>" about a request's field, whose path the details name
// too; the reason is INVALID_FIELD.
absl::Status InvalidField(absl::string_view field, absl::string_view problem);

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

// "INVALID_ARGUMENT" and so on, as label of metrics and in log lines.
std::string StatusCodeName(absl::StatusCode code);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_ERROR_DETAILS_H_
