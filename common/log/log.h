// Structured log: one JSON object a line, on stderr.
//
//   Log(Severity::kInfo, "generation ready", {{"index", index}, {"items", count}});
//   {"ts":"2026-01-31T12:00:00.000001Z","severity":"INFO","service":"index_search",
//    "event":"generation ready","index":"pictures","items":10000}        (on one line)
//
// The event is a constant phrase, so that lines can be counted by it; what varies goes
// into fields.  Nothing is logged per request that succeeds; failures per request go
// through a LogLimiter.
#ifndef SIGHTLINE_COMMON_LOG_LOG_H_
#define SIGHTLINE_COMMON_LOG_LOG_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace sightline {

enum class Severity { kDebug, kInfo, kWarning, kError };

// "DEBUG", "INFO", "WARNING" or "ERROR".
absl::string_view SeverityName(Severity severity);

// Reads "debug", "info", "warning" or "error" in any case; false for anything else.
bool ParseSeverity(absl::string_view text, Severity* severity);

// A name and a value that remembers its type.  The name is a constant; the value is
// copied, so temporaries are fine.
class LogField {
 public:
  LogField(absl::string_view name, absl::string_view text);
  LogField(absl::string_view name, const char* text) : LogField(name, absl::string_view(text)) {}
  LogField(absl::string_view name, const std::string& text)
      : LogField(name, absl::string_view(text)) {}
  LogField(absl::string_view name, bool value);
  // NaN and infinities, which JSON has no numbers for, become strings.
  LogField(absl::string_view name, double value);
  // In seconds.
  LogField(absl::string_view name, absl::Duration value);
  // "<CODE>: <message>".
  LogField(absl::string_view name, const absl::Status& value);
  template <typename Integer, typename = std::enable_if_t<std::is_integral<Integer>::value &&
                                                          !std::is_same<Integer, bool>::value>>
  LogField(absl::string_view name, Integer value)
      : LogField(name, std::to_string(value), RawJson()) {}

  absl::string_view name() const { return name_; }
  const std::string& json() const { return json_; }

 private:
  struct RawJson {};
  LogField(absl::string_view name, std::string json, RawJson)
      : name_(name), json_(std::move(json)) {}

  absl::string_view name_;
  std::string json_;
};

// Takes one whole line, without the line's end.  Calls do not overlap.
using LogSink = std::function<void(absl::string_view line)>;

struct LogOptions {
  // Names the process in every line.
  std::string service = "sightline";
  // Lines below are dropped.
  Severity threshold = Severity::kInfo;
  // Where lines go; none means stderr.
  LogSink sink;
  // Stamps the lines; never null.
  Clock* clock = Clock::Real();
};

// Sets up the process's log; without it the defaults above hold.  Thread-safe, but
// meant to be called once, first thing in main.
void ConfigureLog(const LogOptions& options);

// Writes one line unless `severity` is below the threshold.  Strings that are not UTF-8
// get U+FFFD in place of the bad bytes; nothing can break out of the line.  Thread-safe;
// never fails and never throws.
void Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_LOG_LOG_H_
