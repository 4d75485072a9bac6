#include "services/trainer/run_log.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

bool EndsInHalfALine(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

// Of the file, so of the run: two of them would clean each other's checkpoints away.
absl::StatusOr<Descriptor> Lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) return FileError("open", path, errno);
  // A file system without locks keeps nobody out.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
  return absl::AbortedError(absl::StrCat(
      path, ": another run is at work in this folder; wait for its end, or give another --out"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunLog>> RunLog::Create(const Options& options) {
  ASSIGN_OR_RETURN(Descriptor lock, Lock(options.metrics_path));
  const bool half_a_line = EndsInHalfALine(options.metrics_path);
  std::ofstream metrics(options.metrics_path, std::ios::app | std::ios::binary);
  if (!metrics) return FileError("open", options.metrics_path, errno);
  if (half_a_line) metrics << '\n';
  return absl::WrapUnique(new RunLog(options, std::move(lock), std::move(metrics)));
}

void RunLog::AddMetrics(const nlohmann::ordered_json& json) {
  metrics_ << json.dump(-1, ' ', /*ensure_ascii=*/false,
                        nlohmann::ordered_json::error_handler_t::replace)
           << '\n'
           << std::flush;
  if (metrics_ || metrics_failed_) return;
  metrics_failed_ = true;
  Log(Severity::kWarning, "metrics cannot be written", {{"path", options_.metrics_path}});
}

void RunLog::Note(Severity severity, absl::string_view message) {
  nlohmann::ordered_json json = {{"event", "note"}, {"message", std::string(message)}};
  if (severity != Severity::kInfo) json["severity"] = std::string(SeverityName(severity));
  AddMetrics(json);
  if (terminal()) {
    Print(message);
  } else {
    Log(severity, "note", {{"message", message}});
  }
}

void RunLog::Draw(absl::string_view line) {
  if (!options_.write) return;
  // Blanks cover the rest of a longer line before.
  options_.write(absl::StrFormat("\r%-110s", line));
  drawn_ = true;
}

void RunLog::Print(absl::string_view line) {
  if (!options_.write) return;
  options_.write(absl::StrFormat("%s%-110s\n", drawn_ ? "\r" : "", line));
  drawn_ = false;
}

void RunLog::End() {
  if (drawn_ && options_.write) options_.write("\n");
  drawn_ = false;
}

std::string ClockTime(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 3600) return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace sightline
