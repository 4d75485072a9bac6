// A run as one HTML page: the verdict, the evidence and its plots.
#ifndef SIGHTLINE_LOADTEST_REPORT_HTML_REPORT_H_
#define SIGHTLINE_LOADTEST_REPORT_HTML_REPORT_H_

#include <string>

#include "loadtest/report/report_data.h"

namespace sightline {

// The page holds all that it needs and may ask for nothing else (its content security policy
// says so to the browser).  It works from a file, without a network, without scripts (values
// under the pointer are then missing), in light and dark, on phones and on paper.  Names from
// outside are escaped.
std::string HtmlReport(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_HTML_REPORT_H_
