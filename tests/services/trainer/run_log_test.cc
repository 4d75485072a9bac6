#include "services/trainer/run_log.h"

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a run goes on behind the half of a line that a killed one left") {
  const TempDir dir;
  RunLog::Options options;
  options.metrics_path = dir.File("metrics.jsonl");
  const auto add = [&options](int step) {
    const absl::StatusOr<std::unique_ptr<RunLog>> log = RunLog::Create(options);
    REQUIRE(log.ok());
    (*log)->AddMetrics({{"step", step}});
  };
  const auto content = [&options] { return *ReadFile(options.metrics_path); };
  add(1);
  REQUIRE(content() == "{\"step\":1}\n");
  add(2);
  REQUIRE(content() == "{\"step\":1}\n{\"step\":2}\n");
  REQUIRE(WriteFileAtomically(options.metrics_path, "{\"step\":1}\n{\"st").ok());
  add(3);
  REQUIRE(content() == "{\"step\":1}\n{\"st\n{\"step\":3}\n");
}

TEST_CASE("a second run in the same folder is refused until the first has ended") {
  const TempDir dir;
  RunLog::Options options;
  options.metrics_path = dir.File("metrics.jsonl");
  {
    const absl::StatusOr<std::unique_ptr<RunLog>> first = RunLog::Create(options);
    REQUIRE(first.ok());
    const absl::Status second = RunLog::Create(options).status();
    REQUIRE(second.code() == absl::StatusCode::kAborted);
    REQUIRE_THAT(std::string(second.message()),
                 Catch::Contains("metrics.jsonl: another run is at work in this folder"));
    (*first)->AddMetrics({{"step", 1}});
  }
  REQUIRE(RunLog::Create(options).ok());
  REQUIRE(*ReadFile(options.metrics_path) == "{\"step\":1}\n");
}

}  // namespace
}  // namespace sightline
