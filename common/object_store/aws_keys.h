// The keys that requests are signed with, found where users of AWS's tools put them.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_AWS_KEYS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_AWS_KEYS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/object_store/environment.h"
#include "common/object_store/sigv4.h"

namespace sightline {

class HttpClient;

// Thread-safe.
class AwsKeySource {
 public:
  virtual ~AwsKeySource() = default;

  // Keys that are valid now.  UNAVAILABLE if who hands them out does not answer as it should,
  // UNAUTHENTICATED or PERMISSION_DENIED if it refuses, FAILED_PRECONDITION if it cannot be asked
  // (a token's file is not there); CANCELLED or DEADLINE_EXCEEDED.
  virtual absl::StatusOr<AwsKeys> Get(const CallContext& call) = 0;
};

// The first of these that the environment names; keys that expire are renewed some minutes before.
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN: exchanged at STS, whose address is
//     AWS_ENDPOINT_URL_STS or that of `region`
//   AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: asked of an
//     agent on the node
// `http` outlives the result.  FAILED_PRECONDITION if there are none or a part is missing, with
// what to set.
absl::StatusOr<std::unique_ptr<AwsKeySource>> FindAwsKeys(const Environment& environment,
                                                          const std::string& region,
                                                          HttpClient* http, WallTime wall_time);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_AWS_KEYS_H_
