// Errors of S3 and STS as statuses.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_S3_ERRORS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_S3_ERRORS_H_

#include "absl/status/status.h"
#include "common/object_store/aws_answers.h"
#include "common/object_store/http_client.h"

namespace sightline {

// The error of an answer that is no success; one to a HEAD has no body, and is told by its number
// alone.  Any other 404 without a store's words is some other server's, and FAILED_PRECONDITION.
// UNAVAILABLE is what may pass, and nothing else is worth another try.  NOT_FOUND is an object
// that is not there, ALREADY_EXISTS one whose precondition failed because it is, OUT_OF_RANGE a
// range behind its end; UNAUTHENTICATED, PERMISSION_DENIED, RESOURCE_EXHAUSTED (no space, a
// quota), UNIMPLEMENTED and FAILED_PRECONDITION (wrong region, bucket, clock) say what to do.
absl::Status AwsFailure(const HttpAnswer& answer, bool to_head = false);

// The same of an error that came with the status of success, as S3 sends some.
absl::Status AwsFailure(const AwsError& error);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_S3_ERRORS_H_
