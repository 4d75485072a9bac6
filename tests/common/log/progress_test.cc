#include "common/log/progress.h"

#include <vector>

#include "common/log/log.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

TEST_CASE("a line says what is done, how fast and how long it takes") {
  REQUIRE(ProgressLine("encode", "pictures", 50, 0, 200, absl::Seconds(10)) ==
          "encode   50/200 pictures  25 %  [######                    ]  5/s  0:30 left");
  // What an earlier run did takes no time of this one's.
  REQUIRE(ProgressLine("encode", "pictures", 150, 100, 200, absl::Seconds(10)) ==
          "encode   150/200 pictures  75 %  [###################       ]  5/s  0:10 left");
  REQUIRE(ProgressLine("read", "pictures", 0, 0, 7, absl::ZeroDuration()) ==
          "read     0/7 pictures   0 %  [                          ]");
  REQUIRE(ProgressLine("read", "pictures", 0, 0, 0, absl::Seconds(1)) ==
          "read     0/0 pictures 100 %  [##########################]");
  REQUIRE_THAT(ProgressLine("read", "x", 1, 0, 7201, absl::Seconds(1)),
               Catch::Contains("120:00 left"));
}

TEST_CASE("a terminal is drawn at most ten times a second, and once at the end") {
  FakeClock clock;
  std::vector<std::string> drawn;
  Progress::Options options;
  options.terminal = true;
  options.write = [&](absl::string_view text) { drawn.emplace_back(text); };
  Progress progress(options, &clock);
  progress.Begin("read", "pictures", 100);
  for (int i = 0; i < 50; ++i) progress.Advance(1);
  REQUIRE(drawn.empty());
  clock.Advance(absl::Milliseconds(100));
  progress.Advance(1);
  progress.Advance(1);
  REQUIRE(drawn.size() == 1);
  REQUIRE(drawn[0][0] == '\r');
  REQUIRE_THAT(drawn[0], Catch::Contains("51/100"));
  progress.End();
  REQUIRE(drawn.size() == 3);
  REQUIRE_THAT(drawn[1], Catch::Contains("52/100"));
  REQUIRE(drawn[2] == "\n");
}

TEST_CASE("elsewhere a line is logged every ten seconds") {
  FakeClock clock;
  std::vector<std::string> lines;
  LogOptions log;
  log.sink = [&](absl::string_view line) { lines.emplace_back(line); };
  ConfigureLog(log);
  Progress progress({}, &clock);
  progress.Begin("encode", "pictures", 30);
  progress.Skip(10);
  for (int i = 0; i < 4; ++i) {
    clock.Advance(absl::Seconds(5));
    progress.Advance(5);
  }
  REQUIRE(lines.size() == 2);
  REQUIRE_THAT(lines[0], Catch::Contains("\"done\":20") && Catch::Contains("\"per_second\":1"));
  progress.Detail("decode is slow");
  progress.End();
  REQUIRE(lines.size() == 3);
  REQUIRE_THAT(lines[2], Catch::Contains("\"detail\":\"decode is slow\""));
  progress.Begin("write", "items", 1);
  progress.End();
  REQUIRE_THAT(lines[3], Catch::Contains("\"detail\":\"\""));
  ConfigureLog({});
}

}  // namespace
}  // namespace sightline
