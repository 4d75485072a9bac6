// One screen of text about a run.
#ifndef SIGHTLINE_LOADTEST_REPORT_TEXT_REPORT_H_
#define SIGHTLINE_LOADTEST_REPORT_TEXT_REPORT_H_

#include <string>

#include "loadtest/report/report_data.h"

namespace sightline {

// The verdict comes first, then the criteria, then the figures behind them; what did not
// happen (errors, faults) takes no line.  Names from outside are made harmless to a terminal.
std::string TextReport(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_TEXT_REPORT_H_
