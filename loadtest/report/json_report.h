// A run as JSON: all of it, for programs, and back again for comparisons.
//
//   RETURN_IF_ERROR(WriteFileAtomically(path, JsonReport(data)));
//   ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJsonReportBytes));
//   ASSIGN_OR_RETURN(const ReportData data, ParseJsonReport(text));
#ifndef SIGHTLINE_LOADTEST_REPORT_JSON_REPORT_H_
#define SIGHTLINE_LOADTEST_REPORT_JSON_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "loadtest/report/report_data.h"

namespace sightline {

inline constexpr int kJsonReportVersion = 1;

// Bounds of what is read.  An hour with five stages takes a third of them.
inline constexpr size_t kMaxJsonReportBytes = size_t{64} << 20;
inline constexpr int64_t kMaxJsonReportValues = 8'000'000;

// One object; README.md describes it.  Durations are whole nanoseconds, histograms the lower
// edges of their buckets in microseconds and the samples in each.
std::string JsonReport(const ReportData& data);

// What JsonReport wrote: equal to it but for fractions of nanoseconds.  InvalidArgument,
// naming the key, for anything else; keys that are not known are passed over.
absl::StatusOr<ReportData> ParseJsonReport(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_JSON_REPORT_H_
