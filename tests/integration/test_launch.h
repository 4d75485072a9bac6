// How the fleet of this test program is run; each program links one answer.
#ifndef SIGHTLINE_TESTS_INTEGRATION_TEST_LAUNCH_H_
#define SIGHTLINE_TESTS_INTEGRATION_TEST_LAUNCH_H_

#include "tests/integration/member.h"

namespace sightline {

Launch TestLaunch();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_TEST_LAUNCH_H_
