#include "common/object_store/s3_caller.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/object_store/s3_errors.h"

namespace sightline {

S3Caller::S3Caller(S3Place place, std::unique_ptr<HttpClient> http,
                   std::unique_ptr<AwsKeySource> keys, RetryPolicy retry, WallTime wall_time)
    : place_(std::move(place)),
      http_(std::move(http)),
      keys_(std::move(keys)),
      retry_(std::move(retry)),
      wall_time_(std::move(wall_time)) {}

absl::StatusOr<HttpAnswer> S3Caller::Send(const S3Request& request, const CallContext& call) {
  ASSIGN_OR_RETURN(const AwsKeys keys, keys_->Get(call));
  UnsignedRequest to_sign{request.method, absl::StrCat(place_.path, request.key), request.query,
                          request.headers};
  to_sign.headers.emplace_back("host", place_.host);
  HttpRequest http;
  http.method = request.method;
  http.url = absl::StrCat(place_.origin, UriEncode(to_sign.path, true));
  if (!request.query.empty()) absl::StrAppend(&http.url, "?", CanonicalQuery(request.query));
  http.headers = SignedHeaders(std::move(to_sign), Sha256Hex(request.body), keys,
                               {place_.region, "s3"}, wall_time_());
  http.body = request.body;
  http.max_answer_bytes = request.max_answer_bytes;
  http.fresh_connection = request.fresh_connection;
  http.patience = request.patience;
  ASSIGN_OR_RETURN(HttpAnswer answer, http_->Do(http, call));
  if (answer.ok()) return answer;
  const absl::Status failure = AwsFailure(answer, request.method == "HEAD");
  // What a wrong endpoint could have said names it.
  return absl::IsFailedPrecondition(failure) || absl::IsUnauthenticated(failure) ||
                 absl::IsPermissionDenied(failure)
             ? Within(place_.origin, failure)
             : failure;
}

absl::Status S3Caller::Repeat(absl::string_view what, absl::string_view key,
                              const CallContext& call,
                              const std::function<absl::Status()>& attempt) {
  return WithPrefix(Retry(retry_, call, attempt), absl::StrCat(place_.Name(key), ": ", what));
}

absl::Status S3Caller::Repeat(absl::string_view what, absl::string_view key,
                              const S3Request& request, const CallContext& call) {
  return Repeat(what, key, call, [&] { return Send(request, call).status(); });
}

}  // namespace sightline
