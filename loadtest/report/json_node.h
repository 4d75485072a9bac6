// Reads values out of JSON from anybody: the first thing that is wrong is kept, with the
// path of its key, and everything after it reads as nothing.
//
//   absl::Status status;
//   const JsonNode root(json, &status);
//   const int64_t count = root["tally"].Int("count", 0, 100);  // "tally.count" in an error
//   RETURN_IF_ERROR(status);
#ifndef SIGHTLINE_LOADTEST_REPORT_JSON_NODE_H_
#define SIGHTLINE_LOADTEST_REPORT_JSON_NODE_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// An object or an array inside a document.  Points to both arguments, which outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& json, absl::Status* status)
      : JsonNode(json, status, std::string()) {}

  bool Has(const char* key) const;             // and it is not null
  JsonNode operator[](const char* key) const;  // an object

  int64_t Int(const char* key, int64_t low, int64_t high) const;
  double Number(const char* key, double low, double high) const;
  bool Bool(const char* key) const;
  std::string String(const char* key) const;
  // Whole nanoseconds, zero to `high`.
  absl::Duration Nanoseconds(const char* key, absl::Duration high) const;
  // None for a null, or where there is nothing.
  absl::optional<absl::Duration> OptionalNanoseconds(const char* key, absl::Duration high) const;

  // Of the array at `key`; elements must be objects.
  void ForEach(const char* key, const std::function<void(const JsonNode& element)>& take) const;
  // Of the object at `key`; values must be objects.
  void ForEachMember(
      const char* key,
      const std::function<void(const std::string& name, const JsonNode& value)>& take) const;
  // The array or object at `key` as it is; a null one after a problem.
  const nlohmann::json& Array(const char* key) const;
  const nlohmann::json& Object(const char* key) const;

  // Notes that what is at `key` `is_wrong` ("must be ..."), unless something was wrong before.
  void AddProblem(absl::string_view key, absl::string_view is_wrong) const;
  bool ok() const { return status_->ok(); }

 private:
  JsonNode(const nlohmann::json& json, absl::Status* status, std::string path)
      : json_(&json), status_(status), path_(std::move(path)) {}

  const nlohmann::json& Find(const char* key) const;
  std::string PathOf(absl::string_view key) const;

  const nlohmann::json* json_;
  absl::Status* status_;
  std::string path_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_JSON_NODE_H_
