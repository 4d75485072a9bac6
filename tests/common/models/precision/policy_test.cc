#include "common/models/precision/policy.h"

#include "common/base/error_details.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;
using Catch::Contains;

void Add(const std::string& precision, double pairs, double texts, double seconds,
         PrecisionReport* report) {
  auto& result = *report->add_results();
  result.set_precision(precision);
  result.mutable_pairs()->mutable_agreement()->set_top10_overlap(pairs);
  result.mutable_pairs()->set_seconds(seconds);
  result.mutable_texts()->mutable_agreement()->set_top10_overlap(texts);
  result.mutable_texts()->set_seconds(1 / seconds);  // of a reranker no matter
}

PrecisionReport Measured() {
  PrecisionReport report;
  report.set_cpu("avx2 avx512");
  Add("float32", 1, 1, 0.020, &report);
  Add("bfloat16", 0.996, 0.999, 0.010, &report);
  Add("int8", 0.99, 0.985, 0.005, &report);
  return report;
}

PrecisionChoice Chosen(const PrecisionPolicy& policy, const PrecisionReport& report) {
  const auto choice = Choose(policy, report);
  REQUIRE(choice.status() == absl::OkStatus());
  return *choice;
}

TEST_CASE("the fastest of those that agree in all that the model does is taken") {
  CHECK(Chosen({"fastest", 0.98}, Measured()).precision == "int8");
  CHECK(Chosen({"fastest", 0.98}, Measured()).agreement == 0.985);
  CHECK(Chosen({"fastest", 0.986}, Measured()).precision == "bfloat16");
  CHECK(Chosen({"fastest", 0.998}, Measured()).precision == "float32");
  CHECK(Chosen({"fastest", 1}, Measured()).agreement == 1);
}

TEST_CASE("what is hardly faster is not worth less agreement, so that replicas choose alike") {
  PrecisionReport report = Measured();
  report.mutable_results(2)->mutable_pairs()->set_seconds(0.0081);
  CHECK(Chosen({"fastest", 0.98}, report).precision == "bfloat16");
  report.mutable_results(2)->mutable_pairs()->set_seconds(0.0079);
  CHECK(Chosen({"fastest", 0.98}, report).precision == "int8");
}

TEST_CASE("a precision that is no faster than float32 is not taken for its name") {
  PrecisionReport report = Measured();
  report.mutable_results(2)->mutable_pairs()->set_seconds(0.021);
  report.mutable_results(1)->mutable_pairs()->set_seconds(0.020);
  CHECK(Chosen({"fastest", 0.98}, report).precision == "float32");
}

TEST_CASE("of a model that only encodes, texts decide") {
  PrecisionReport report = Measured();
  for (auto& result : *report.mutable_results()) result.clear_pairs();
  CHECK(Chosen({"fastest", 0.98}, report).precision == "float32");
  report.mutable_results(1)->mutable_texts()->set_seconds(0.5);
  CHECK(Chosen({"fastest", 0.98}, report).precision == "bfloat16");
}

TEST_CASE("a named precision is taken if it agrees, and refused if not, or not there") {
  CHECK(Chosen({"bfloat16", 0.98}, Measured()).precision == "bfloat16");
  const absl::Status far = Choose({"int8", 0.99}, Measured()).status();
  CHECK(HasReason(far, reasons::kPrecisionTooFar));
  CHECK_THAT(std::string(far.message()), Contains("0.985"));
  PrecisionReport old = Measured();
  old.mutable_results()->RemoveLast();
  const absl::Status missing = Choose({"int8", 0}, old).status();
  CHECK(HasReason(missing, reasons::kPrecisionMissing));
  CHECK_THAT(std::string(missing.message()), Contains("float32, bfloat16"));
}

TEST_CASE("a model with nothing to choose computes in float32 under every policy") {
  PrecisionReport report;
  report.add_results()->set_precision("float32");
  for (const char* precision : {"fastest", "int8", "float32"}) {
    CHECK(Chosen({precision, 0.98}, report).precision == "float32");
  }
}

}  // namespace
}  // namespace sightline
