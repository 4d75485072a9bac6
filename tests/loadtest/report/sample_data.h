// A run that never was, with something of everything that reports show.
#ifndef SIGHTLINE_TESTS_LOADTEST_REPORT_SAMPLE_DATA_H_
#define SIGHTLINE_TESTS_LOADTEST_REPORT_SAMPLE_DATA_H_

#include "loadtest/report/report_data.h"

namespace sightline {

// Text, image and item queries at 200 a second for a minute after five seconds of warm-up; a
// reranker is killed and comes back (degraded answers), a shard is paused (errors and a
// backlog).  A capacity search with a knee.  Fails two criteria, cannot measure a third.
// Equal on every call.
ReportData SampleData();

// The same, with names that try to break out of every format.
ReportData HostileData();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_LOADTEST_REPORT_SAMPLE_DATA_H_
