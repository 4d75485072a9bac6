#include "services/corpus_encoder/encode_summary.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the report names what people ask for") {
  EncodeSummary summary;
  summary.generation = "g1";
  summary.image_count = 5;
  summary.published = true;
  summary.read = {10, 3'000'000, absl::Seconds(2)};
  summary.base = "g0";
  summary.carried_image_count = 4;
  REQUIRE_THAT(summary.Report(), Catch::Contains("generation g1 (published)") &&
                                     Catch::Contains("5 images") &&
                                     Catch::Contains("5.0/s 1.5 MB/s") &&
                                     Catch::Contains("4 images, 0 captions from generation g0"));
  summary.worker = 1;
  summary.workers = 3;
  REQUIRE_THAT(summary.Report(), Catch::Contains("worker 1 of 3"));
}

TEST_CASE("the slowest stage is the one that took the time, of the suppliers the busier") {
  EncodeSummary summary;
  summary.scan_time = absl::Seconds(3);
  summary.read.time = absl::Seconds(4);
  REQUIRE(summary.Slowest() == "read");
  summary.encode.time = absl::Seconds(10);
  REQUIRE(summary.Slowest() == "encode");
  REQUIRE_THAT(summary.Rates(), Catch::Contains("waits for encode"));
  summary.wait_time = absl::Seconds(20);
  summary.decode.time = absl::Seconds(18);
  REQUIRE(summary.Slowest() == "decode");
  REQUIRE_THAT(summary.Rates(), Catch::Contains("waits for decode"));
  summary.read.time = absl::Seconds(30);
  REQUIRE(summary.Slowest() == "read");
  summary.write.time = absl::Seconds(40);
  REQUIRE(summary.Slowest() == "write");
  summary.await_time = absl::Seconds(50);
  REQUIRE(summary.Slowest() == "wait for other workers");
}

TEST_CASE("a device's share of the time is told, and for whom it waited") {
  EncodeSummary summary;
  CHECK_THAT(summary.Report() + summary.Rates(), !Catch::Contains("device"));
  summary.read.time = absl::Seconds(2);
  summary.device = DeviceTime{absl::Seconds(18), absl::Seconds(1), absl::Milliseconds(600),
                              absl::Milliseconds(400), 77};
  CHECK_THAT(summary.Rates(), Catch::Contains(", device busy 90.0 %;"));
  CHECK_THAT(summary.Report(),
             Catch::Contains("  device    busy 90.0 % of 20.0 s, 77 passes; waited 0.6 s for the "
                             "host, 0.4 s for files to be written, 1.0 s for pictures (read)\n"));
}

TEST_CASE("a stage that did nothing has no rate") {
  REQUIRE(StageWork().Rate() == "-");
}

}  // namespace
}  // namespace sightline
