// Writes the reports of synthetic runs into a folder, for a browser or a person to look at.
//
//   write_sample_report FOLDER
#include <iostream>
#include <string>

#include "common/base/files.h"
#include "loadtest/report/html_report.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/junit_report.h"
#include "loadtest/report/text_report.h"
#include "tests/loadtest/report/sample_data.h"

namespace {

bool Write(const std::string& path, const std::string& content) {
  const absl::Status status = sightline::WriteFileAtomically(path, content);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_sample_report FOLDER\n";
    return 1;
  }
  const std::string folder = argv[1];
  const sightline::ReportData data = sightline::SampleData();
  sightline::ReportData empty;
  empty.result.scenario = "nothing measured";
  const bool written =
      Write(folder + "/sample.html", sightline::HtmlReport(data)) &&
      Write(folder + "/hostile.html", sightline::HtmlReport(sightline::HostileData())) &&
      Write(folder + "/empty.html", sightline::HtmlReport(empty)) &&
      Write(folder + "/sample.txt", sightline::TextReport(data)) &&
      Write(folder + "/sample.json", sightline::JsonReport(data)) &&
      Write(folder + "/sample.xml", sightline::JunitReport(data));
  return written ? 0 : 1;
}
