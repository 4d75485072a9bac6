#include "common/models/precision/report.h"

#include <google/protobuf/util/message_differencer.h>

#include <functional>
#include <limits>

#include "common/base/files.h"
#include "common/bundle/model_probes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;
using google::protobuf::util::MessageDifferencer;

PrecisionReport Sound(const std::string& model) {
  const ReportKey key = KeyHere(model);
  PrecisionReport report;
  report.set_format_version(1);
  report.set_model(key.model);
  report.set_cpu(key.cpu);
  report.set_program(key.program);
  report.set_item_count(2);
  for (const char* precision : {"float32", "int8"}) {
    auto& result = *report.add_results();
    result.set_precision(precision);
    auto& pairs = *result.mutable_pairs();
    pairs.set_seconds(0.01);
    pairs.mutable_agreement()->set_top10_overlap(1);
    for (const float score : {0.5f, 0.25f, -1.0f, 0.1f}) pairs.add_scores(score);
  }
  return report;
}

// Scores of so many items and texts.
void Resize(int items, int texts, PrecisionReport* report) {
  report->set_item_count(items);
  for (auto& result : *report->mutable_results()) {
    result.mutable_pairs()->mutable_scores()->Resize(items * texts, 0.5f);
  }
}

TEST_CASE("a report is found again by its model, CPU and program, as it was written") {
  TempDir dir;
  const std::string folder = dir.path() + "/state/precision";
  const PrecisionReport report = Sound("aaaa");
  REQUIRE(WriteReport(folder, report) == absl::OkStatus());
  const auto found = FindReport({"", dir.path(), folder}, KeyHere("aaaa"));
  REQUIRE(found.status() == absl::OkStatus());
  CHECK(MessageDifferencer::Equals(*found, report));
  CHECK(absl::IsNotFound(FindReport({folder}, KeyHere("bbbb")).status()));
  for (std::string ReportKey::*part : {&ReportKey::cpu, &ReportKey::program}) {
    ReportKey key = KeyHere("aaaa");
    key.*part += " amx_int8";
    CHECK(absl::IsNotFound(FindReport({folder}, key).status()));
  }
}

TEST_CASE("a report in another's place, or a broken one, is passed over") {
  TempDir dir;
  const ReportKey key = KeyHere("aaaa");
  const std::string path = JoinPath(dir.path(), ReportFile(key));
  REQUIRE(WriteFileAtomically(path, ReportJson(Sound("bbbb"))) == absl::OkStatus());
  CHECK(absl::IsNotFound(FindReport({dir.path()}, key).status()));
  REQUIRE(WriteFileAtomically(path, "{\"format_version\": 1") == absl::OkStatus());
  CHECK(absl::IsNotFound(FindReport({dir.path()}, key).status()));
  TempDir second;
  REQUIRE(WriteReport(second.path(), Sound("aaaa")) == absl::OkStatus());
  CHECK(FindReport({dir.path(), second.path()}, key).ok());
}

TEST_CASE("numbers that contradict each other are no report") {
  const std::vector<std::function<void(PrecisionReport*)>> wrong = {
      [](PrecisionReport* r) { r->set_format_version(2); },
      [](PrecisionReport* r) { r->clear_results(); },
      [](PrecisionReport* r) { r->mutable_results(0)->set_precision("int8"); },
      [](PrecisionReport* r) { r->set_item_count(0); },
      [](PrecisionReport* r) { r->set_item_count(3); },
      [](PrecisionReport* r) { r->mutable_results(1)->set_precision("int4"); },
      [](PrecisionReport* r) { *r->add_results() = r->results(1); },
      [](PrecisionReport* r) {
        for (auto& result : *r->mutable_results()) result.clear_pairs();
      },
      [](PrecisionReport* r) {
        r->mutable_results(1)->mutable_pairs()->mutable_agreement()->set_top10_overlap(0.5);
      },
      [](PrecisionReport* r) { r->mutable_results(0)->mutable_pairs()->set_seconds(1e-300); },
      [](PrecisionReport* r) { Resize(kMostProbeItems + 1, 1, r); },
      [](PrecisionReport* r) { Resize(1, kMostProbeTexts + 1, r); },
      [](PrecisionReport* r) { r->mutable_results(1)->mutable_pairs()->clear_scores(); },
      [](PrecisionReport* r) { r->mutable_results(1)->mutable_pairs()->add_scores(1); },
      [](PrecisionReport* r) { r->mutable_results(1)->clear_pairs(); },
      [](PrecisionReport* r) { *r->mutable_results(1)->mutable_texts() = r->results(0).pairs(); },
      [](PrecisionReport* r) { r->mutable_results(1)->mutable_pairs()->set_seconds(0); },
      [](PrecisionReport* r) {
        r->mutable_results(1)->mutable_pairs()->set_scores(0,
                                                           std::numeric_limits<float>::quiet_NaN());
      },
      [](PrecisionReport* r) {
        r->mutable_results(1)->mutable_pairs()->mutable_agreement()->set_top10_overlap(1.5);
      },
      [](PrecisionReport* r) {
        r->mutable_results(1)->mutable_pairs()->mutable_agreement()->set_kendall(
            std::numeric_limits<double>::quiet_NaN());
      },
  };
  CHECK(ParseReport(ReportJson(Sound("a"))).ok());
  PrecisionReport largest = Sound("a");
  Resize(kMostProbeItems, kMostProbeTexts, &largest);
  CHECK(ParseReport(ReportJson(largest)).ok());
  for (size_t i = 0; i < wrong.size(); ++i) {
    CAPTURE(i);
    PrecisionReport report = Sound("a");
    wrong[i](&report);
    CHECK(absl::IsInvalidArgument(ParseReport(ReportJson(report)).status()));
  }
}

TEST_CASE("hostile text is no report, and takes no memory") {
  std::string many = "{\"results\": [";
  for (int i = 0; i < 1000; ++i) many += "{},";
  for (const std::string& text : {std::string(""), std::string("[]"), many + "{}]}",
                                  std::string(100000, '{'), std::string("{\"model\": 5e400}")}) {
    CHECK(absl::IsInvalidArgument(ParseReport(text).status()));
  }
}

}  // namespace
}  // namespace sightline
