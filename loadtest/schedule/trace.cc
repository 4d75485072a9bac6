#include "loadtest/schedule/trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxPathBytes = 4096;

constexpr const char* kKeys[] = {"at",    "kind",  "text",  "image",       "item",
                                 "index", "top_k", "depth", "deadline_ms", "expect"};

absl::Status CheckKeys(const Json& object) {
  for (const auto& member : object.items()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), member.key()) == std::end(kKeys)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", member.key().substr(0, kMaxNameBytes),
                                                     "\" is no key of a request; known are ",
                                                     absl::StrJoin(kKeys, ", ")));
    }
  }
  return absl::OkStatus();
}

// The number at `key`, which is there.
absl::StatusOr<double> NumberAt(const Json& object, const char* key, int64_t least, int64_t most) {
  const Json& value = object.at(key);
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  if (number >= static_cast<double>(least) && number <= static_cast<double>(most)) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" must be a number from ", least, " to ", most, ", not ",
                   value.is_number() ? value.dump() : value.type_name()));
}

absl::StatusOr<int> WholeNumberAt(const Json& object, const char* key, int least, int most) {
  ASSIGN_OR_RETURN(const double number, NumberAt(object, key, least, most));
  if (object.at(key).is_number_integer()) return static_cast<int>(number);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" must be a whole number, not ", object.at(key).dump()));
}

absl::Status TakeTime(const Json& object, TraceRequest& request) {
  if (!object.contains("at")) {
    return absl::InvalidArgumentError("\"at\" is missing: seconds since the trace's start");
  }
  ASSIGN_OR_RETURN(const double at,
                   NumberAt(object, "at", 0, absl::ToInt64Seconds(kMaxTraceOffset)));
  request.at = absl::Seconds(at);
  return absl::OkStatus();
}

absl::Status TakeQuery(const Json& object, absl::string_view folder, TraceRequest& request) {
  const int given = object.contains("text") + object.contains("image") + object.contains("item");
  if (given != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", given, " of \"text\", \"image\" and \"item\"; give one"));
  }
  if (object.contains("text")) {
    ASSIGN_OR_RETURN(std::string text, StringAt(object, "text", limits::kMaxTextBytes));
    request.request.query = TextQuery{std::move(text)};
    request.kind = "text";
  } else if (object.contains("image")) {
    ASSIGN_OR_RETURN(request.image, StringAt(object, "image", kMaxPathBytes));
    if (!absl::StartsWith(request.image, "/") && !folder.empty()) {
      request.image = JoinPath(folder, request.image);
    }
    request.kind = "image";
  } else {
    ASSIGN_OR_RETURN(std::string item_id, StringAt(object, "item", limits::kMaxItemIdBytes));
    request.request.query = ItemQuery{"", std::move(item_id)};
    request.kind = "item";
  }
  if (object.contains("kind")) {
    ASSIGN_OR_RETURN(request.kind, StringAt(object, "kind", kMaxNameBytes));
  }
  return absl::OkStatus();
}

absl::Status TakeSizes(const Json& object, TraceRequest& request) {
  if (object.contains("index")) {
    ASSIGN_OR_RETURN(request.request.index, StringAt(object, "index", kMaxNameBytes));
  }
  if (object.contains("top_k")) {
    ASSIGN_OR_RETURN(request.request.top_k, WholeNumberAt(object, "top_k", 1, limits::kMaxHits));
  }
  if (object.contains("depth")) {
    ASSIGN_OR_RETURN(request.request.depth, WholeNumberAt(object, "depth", 0, limits::kMaxHits));
  }
  if (object.contains("deadline_ms")) {
    ASSIGN_OR_RETURN(const double deadline, NumberAt(object, "deadline_ms", 1,
                                                     absl::ToInt64Milliseconds(kMaxTraceDeadline)));
    request.deadline = absl::Milliseconds(deadline);
  }
  return absl::OkStatus();
}

absl::Status TakeExpected(const Json& object, TraceRequest& request) {
  const auto found = object.find("expect");
  if (found == object.end()) return absl::OkStatus();
  if (!found->is_array() || found->size() > limits::kMaxExpectedItems) {
    return absl::InvalidArgumentError(absl::StrCat("\"expect\" must be a list of at most ",
                                                   limits::kMaxExpectedItems, " item ids"));
  }
  for (const Json& item : *found) {
    const std::string* const id = item.get_ptr<const std::string*>();
    if (id == nullptr || id->empty() || id->size() > limits::kMaxItemIdBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"expect\" must hold strings of 1 to ", limits::kMaxItemIdBytes, " bytes"));
    }
    request.expected.push_back(*id);
  }
  return absl::OkStatus();
}

absl::StatusOr<TraceRequest> ParseRequest(const Json& object, absl::string_view folder) {
  TraceRequest request;
  RETURN_IF_ERROR(CheckKeys(object));
  RETURN_IF_ERROR(TakeTime(object, request));
  RETURN_IF_ERROR(TakeQuery(object, folder, request));
  RETURN_IF_ERROR(TakeSizes(object, request));
  RETURN_IF_ERROR(TakeExpected(object, request));
  return request;
}

}  // namespace

absl::StatusOr<std::vector<TraceRequest>> ParseTrace(absl::string_view text,
                                                     absl::string_view folder) {
  std::vector<TraceRequest> trace;
  RETURN_IF_ERROR(ForEachJsonLine(text, [&trace, folder](const Json& object) -> absl::Status {
    if (trace.size() == kMaxTraceRequests) {
      return absl::InvalidArgumentError(
          absl::StrCat("is one more than the ", kMaxTraceRequests, " requests of a trace"));
    }
    ASSIGN_OR_RETURN(TraceRequest request, ParseRequest(object, folder));
    if (!trace.empty() && request.at < trace.back().at) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"at\" falls from ", absl::FormatDuration(trace.back().at), " to ",
                       absl::FormatDuration(request.at), "; sort the trace by time"));
    }
    trace.push_back(std::move(request));
    return absl::OkStatus();
  }));
  if (trace.empty()) return absl::InvalidArgumentError("has no request");
  return trace;
}

absl::StatusOr<std::vector<TraceRequest>> ReadTrace(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTraceBytes));
  return Within(absl::StrCat("trace ", path),
                ParseTrace(text, std::filesystem::path(path).parent_path().string()));
}

}  // namespace sightline
