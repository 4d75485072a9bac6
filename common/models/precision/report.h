// Reports of what a model computes in each precision (precision_report.proto): where they lie, and
// whose they are.
//
//   <folder>/<model>-<cpu and program, hashed>.json
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_REPORT_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

// A report counts where its key is that of who asks: another kind of CPU or device has other
// kernels, another program may have others.
struct ReportKey {
  std::string model;
  std::string cpu;
  std::string program;
};

// The key of reports of `model` that this process may make and take, where it computes on this CPU,
// or on a device of that name.
ReportKey KeyHere(absl::string_view model, absl::string_view device = "");

std::string ReportFile(const ReportKey& key);

// The folder in which a server with that `state_dir` keeps its reports; "" for "".
std::string ReportFolder(absl::string_view state_dir);

// JSON, one field a line.
std::string ReportJson(const bundle::v1::PrecisionReport& report);

// InvalidArgument, which says what is wrong, for what is no such report: its numbers are held
// against each other (as many scores as texts and items, shares within 0 and 1, float32 first and
// no precision twice).
absl::StatusOr<bundle::v1::PrecisionReport> ParseReport(absl::string_view json);

// The first of `folders` that has a sound report of that key; NotFound if none has.  What cannot be
// read is passed over with a warning: it can be measured anew.
absl::StatusOr<bundle::v1::PrecisionReport> FindReport(const std::vector<std::string>& folders,
                                                       const ReportKey& key);

// Writes it to the place of its key below `folder`, atomically.
absl::Status WriteReport(const std::string& folder, const bundle::v1::PrecisionReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_REPORT_H_
