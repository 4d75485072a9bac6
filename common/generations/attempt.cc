#include "common/generations/attempt.h"

#include <algorithm>
#include <utility>

#include "common/base/error_details.h"

namespace sightline {
namespace {

constexpr absl::Duration kFirstRetry = absl::Seconds(1);
constexpr absl::Duration kLongestRetry = absl::Minutes(1);

absl::Duration Doubled(absl::Duration first, int times) {
  return first * (int64_t{1} << std::min(times, 30));
}

}  // namespace

std::string ReasonOf(const absl::Status& refusal) {
  const auto reason = GetReason(refusal);
  return reason.has_value() ? reason->reason : absl::StatusCodeToString(refusal.code());
}

Retry RetryOf(const absl::Status& refusal) {
  switch (refusal.code()) {
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return Retry::kNever;
    default:
      break;
  }
  return HasReason(refusal, reasons::kTooBig) || HasReason(refusal, reasons::kNeedsRoom)
             ? Retry::kWhenRoom
             : Retry::kLater;
}

bool OutlastsRestarts(const absl::Status& refusal) {
  return RetryOf(refusal) == Retry::kNever && !HasReason(refusal, reasons::kPrecisionTooFar) &&
         !HasReason(refusal, reasons::kPrecisionMissing) &&
         !HasReason(refusal, reasons::kRowsNotOnDisk) && !HasReason(refusal, reasons::kNotOnDevice);
}

void Attempt::LookAt(std::string identity_now) {
  if (identity == identity_now) return;
  identity = std::move(identity_now);
  refusal = absl::OkStatus();
  failures = 0;
  retry_at = absl::InfinitePast();
}

void Attempt::NoteReady() {
  verified = identity;
  refusal = absl::OkStatus();
  told.clear();
  was_ready = true;
  put_offs = 0;
  retry_at = absl::InfinitePast();
}

void Attempt::NoteRefusal(const absl::Status& why, absl::Time now) {
  refusal = why;
  switch (RetryOf(why)) {
    case Retry::kNever:
      retry_at = absl::InfiniteFuture();
      return;
    case Retry::kWhenRoom:
      retry_at = absl::InfinitePast();
      return;
    case Retry::kLater:
      retry_at = now + std::min(Doubled(kFirstRetry, failures++), kLongestRetry);
      return;
  }
}

void Attempt::NoteFailure(const absl::Status& why, absl::Time ready_since, absl::Time now) {
  NoteRefusal(why, now);
  if (RetryOf(why) != Retry::kLater || now - ready_since < kLongestRetry) return;
  failures = 0;
  retry_at = now;
}

absl::Duration Attempt::Patience() const {
  return put_offs == 0 ? absl::ZeroDuration() : Doubled(kFirstRetry, put_offs - 1);
}

}  // namespace sightline
