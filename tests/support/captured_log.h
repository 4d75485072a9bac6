// What this process logs.
#ifndef SIGHTLINE_TESTS_SUPPORT_CAPTURED_LOG_H_
#define SIGHTLINE_TESTS_SUPPORT_CAPTURED_LOG_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/log/log.h"

namespace sightline {

// Catches the lines, in place of stderr, as long as it lives.  Thread-safe.
class CapturedLog {
 public:
  CapturedLog() {
    LogOptions options;
    options.sink = [this](absl::string_view line) {
      MutexLock lock(mutex_);
      lines_.emplace_back(line);
    };
    ConfigureLog(options);
  }
  ~CapturedLog() { ConfigureLog(LogOptions()); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // The lines so far that have `text`, which are forgotten with all others.
  std::vector<std::string> Take(absl::string_view text = "") {
    MutexLock lock(mutex_);
    std::vector<std::string> found;
    for (std::string& line : lines_) {
      if (absl::StrContains(line, text)) found.push_back(std::move(line));
    }
    lines_.clear();
    return found;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_CAPTURED_LOG_H_
