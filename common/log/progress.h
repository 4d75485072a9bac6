// How far the job is: a bar on a terminal, log lines elsewhere.
//
//   encode   5376/10273 pictures  52 %  [#############             ]  118/s  0:41 left
#ifndef SIGHTLINE_COMMON_LOG_PROGRESS_H_
#define SIGHTLINE_COMMON_LOG_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class Progress {
 public:
  struct Options {
    // Draw a bar with `write`; else log a line every `log_period`.
    bool terminal = false;
    absl::Duration draw_period = absl::Milliseconds(100);
    absl::Duration log_period = absl::Seconds(10);
    // Gets what is drawn: carriage returns, no line ends until a phase is over.
    std::function<void(absl::string_view)> write;
  };

  // A bar if stderr is a terminal, else log lines.
  static Options OnStandardError();

  Progress(const Options& options, Clock* clock) : options_(options), clock_(clock) {}

  // Starts a phase of `total` things, called `unit` ("pictures").
  void Begin(absl::string_view phase, absl::string_view unit, int64_t total);

  // `count` things are finished by work.
  void Advance(int64_t count);

  // `count` things were finished by an earlier run: they count towards the total and not
  // towards the rate.
  void Skip(int64_t count);

  // More to say of the phase, until the next call or phase: stands behind the bar and in
  // the log line.
  void Detail(absl::string_view text);

  // Ends the phase: the last state of the bar stays on the terminal.
  void End();

 private:
  void MaybeShow(bool force) REQUIRES(mutex_);

  const Options options_;
  Clock* const clock_;
  Mutex mutex_;
  std::string phase_ GUARDED_BY(mutex_);
  std::string unit_ GUARDED_BY(mutex_);
  std::string detail_ GUARDED_BY(mutex_);
  int64_t total_ GUARDED_BY(mutex_) = 0;
  int64_t done_ GUARDED_BY(mutex_) = 0;
  int64_t skipped_ GUARDED_BY(mutex_) = 0;
  absl::Time start_ GUARDED_BY(mutex_);
  absl::Time next_show_ GUARDED_BY(mutex_);
};

// The line above.  `skipped` of `done` took no time.  No rate before anything is done.
std::string ProgressLine(absl::string_view phase, absl::string_view unit, int64_t done,
                         int64_t skipped, int64_t total, absl::Duration elapsed);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_LOG_PROGRESS_H_
