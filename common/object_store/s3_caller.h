// Signed calls to one bucket, below what they mean: s3_store.h.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_S3_CALLER_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_S3_CALLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/object_store/aws_keys.h"
#include "common/object_store/environment.h"
#include "common/object_store/http_client.h"
#include "common/object_store/retry.h"
#include "common/object_store/s3_place.h"
#include "common/object_store/sigv4.h"

namespace sightline {

// To an object, or to the bucket.
struct S3Request {
  std::string method;
  std::string key;  // with the place's prefix; empty: the bucket
  NamesAndValues query;
  NamesAndValues headers;
  absl::string_view body;  // stays until the answer is there
  int64_t max_answer_bytes = 64 << 10;
  // As of HttpRequest.
  bool fresh_connection = false;
  absl::Duration patience;
};

// Thread-safe.
class S3Caller {
 public:
  S3Caller(S3Place place, std::unique_ptr<HttpClient> http, std::unique_ptr<AwsKeySource> keys,
           RetryPolicy retry, WallTime wall_time);

  const S3Place& place() const { return place_; }

  // One attempt: an answer of success, or what HttpClient::Do, the keys and AwsFailure give.
  absl::StatusOr<HttpAnswer> Send(const S3Request& request, const CallContext& call);

  // Retry of `attempt`.  Messages begin with the name of `key` and with `what`, as "read".
  absl::Status Repeat(absl::string_view what, absl::string_view key, const CallContext& call,
                      const std::function<absl::Status()>& attempt);

  // The same of one request whose answer is all there is to know.
  absl::Status Repeat(absl::string_view what, absl::string_view key, const S3Request& request,
                      const CallContext& call);

 private:
  const S3Place place_;
  const std::unique_ptr<HttpClient> http_;
  const std::unique_ptr<AwsKeySource> keys_;  // stands behind what it asks with
  const RetryPolicy retry_;
  const WallTime wall_time_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_S3_CALLER_H_
