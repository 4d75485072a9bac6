#include "common/base/error_details.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr absl::string_view kReasonUrl = "sightline/reason";
constexpr absl::string_view kFieldsUrl = "sightline/fields";
constexpr absl::string_view kRetryDelayUrl = "sightline/retry_delay";
constexpr absl::string_view kPreconditionsUrl = "sightline/preconditions";

// A payload is a list of strings, each written as "<length>:<bytes>".
using Strings = std::vector<std::string>;

Strings ReadPayload(const absl::Status& status, absl::string_view url) {
  Strings strings;
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  if (!payload.has_value()) return strings;
  const std::string text(*payload);
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    size_t length = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, colon), &length) ||
        length > rest.size() - colon - 1) {
      return {};  // not written by WritePayload
    }
    strings.emplace_back(rest.substr(colon + 1, length));
    rest.remove_prefix(colon + 1 + length);
  }
  return strings;
}

absl::Status WritePayload(absl::Status status, absl::string_view url, const Strings& strings) {
  std::string text;
  for (const std::string& item : strings) absl::StrAppend(&text, item.size(), ":", item);
  status.SetPayload(url, absl::Cord(std::move(text)));  // does nothing to an OK status
  return status;
}

}  // namespace

absl::Status MakeError(const Reason& reason, absl::string_view message,
                       std::map<std::string, std::string> metadata) {
  return WithReason(absl::Status(reason.code, message), reason, std::move(metadata));
}

absl::Status WithReason(absl::Status status, const Reason& reason,
                        std::map<std::string, std::string> metadata) {
  return WithReason(std::move(status), ErrorReason{reason.name, std::move(metadata)});
}

absl::Status WithReason(absl::Status status, ErrorReason reason) {
  Strings strings = {std::move(reason.reason)};
  for (auto& [key, value] : reason.metadata) {
    strings.push_back(key);
    strings.push_back(std::move(value));
  }
  return WritePayload(std::move(status), kReasonUrl, strings);
}

absl::optional<ErrorReason> GetReason(const absl::Status& status) {
  Strings strings = ReadPayload(status, kReasonUrl);
  if (strings.size() % 2 != 1) return absl::nullopt;
  ErrorReason reason;
  reason.reason = std::move(strings[0]);
  for (size_t i = 1; i < strings.size(); i += 2) {
    reason.metadata.emplace(std::move(strings[i]), std::move(strings[i + 1]));
  }
  return reason;
}

bool HasReason(const absl::Status& status, const Reason& reason) {
  const absl::optional<ErrorReason> given = GetReason(status);
  return given.has_value() && given->reason == reason.name;
}

absl::Status InvalidField(absl::string_view field, absl::string_view problem) {
  return WithField(MakeError(reasons::kInvalidField, absl::StrCat(field, " ", problem),
                             {{"field", std::string(field)}}),
                   field);
}

absl::Status WithField(absl::Status status, absl::string_view field) {
  Strings strings = ReadPayload(status, kFieldsUrl);
  strings.emplace_back(field);
  return WritePayload(std::move(status), kFieldsUrl, strings);
}

std::vector<std::string> GetFields(const absl::Status& status) {
  return ReadPayload(status, kFieldsUrl);
}

absl::Status WithRetryDelay(absl::Status status, absl::Duration delay) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(std::max(delay, absl::ZeroDuration()));
  return WritePayload(std::move(status), kRetryDelayUrl, {absl::StrCat(nanoseconds)});
}

absl::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const Strings strings = ReadPayload(status, kRetryDelayUrl);
  int64_t nanoseconds = 0;
  if (strings.size() != 1 || !absl::SimpleAtoi(strings[0], &nanoseconds)) return absl::nullopt;
  if (nanoseconds == std::numeric_limits<int64_t>::max()) return absl::InfiniteDuration();
  return absl::Nanoseconds(nanoseconds);
}

absl::Status WithPrecondition(absl::Status status, const PreconditionViolation& violation) {
  Strings strings = ReadPayload(status, kPreconditionsUrl);
  strings.insert(strings.end(), {violation.type, violation.subject, violation.description});
  return WritePayload(std::move(status), kPreconditionsUrl, strings);
}

std::vector<PreconditionViolation> GetPreconditions(const absl::Status& status) {
  Strings strings = ReadPayload(status, kPreconditionsUrl);
  std::vector<PreconditionViolation> violations;
  for (size_t i = 0; i + 2 < strings.size(); i += 3) {
    violations.push_back(
        {std::move(strings[i]), std::move(strings[i + 1]), std::move(strings[i + 2])});
  }
  return violations;
}

absl::Status WithPrefix(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  absl::Status prefixed(status.code(), absl::StrCat(prefix, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { prefixed.SetPayload(url, payload); });
  return prefixed;
}

std::string StatusCodeName(absl::StatusCode code) {
  const std::string name = absl::StatusCodeToString(code);
  return name.empty() ? "UNKNOWN" : name;
}

}  // namespace sightline
