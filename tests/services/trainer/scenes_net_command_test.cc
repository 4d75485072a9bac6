#include "services/trainer/scenes_net_command.h"

#include <sstream>

#include "common/base/files.h"
#include "common/training/scenes/scene_detector.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

class Fixture {
 public:
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return RunScenesNet(args, {out_, err_});
  }

  TempDir dir;

 protected:
  std::ostringstream out_, err_;
};

TEST_CASE_METHOD(Fixture,
                 "a net is written and measured in scenes of every kind, where the drawings are") {
  const std::string path = dir.File("net.safetensors");
  const int status = Run({"--out", path, "--steps", "1", "--threads", "2"});
  if (status == kFailure) {
    // The error names the packages.
    REQUIRE_THAT(err_.str(), Catch::Contains("openclipart-png"));
    return;
  }
  REQUIRE(status == kSuccess);
  REQUIRE(SceneDetector::FromBytes(*ReadFile(path)).ok());
  REQUIRE_THAT(out_.str(), Catch::Contains("\nnew_drawing      nouns") &&
                               Catch::Contains("\nnew_combination  nouns") &&
                               Catch::Contains("  " + path + "\n"));
  const std::string written = out_.str();
  REQUIRE(Run({"--measure", path}) == kSuccess);
  REQUIRE(written.find(out_.str()) == 0);
}

TEST_CASE_METHOD(Fixture, "mistakes of the command line are told") {
  REQUIRE(Run({}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("give --out FILE"));
  REQUIRE(Run({"--out", dir.File("x"), "--steps", "0"}) == kUsageError);
  REQUIRE_THAT(err_.str(), Catch::Contains("steps"));
  REQUIRE(Run({"--out", dir.File("x"), "--measure", dir.File("y")}) == kUsageError);
  REQUIRE_FALSE(FileExists(dir.File("x")));
}

}  // namespace
}  // namespace sightline
