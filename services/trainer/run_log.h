// What a training run says of itself: lines of JSON for programs, and for people a line on their
// terminal that changes, with others above it that stay.
#ifndef SIGHTLINE_SERVICES_TRAINER_RUN_LOG_H_
#define SIGHTLINE_SERVICES_TRAINER_RUN_LOG_H_

#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/descriptor.h"
#include "common/log/log.h"

namespace sightline {

// In the folder that a run has for itself.
inline constexpr absl::string_view kMetricsFile = "metrics.jsonl";
inline constexpr absl::string_view kCheckpointFolder = "checkpoints";

// Not thread-safe.
class RunLog {
 public:
  struct Options {
    std::string metrics_path;
    // Draw a line that changes with `write`; else whoever logs writes log lines.
    bool terminal = false;
    // Gets what is drawn.
    std::function<void(absl::string_view)> write;
  };

  // Opens the metrics for appending, behind the half of a line too that a run which was killed may
  // have left.  Until the log goes, or the process, the run's folder is this one's alone: Aborted
  // if another run is at work there.  Errors as FileError gives them.
  static absl::StatusOr<std::unique_ptr<RunLog>> Create(const Options& options);

  bool terminal() const { return options_.terminal; }

  // A line of the metrics.  A run is worth more than its record: trouble is logged, once.
  void AddMetrics(const nlohmann::ordered_json& json);
  // What people should know, or with kWarning look into: in the metrics {"event": "note"}, with a
  // "severity" if it is no information, and on the terminal or in the log.
  void Note(Severity severity, absl::string_view message);
  void Draw(absl::string_view line);
  // A line that stays, above the one that changes.
  void Print(absl::string_view line);
  // Leaves what is drawn on the terminal as it is.
  void End();

 private:
  RunLog(const Options& options, Descriptor lock, std::ofstream metrics)
      : options_(options), lock_(std::move(lock)), metrics_(std::move(metrics)) {}

  const Options options_;
  const Descriptor lock_;
  std::ofstream metrics_;
  bool metrics_failed_ = false;
  bool drawn_ = false;  // a line that changes is on the terminal
};

// "1:02:03" or "2:03".
std::string ClockTime(absl::Duration duration);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_RUN_LOG_H_
