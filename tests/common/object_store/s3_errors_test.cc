#include "common/object_store/s3_errors.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

HttpAnswer Answer(int status, absl::string_view code = "", absl::string_view more = "") {
  HttpAnswer answer{status, {{"date", "Mon, 23 Nov 2026 08:00:00 GMT"}}, ""};
  if (!code.empty()) {
    answer.body =
        absl::StrCat("<Error><Code>", code, "</Code><Message>why</Message>", more, "</Error>");
  }
  return answer;
}

TEST_CASE("Each error has its canonical code") {
  const struct {
    int status;
    const char* name;
    absl::StatusCode code;
  } cases[] = {
      {404, "NoSuchKey", absl::StatusCode::kNotFound},
      {404, "NoSuchBucket", absl::StatusCode::kFailedPrecondition},
      {403, "AccessDenied", absl::StatusCode::kPermissionDenied},
      {403, "", absl::StatusCode::kPermissionDenied},
      {403, "SignatureDoesNotMatch", absl::StatusCode::kUnauthenticated},
      {403, "InvalidAccessKeyId", absl::StatusCode::kUnauthenticated},
      {400, "ExpiredToken", absl::StatusCode::kUnauthenticated},
      {401, "", absl::StatusCode::kUnauthenticated},
      {403, "RequestTimeTooSkewed", absl::StatusCode::kFailedPrecondition},
      {403, "QuotaExceeded", absl::StatusCode::kResourceExhausted},
      {507, "", absl::StatusCode::kResourceExhausted},
      {412, "PreconditionFailed", absl::StatusCode::kAlreadyExists},
      {409, "ConditionalRequestConflict", absl::StatusCode::kUnavailable},
      {409, "BucketNotEmpty", absl::StatusCode::kFailedPrecondition},
      {416, "InvalidRange", absl::StatusCode::kOutOfRange},
      {400, "RequestTimeout", absl::StatusCode::kUnavailable},
      {400, "XAmzContentSHA256Mismatch", absl::StatusCode::kUnavailable},
      {400, "InvalidArgument", absl::StatusCode::kFailedPrecondition},
      {429, "", absl::StatusCode::kUnavailable},
      {500, "InternalError", absl::StatusCode::kUnavailable},
      {501, "NotImplemented", absl::StatusCode::kUnimplemented},
      {502, "", absl::StatusCode::kUnavailable},
      {503, "SlowDown", absl::StatusCode::kUnavailable},
      {504, "", absl::StatusCode::kUnavailable},
      {301, "PermanentRedirect", absl::StatusCode::kFailedPrecondition},
      {307, "TemporaryRedirect", absl::StatusCode::kFailedPrecondition},
      {200, "InternalError", absl::StatusCode::kUnavailable},
  };
  for (const auto& one : cases) {
    INFO(one.status << " " << one.name);
    const absl::Status status = AwsFailure(Answer(one.status, one.name));
    CHECK(status.code() == one.code);
    CHECK_THAT(std::string(status.message()), Contains(absl::StrCat(one.status, "")));
    CHECK_THAT(std::string(status.message()), Contains(one.name));
  }
}

TEST_CASE("A bucket of another region is told with the region") {
  HttpAnswer head = Answer(301);
  head.headers.emplace_back("x-amz-bucket-region", "eu-west-1");
  for (const HttpAnswer& answer :
       {Answer(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), head}) {
    const absl::Status status = AwsFailure(answer);
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()), Contains("set AWS_REGION") && Contains("eu-west-1"));
  }
}

TEST_CASE("A cause that is told is not hidden by the region that the answer names") {
  HttpAnswer answer = Answer(400, "ExpiredToken");
  answer.headers.emplace_back("x-amz-bucket-region", "eu-west-1");
  const absl::Status status = AwsFailure(answer);
  CHECK(absl::IsUnauthenticated(status));
  CHECK_THAT(std::string(status.message()), Contains("renew") && !Contains("AWS_REGION"));
  // A HEAD has no words.
  HttpAnswer head = Answer(400);
  head.headers.emplace_back("x-amz-bucket-region", "eu-west-1");
  CHECK_THAT(std::string(AwsFailure(head, /*to_head=*/true).message()), Contains("set AWS_REGION"));
}

TEST_CASE("A clock that is wrong is told with the store's time") {
  CHECK_THAT(std::string(AwsFailure(Answer(403, "RequestTimeTooSkewed")).message()),
             Contains("clock") && Contains("Mon, 23 Nov 2026 08:00:00 GMT"));
}

TEST_CASE("What another server says of a page that it lacks is not believed of an object") {
  HttpAnswer page = Answer(404);
  page.body = "<html><body>Not Found</body></html>";
  CHECK(absl::IsFailedPrecondition(AwsFailure(page)));
  CHECK(absl::IsFailedPrecondition(AwsFailure(Answer(404))));  // an empty page
  CHECK(absl::IsNotFound(AwsFailure(Answer(404), /*to_head=*/true)));
  CHECK(absl::IsNotFound(AwsFailure(Answer(404, "NoSuchKey"))));
}

TEST_CASE("An error within a success has the code of its name") {
  CHECK(absl::IsUnavailable(AwsFailure(AwsError{"SlowDown", "later", ""})));
  CHECK(absl::IsFailedPrecondition(AwsFailure(AwsError{"InvalidPart", "lost", ""})));
}

}  // namespace
}  // namespace sightline
