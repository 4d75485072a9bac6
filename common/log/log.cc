#include "common/log/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clean_text.h"

namespace sightline {
namespace {

// A field longer than this is cut: a line should stay one that people can read.
constexpr size_t kMaxTextBytes = 4096;

// Appends `text` as a JSON string.
void AppendJsonString(absl::string_view text, std::string* json) {
  json->push_back('"');
  for (const char c : CleanText(text, kMaxTextBytes)) {
    switch (c) {
      case '"':
        json->append("\\\"");
        break;
      case '\\':
        json->append("\\\\");
        break;
      case '\n':
        json->append("\\n");
        break;
      case '\r':
        json->append("\\r");
        break;
      case '\t':
        json->append("\\t");
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          absl::StrAppendFormat(json, "\\u%04x", static_cast<unsigned char>(c));
        } else {
          json->push_back(c);
        }
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

// Hands every line to a function; spdlog holds the mutex meanwhile.
class FunctionSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(LogSink sink) : sink_(std::move(sink)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(absl::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

 private:
  const LogSink sink_;
};

// One configuration of the log.  Never changed, only replaced.
struct Logger {
  explicit Logger(const LogOptions& options)
      : service_json(JsonString(options.service)),
        threshold(options.threshold),
        clock(options.clock),
        spdlog("sightline", MakeSink(options)) {
    spdlog.set_level(spdlog::level::trace);  // the threshold is ours
    spdlog.flush_on(spdlog::level::trace);
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
  spdlog::logger spdlog;
};

// The logger in use; a line that is being written keeps its own alive.
class CurrentLogger {
 public:
  std::shared_ptr<Logger> Get() {
    std::lock_guard<std::mutex> lock(mutex_);
    return logger_;
  }
  void Set(std::shared_ptr<Logger> logger) {
    std::lock_guard<std::mutex> lock(mutex_);
    logger_ = std::move(logger);
  }

  // Lives forever: threads may log while the process ends.
  static CurrentLogger& Instance() {
    static CurrentLogger* const instance = new CurrentLogger;
    return *instance;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Logger> logger_ = std::make_shared<Logger>(LogOptions());
};

spdlog::level::level_enum SpdlogLevel(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return spdlog::level::debug;
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
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
  return "ERROR";
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
  CurrentLogger::Instance().Set(std::make_shared<Logger>(options));
}

void Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields) {
  const std::shared_ptr<Logger> logger = CurrentLogger::Instance().Get();
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
    logger->spdlog.log(SpdlogLevel(severity), spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
    // Out of memory, or a sink that throws: losing a line is better than losing the work.
  }
}

}  // namespace sightline
