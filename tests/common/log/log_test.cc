#include "common/log/log.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Catches the lines of this process as long as it lives.
class Capture {
 public:
  explicit Capture(Severity threshold = Severity::kInfo) {
    LogOptions options;
    options.service = "test \"service\"";
    options.threshold = threshold;
    options.sink = [this](absl::string_view line) { lines.emplace_back(line); };
    options.clock = &clock;
    ConfigureLog(options);
  }
  ~Capture() { ConfigureLog(LogOptions()); }

  nlohmann::json Only() const {
    REQUIRE(lines.size() == 1);
    return nlohmann::json::parse(lines[0]);
  }

  FakeClock clock{absl::FromUnixMicros(1'700'000'000'000'001)};
  std::vector<std::string> lines;
};

TEST_CASE("A line is one JSON object with time, severity, service, event and fields") {
  Capture log;
  Log(Severity::kInfo, "generation ready",
      {{"index", "pictures"},
       {"items", size_t{10000}},
       {"delta", -3},
       {"share", 0.5},
       {"warm", true},
       {"took", absl::Milliseconds(1500)},
       {"status", absl::NotFoundError("no such shard")}});
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0] ==
        "{\"ts\":\"2023-11-14T22:13:20.000001Z\",\"severity\":\"INFO\","
        "\"service\":\"test \\\"service\\\"\",\"event\":\"generation ready\","
        "\"index\":\"pictures\",\"items\":10000,\"delta\":-3,\"share\":0.5,\"warm\":true,"
        "\"took\":1.5,\"status\":\"NOT_FOUND: no such shard\"}");
}

TEST_CASE("Nothing in a value breaks out of the line") {
  Capture log;
  std::string hostile = "a\"b\\c\n\r\t\x01\x7F{}\xFFz\xC3";
  hostile.push_back('\0');
  Log(Severity::kError, "bad\nevent", {{"text", hostile}, {"na\"me", "x"}});
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0].find('\n') == std::string::npos);
  const nlohmann::json line = log.Only();
  std::string expected = "a\"b\\c\n\r\t\x01\x7F{}\xEF\xBF\xBDz\xEF\xBF\xBD";
  expected.push_back('\0');
  CHECK(line["text"] == expected);
  CHECK(line["na\"me"] == "x");
  CHECK(line["event"] == "bad\nevent");
}

TEST_CASE("Every byte string gives a line that parses") {
  Capture log;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; second += 5) {
      log.lines.clear();
      const char bytes[] = {static_cast<char>(first), static_cast<char>(second), 'x'};
      Log(Severity::kInfo, "bytes", {{"value", absl::string_view(bytes, 3)}});
      REQUIRE(nlohmann::json::accept(log.lines.at(0)));
    }
  }
}

TEST_CASE("Numbers that JSON lacks become strings; great ones stay exact") {
  Capture log;
  Log(Severity::kInfo, "numbers",
      {{"nan", std::nan("")},
       {"inf", -std::numeric_limits<double>::infinity()},
       {"max", std::numeric_limits<int64_t>::max()},
       {"forever", absl::InfiniteDuration()}});
  const nlohmann::json line = log.Only();
  CHECK(line["nan"] == "NaN");
  CHECK(line["inf"] == "-Infinity");
  CHECK(line["max"] == std::numeric_limits<int64_t>::max());
  CHECK(line["forever"] == "Infinity");
}

TEST_CASE("Long text is cut") {
  Capture log;
  Log(Severity::kInfo, "long", {{"text", std::string(100000, 'x')}});
  CHECK(log.lines.at(0).size() < 5000);
  CHECK(log.Only()["text"].get<std::string>().size() == 4096);
}

TEST_CASE("Lines below the threshold are dropped") {
  Capture log(Severity::kWarning);
  Log(Severity::kDebug, "no");
  Log(Severity::kInfo, "no");
  CHECK(log.lines.empty());
  Log(Severity::kWarning, "yes");
  Log(Severity::kError, "yes");
  CHECK(log.lines.size() == 2);
}

TEST_CASE("Severities have names that read back") {
  for (const Severity severity :
       {Severity::kDebug, Severity::kInfo, Severity::kWarning, Severity::kError}) {
    Severity read = Severity::kDebug;
    CHECK(ParseSeverity(SeverityName(severity), &read));
    CHECK(read == severity);
  }
  Severity read = Severity::kInfo;
  CHECK(ParseSeverity("warning", &read));
  CHECK(read == Severity::kWarning);
  CHECK_FALSE(ParseSeverity("loud", &read));
  CHECK(read == Severity::kWarning);
}

TEST_CASE("A sink that throws costs the line, not the caller") {
  LogOptions options;
  options.sink = [](absl::string_view) { throw std::runtime_error("disk full"); };
  ConfigureLog(options);
  Log(Severity::kInfo, "lost");
  ConfigureLog(LogOptions());
}

TEST_CASE("Lines of many threads do not mix") {
  Capture log;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) Log(Severity::kInfo, "tick", {{"thread", t}, {"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(log.lines.size() == 800);
  for (const std::string& line : log.lines) CHECK(nlohmann::json::accept(line));
}

}  // namespace
}  // namespace sightline
