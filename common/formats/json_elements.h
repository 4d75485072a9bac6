// A large JSON file, an element at a time.
//
//   {"info": ..., "images": [{...}, {...}, ...], "annotations": [{...}, ...]}
//
// What data sets publish is one object of a few arrays with a great many small objects in
// them.  Only one of these objects is ever in memory, so that this depends on the largest
// of them and not on the file.
//
//   RETURN_IF_ERROR(ForEachJsonElement(path, max_bytes, {{"images", take_image}}));
#ifndef SIGHTLINE_COMMON_FORMATS_JSON_ELEMENTS_H_
#define SIGHTLINE_COMMON_FORMATS_JSON_ELEMENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Bytes of one element as the file has it, or of a text outside of elements.
inline constexpr int64_t kMaxJsonElementBytes = 1 << 20;
// Objects and arrays in each other, the outermost among them.
inline constexpr int kMaxJsonDepth = 16;

using TakeJsonElement = std::function<absl::Status(const nlohmann::json& element)>;

// Shows every element of the arrays that `arrays` names by their keys in the file's object to
// that array's function, in the file's order; other keys are passed over.  InvalidArgument,
// with path and byte: not JSON, not UTF-8, no object with all of these arrays, each once, an
// element that is no object, and what exceeds `max_bytes` or the limits above.  An error of a
// function ends the reading and is returned with the same.  Otherwise as the disk reports.
absl::Status ForEachJsonElement(absl::string_view path, int64_t max_bytes,
                                const std::map<std::string, TakeJsonElement>& arrays);

// What an element has at a key; InvalidArgument, naming the key, unless it is there and is such.
absl::StatusOr<std::string> JsonText(const nlohmann::json& element, const char* key);
absl::StatusOr<int64_t> JsonInteger(const nlohmann::json& element, const char* key);
// Points into `element`.
absl::StatusOr<const nlohmann::json*> JsonArray(const nlohmann::json& element, const char* key);
// An id as a text, which it is or a whole number.
absl::StatusOr<std::string> JsonId(const nlohmann::json& element, const char* key);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_JSON_ELEMENTS_H_
