// A run as JUnit XML, for systems that show tests.
#ifndef SIGHTLINE_LOADTEST_REPORT_JUNIT_REPORT_H_
#define SIGHTLINE_LOADTEST_REPORT_JUNIT_REPORT_H_

#include <string>

#include "loadtest/report/report_data.h"

namespace sightline {

// One test suite named for the scenario, one test case for each criterion: a failure if it
// is broken, an error if it could not be measured (it must not look like success).  An
// outcome that no criterion accounts for is a test case of its own, "verdict".  The text
// report is the suite's output.  Well-formed whatever the names are.
std::string JunitReport(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_JUNIT_REPORT_H_
