// Requests with their times, as JSON lines:
//
//   {"at": 0.125, "text": "a red fish", "expect": ["fish-7"], "top_k": 5}
//   {"at": 0.310, "kind": "upload", "image": "pictures/a.png", "depth": 0}
//   {"at": 0.310, "item": "fish-7", "index": "emoji", "deadline_ms": 300}
//
// README.md has every key.
#ifndef SIGHTLINE_LOADTEST_SCHEDULE_TRACE_H_
#define SIGHTLINE_LOADTEST_SCHEDULE_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/api/search.h"

namespace sightline {

// More is refused.
inline constexpr int64_t kMaxTraceRequests = 1'000'000;
inline constexpr int64_t kMaxTraceBytes = int64_t{1} << 30;
inline constexpr absl::Duration kMaxTraceOffset = absl::Hours(24);
inline constexpr absl::Duration kMaxTraceDeadline = absl::Hours(1);

struct TraceRequest {
  absl::Duration at;      // since the trace's start
  std::string kind;       // in reports
  SearchRequest request;  // a picture's query is still to be made of `image`
  std::string image;      // its file, read when the request is made; empty: no picture
  absl::Duration deadline = absl::Seconds(1);
  std::vector<std::string> expected;  // one of these items at least is right; empty: not known
};

// `at` never falls from one request to the next.  InvalidArgument, naming the line, for one
// that is malformed, out of bounds, has a key that a request has not, or lies before its
// predecessor; InvalidArgument without any request or with too many.  Paths of images are
// relative to `folder`.
absl::StatusOr<std::vector<TraceRequest>> ParseTrace(absl::string_view text,
                                                     absl::string_view folder);

// The same of a file, which is named in errors; paths are relative to its folder.  Errors of
// ReadFile besides.
absl::StatusOr<std::vector<TraceRequest>> ReadTrace(const std::string& path);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCHEDULE_TRACE_H_
