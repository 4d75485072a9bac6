#include "common/object_store/s3_errors.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

using Code = absl::StatusCode;

struct KnownError {
  absl::string_view name;
  Code code;
  absl::string_view advice;
};

// Those whose code says more than the status that they come with.
constexpr KnownError kKnownErrors[] = {
    {"AuthorizationHeaderMalformed", Code::kFailedPrecondition, "is the region right?"},
    {"BadDigest", Code::kUnavailable, "the body was damaged on its way"},
    {"ConditionalRequestConflict", Code::kUnavailable, ""},
    {"ExpiredToken", Code::kUnauthenticated, "renew the session's keys"},
    {"ExpiredTokenException", Code::kUnauthenticated, "the web identity's token has expired"},
    {"IDPCommunicationError", Code::kUnavailable, ""},
    {"InternalError", Code::kUnavailable, ""},
    {"InvalidAccessKeyId", Code::kUnauthenticated, "is AWS_ACCESS_KEY_ID one of this store?"},
    {"InvalidIdentityToken", Code::kUnauthenticated,
     "does the role trust the cluster's identity provider?"},
    {"InvalidToken", Code::kUnauthenticated, "is AWS_SESSION_TOKEN of these keys?"},
    {"NoSuchBucket", Code::kFailedPrecondition, "make the bucket, or correct the URL"},
    {"OperationAborted", Code::kUnavailable, ""},
    {"QuotaExceeded", Code::kResourceExhausted, "raise the quota, or prune"},
    {"RequestTimeTooSkewed", Code::kFailedPrecondition,
     "this machine's clock is wrong; have it set by NTP"},
    {"RequestTimeout", Code::kUnavailable, ""},
    {"ServiceUnavailable", Code::kUnavailable, ""},
    {"SignatureDoesNotMatch", Code::kUnauthenticated, "is AWS_SECRET_ACCESS_KEY the right one?"},
    {"SlowDown", Code::kUnavailable, ""},
    {"Throttling", Code::kUnavailable, ""},
    {"XAmzContentSHA256Mismatch", Code::kUnavailable, "the body was damaged on its way"},
};

KnownError OfNumber(int status) {
  switch (status) {
    case 301:
    case 302:
    case 307:
    case 308:
      return {"", Code::kFailedPrecondition, "is the region or the endpoint right?"};
    case 401:
      return {"", Code::kUnauthenticated, "are the keys those of this store?"};
    case 403:
      return {"", Code::kPermissionDenied,
              "do the keys' rights cover it?  A store whose bucket they may not list says so of "
              "what is not there, too"};
    case 404:
      return {"", Code::kNotFound, ""};
    case 408:
    case 429:
      return {"", Code::kUnavailable, ""};
    case 412:
      return {"", Code::kAlreadyExists, ""};
    case 416:
      return {"", Code::kOutOfRange, ""};
    case 501:
      return {"", Code::kUnimplemented, "the store does not know this request"};
    case 507:
      return {"", Code::kResourceExhausted, "the store has no space left; prune"};
    default:
      return {"", status >= 500 ? Code::kUnavailable : Code::kFailedPrecondition, ""};
  }
}

KnownError Meaning(const AwsError& error, int status) {
  const auto* const known =
      std::find_if(std::begin(kKnownErrors), std::end(kKnownErrors),
                   [&](const KnownError& known) { return known.name == error.code; });
  return known != std::end(kKnownErrors) ? *known : OfNumber(status);
}

absl::Status Failure(const AwsError& error, int status, absl::string_view date) {
  const KnownError meaning = Meaning(error, status);
  std::string text = absl::StrCat("answer ", status);
  for (const absl::string_view part :
       {absl::string_view(error.code), absl::string_view(error.message)}) {
    if (!part.empty()) absl::StrAppend(&text, " ", part);
  }
  if (!error.region.empty()) {
    absl::StrAppend(&text, "; the bucket is in region ", error.region, ": set AWS_REGION to it");
  } else if (!meaning.advice.empty()) {
    absl::StrAppend(&text, "; ", meaning.advice);
  }
  if (error.code == "RequestTimeTooSkewed" && !date.empty()) {
    absl::StrAppend(&text, " (the store's shows ", date, ")");
  }
  const bool elsewhere = !error.region.empty() && meaning.code != Code::kUnavailable;
  return absl::Status(elsewhere ? Code::kFailedPrecondition : meaning.code, text);
}

}  // namespace

absl::Status AwsFailure(const HttpAnswer& answer, bool to_head) {
  AwsError error = ReadAwsError(answer.body);
  if (answer.status == 404 && error.code.empty() && !to_head) {
    return absl::FailedPreconditionError(
        "answer 404, and not in a store's words; is the endpoint right?");
  }
  // Where else the bucket is says a redirect, and the 400 of a HEAD; one with words has a cause.
  const bool is_elsewhere = answer.status < 400 || (answer.status == 400 && to_head);
  if (error.region.empty() && is_elsewhere) {
    error.region = std::string(answer.Header("x-amz-bucket-region"));
  }
  return Failure(error, answer.status, answer.Header("date"));
}

absl::Status AwsFailure(const AwsError& error) {
  return Failure(error, 200, "");
}

}  // namespace sightline
