#include "tests/integration/test_launch.h"

sightline::Launch sightline::TestLaunch() {
  return LaunchInProcess;
}
