#include "common/log/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clean_text.h"
#include "common/base/mutex.h"
#include "common/base/published.h"

namespace sightline {
namespace {

// A field longer than this is cut: a line should stay one that people can read.
constexpr size_t kMaxTextBytes = 4096;

// The threshold is ours, and lines have their severity in them: to spdlog all are alike.
constexpr spdlog::level::level_enum kAnyLevel = spdlog::level::info;

// Appends `text` as a JSON string.
void AppendJsonString(absl::string_view text, std::string* json) {
  constexpr absl::string_view kEscaped = "\"\\\n\r\t", kEscapes = "\"\\nrt";
  json->push_back('"');
  for (const char c : CleanText(text, kMaxTextBytes)) {
    if (const size_t known = kEscaped.find(c); known != absl::string_view::npos) {
      json->push_back('\\');
      json->push_back(kEscapes[known]);
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(json, "\\u%04x", c);
    } else {
      json->push_back(c);
    }
  }
  json->push_back('"');
}

std::string JsonString(absl::string_view text) {
  std::string json;
  AppendJsonString(text, &json);
  return json;
}

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return absl::StrFormat("%.9g", value);
}

// Hands every line to a function, one at a time.
class FunctionSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(LogSink sink) : sink_(std::move(sink)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    MutexLock lock(mutex_of_sink_);
    sink_(absl::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

 private:
  Mutex mutex_of_sink_;
  const LogSink sink_ GUARDED_BY(mutex_of_sink_);
};

// One configuration of the log.  Never changed, only replaced.
struct Logger {
  explicit Logger(const LogOptions& options)
      : service_json(JsonString(options.service)),
        threshold(options.threshold),
        clock(options.clock),
        spdlog("sightline", MakeSink(options)) {
    spdlog.flush_on(kAnyLevel);
    // Lines are whole when they get here.
    spdlog.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    // A log that cannot be written has nowhere to say so.
    spdlog.set_error_handler([](const std::string&) {});
  }

  static spdlog::sink_ptr MakeSink(const LogOptions& options) {
    if (options.sink) return std::make_shared<FunctionSink>(options.sink);
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }

  const std::string service_json;
  const Severity threshold;
  Clock* const clock;
  mutable spdlog::logger spdlog;  // takes lines from any thread
};

// The logger in use; a line that is being written keeps its own alive.  Lives forever: threads may
// log while the process ends.
Published<Logger>& CurrentLogger() {
  static auto* const current = new Published<Logger>(std::make_shared<const Logger>(LogOptions()));
  return *current;
}

}  // namespace

absl::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "DEBUG";
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  return "";
}

bool ParseSeverity(absl::string_view text, Severity* severity) {
  const std::string upper = absl::AsciiStrToUpper(text);
  for (const Severity candidate :
       {Severity::kDebug, Severity::kInfo, Severity::kWarning, Severity::kError}) {
    if (upper != SeverityName(candidate)) continue;
    *severity = candidate;
    return true;
  }
  return false;
}

LogField::LogField(absl::string_view name, absl::string_view text)
    : LogField(name, JsonString(text), RawJson()) {}
LogField::LogField(absl::string_view name, bool value)
    : LogField(name, std::string(value ? "true" : "false"), RawJson()) {}
LogField::LogField(absl::string_view name, double value)
    : LogField(name, JsonNumber(value), RawJson()) {}
LogField::LogField(absl::string_view name, absl::Duration value)
    : LogField(name, absl::ToDoubleSeconds(value)) {}
LogField::LogField(absl::string_view name, const absl::Status& value)
    : LogField(name,
               JsonString(value.ok() ? "OK"
                                     : absl::StrCat(absl::StatusCodeToString(value.code()), ": ",
                                                    value.message())),
               RawJson()) {}

void ConfigureLog(const LogOptions& options) {
  CurrentLogger().Set(std::make_shared<const Logger>(options));
}

void Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields) {
  const std::shared_ptr<const Logger> logger = CurrentLogger().Get();
  if (severity < logger->threshold) return;
  try {
    std::string line = absl::StrCat(
        "{\"ts\":\"",
        absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", logger->clock->Now(), absl::UTCTimeZone()),
        "\",\"severity\":\"", SeverityName(severity), "\",\"service\":", logger->service_json,
        ",\"event\":");
    AppendJsonString(event, &line);
    for (const LogField& field : fields) {
      line.push_back(',');
      AppendJsonString(field.name(), &line);
      absl::StrAppend(&line, ":", field.json());
    }
    line.push_back('}');
    logger->spdlog.log(kAnyLevel, spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
    // Out of memory, or a sink that throws: losing a line is better than losing the work.
  }
}

}  // namespace sightline
