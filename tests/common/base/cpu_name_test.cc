#include "common/base/cpu_name.h"

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("the first core's name is told, without what stands around it") {
  const TempDir dir;
  const std::string path = dir.File("cpuinfo");
  const auto name_in = [&](const std::string& content) {
    REQUIRE(WriteFileAtomically(path, content).ok());
    return CpuName(path);
  };
  CHECK(name_in("processor\t: 0\nmodel\t\t: 143\nmodel name\t: A Core: 2 GHz \n\n"
                "processor\t: 1\nmodel name\t: Another\n") == "A Core: 2 GHz");
  CHECK(name_in("processor\t: 0\nmodel name\n").empty());
  CHECK(name_in("").empty());
  CHECK(CpuName(dir.File("nowhere")).empty());
}

}  // namespace
}  // namespace sightline
