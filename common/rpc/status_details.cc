#include "common/rpc/status_details.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clean_text.h"
#include "common/base/error_details.h"
#include "google/rpc/error_details.pb.h"

namespace sightline {
namespace {

// The ErrorInfo domain of every reason that is ours.
constexpr char kErrorDomain[] = "sightline";

constexpr size_t kMaxMessageBytes = 1000;
constexpr size_t kMaxNameBytes = 120;
constexpr int kMaxEntries = 8;
// Of the whole, serialised.  gRPC sends binary metadata in base64, a third longer, and
// the message once more beside it, percent-encoded up to three times as long: 3 000 +
// 4 000 bytes stay below 8 KiB.
constexpr size_t kMaxDetailsBytes = 3000;
constexpr size_t kMaxErrorInfoBytes = 1200;
constexpr absl::Duration kDefaultRetryDelay = absl::Milliseconds(100);

std::string Name(absl::string_view text) {
  return CleanText(text, kMaxNameBytes);
}

void AddErrorInfo(const absl::Status& status, google::rpc::Status* details) {
  const absl::optional<ErrorReason> reason = GetReason(status);
  if (!reason.has_value()) return;
  google::rpc::ErrorInfo info;
  info.set_reason(Name(reason->reason));
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : reason->metadata) {
    // The reason itself must never fall to the limit of all details.
    if (info.metadata_size() == kMaxEntries || info.ByteSizeLong() > kMaxErrorInfoBytes) break;
    (*info.mutable_metadata())[Name(key)] = Name(value);
  }
  details->add_details()->PackFrom(info);
}

// As far as the code tells.
bool MayRetry(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

void AddRetryInfo(const absl::Status& status, google::rpc::Status* details) {
  absl::optional<absl::Duration> delay = GetRetryDelay(status);
  if (!delay.has_value() && MayRetry(status)) delay = kDefaultRetryDelay;
  if (!delay.has_value() || *delay == absl::InfiniteDuration()) return;
  google::rpc::RetryInfo info;
  absl::Duration rest;
  info.mutable_retry_delay()->set_seconds(absl::IDivDuration(*delay, absl::Seconds(1), &rest));
  info.mutable_retry_delay()->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
  details->add_details()->PackFrom(info);
}

void AddBadRequest(const absl::Status& status, google::rpc::Status* details) {
  const std::vector<std::string> fields = GetFields(status);
  if (fields.empty()) return;
  google::rpc::BadRequest bad;
  for (const std::string& field : fields) {
    if (bad.field_violations_size() == kMaxEntries) break;
    auto* const violation = bad.add_field_violations();
    violation->set_field(Name(field));
    violation->set_description(Name(status.message()));
  }
  details->add_details()->PackFrom(bad);
}

void AddPreconditionFailure(const absl::Status& status, google::rpc::Status* details) {
  const std::vector<PreconditionViolation> violations = GetPreconditions(status);
  if (violations.empty()) return;
  google::rpc::PreconditionFailure failure;
  for (const PreconditionViolation& from : violations) {
    if (failure.violations_size() == kMaxEntries) break;
    auto* const to = failure.add_violations();
    to->set_type(Name(from.type));
    to->set_subject(Name(from.subject));
    to->set_description(Name(from.description));
  }
  details->add_details()->PackFrom(failure);
}

absl::Status RestoreDetail(const google::protobuf::Any& any, absl::Status status) {
  if (google::rpc::ErrorInfo info; any.UnpackTo(&info)) {
    if (info.domain() != kErrorDomain) return status;
    return WithReason(std::move(status),
                      ErrorReason{info.reason(), {info.metadata().begin(), info.metadata().end()}});
  }
  if (google::rpc::RetryInfo info; any.UnpackTo(&info)) {
    return WithRetryDelay(std::move(status), absl::Seconds(info.retry_delay().seconds()) +
                                                 absl::Nanoseconds(info.retry_delay().nanos()));
  }
  if (google::rpc::BadRequest bad; any.UnpackTo(&bad)) {
    for (const auto& violation : bad.field_violations()) {
      status = WithField(std::move(status), violation.field());
    }
    return status;
  }
  if (google::rpc::PreconditionFailure failure; any.UnpackTo(&failure)) {
    for (const auto& from : failure.violations()) {
      status =
          WithPrecondition(std::move(status), {from.type(), from.subject(), from.description()});
    }
  }
  return status;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status result;
  result.set_code(static_cast<int>(status.code()));
  result.set_message(CleanText(absl::string_view(status.message().data(), status.message().size()),
                               kMaxMessageBytes));
  // In order of worth, as many as fit.
  for (const auto add : {AddErrorInfo, AddRetryInfo, AddBadRequest, AddPreconditionFailure}) {
    const int before = result.details_size();
    add(status, &result);
    if (result.ByteSizeLong() > kMaxDetailsBytes) {
      result.mutable_details()->DeleteSubrange(before, result.details_size() - before);
    }
  }
  return result;
}

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  const int code = status.code();
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  absl::Status result(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      status.message());
  for (const google::protobuf::Any& any : status.details()) {
    result = RestoreDetail(any, std::move(result));
  }
  // One of ours without RetryInfo means it, and who passes the error on must not add one.
  if (MayRetry(result) && GetReason(result).has_value() && !GetRetryDelay(result).has_value()) {
    result = WithRetryDelay(std::move(result), absl::InfiniteDuration());
  }
  return result;
}

}  // namespace sightline
