// Files of one JSON object a line, from anybody.
#ifndef SIGHTLINE_COMMON_EVALUATION_JSON_LINES_H_
#define SIGHTLINE_COMMON_EVALUATION_JSON_LINES_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// A longer line is refused, and so is a file of more lines.
inline constexpr size_t kMaxJsonLineBytes = 1 << 20;
inline constexpr int kMaxJsonLines = 10'000'000;

// Calls `take` with the object of each line of `text`; blank lines are passed over.
// InvalidArgument, with "line <n>: " before the message, for a line that is too long or no
// JSON object, and whatever error `take` returns, likewise.
absl::Status ForEachJsonLine(absl::string_view text,
                             const std::function<absl::Status(const nlohmann::json& object)>& take);

// The string at `key`.  InvalidArgument unless it is there, is one, and has 1 to
// `max_bytes` bytes.
absl::StatusOr<std::string> StringAt(const nlohmann::json& object, const char* key,
                                     size_t max_bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_JSON_LINES_H_
