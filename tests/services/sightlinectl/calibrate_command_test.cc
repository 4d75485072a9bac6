#include "services/sightlinectl/calibrate_command.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/models/precision/report.h"
#include "services/sightlinectl/add_probes_command.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;

// A store whose model has probes, labelled by captions.
struct Place {
  TempDir dir;
  TinyStore store = MakeTinyStore(dir.path(), 30);
  std::string model;

  Place() {
    const Ran ran = RanBy(RunAddProbes, {"--store", store.path, "--index", kTinyImages, "--model",
                                         store.model->id()});
    REQUIRE(ran.status == kSuccess);
    model = ran.out.substr(0, ran.out.size() - 1);
  }

  Ran Calibrate(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--store", store.path, "--model", model, "--threads", "1"});
    return RanBy(RunCalibrate, flags);
  }
};

TEST_CASE("a model is measured in what this CPU has, and what it lacks is named") {
  const Place place;
  const std::string json = place.dir.File("report.json"), plot = place.dir.File("plot.svg");
  const Ran ran = place.Calibrate({"--json", json, "--plot", plot});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kSuccess);
  const auto report = ParseReport(*ReadFile(json));
  REQUIRE(report.ok());
  REQUIRE(report->model() == place.model);
  REQUIRE(report->thread_count() == 1);
  REQUIRE_FALSE(report->drawn());
  REQUIRE(report->labelled_text_count() == 24);
  REQUIRE(report->item_count() == 30);
  for (const char* precision : {"float32", "bfloat16", "int8"}) {
    bool has = false;
    for (const auto& result : report->results()) has = has || result.precision() == precision;
    const std::string lacking =
        absl::StrCat(precision, ": this CPU (", report->cpu(), ") has none\n");
    REQUIRE(absl::StrContains(ran.out, lacking) == !has);
    REQUIRE(absl::StrContains(ran.out, absl::StrCat("\n  ", precision, " ")) == has);
    REQUIRE(absl::StrContains(*ReadFile(plot), precision) == has);
  }
  for (const char* told : {"pairs\n", "texts\n", "ms a pair", "ms a text", "24 texts mean known",
                           "fastest at 0.98: "}) {
    REQUIRE(absl::StrContains(ran.out, told));
  }
}

TEST_CASE("a report lies where a server looks for it") {
  const Place place;
  const std::string state = place.dir.File("state"), shipped = place.dir.File("reports");
  REQUIRE(place.Calibrate({"--state-dir", state}).status == kSuccess);
  REQUIRE(place.Calibrate({"--out", shipped}).status == kSuccess);
  const ReportKey key = KeyHere(place.model);
  REQUIRE(FindReport({ReportFolder(state)}, key).ok());
  REQUIRE(FindReport({shipped}, key).ok());
}

TEST_CASE("a bundle is measured in a folder of any name, on drawn inputs if it has no others") {
  const Place place;
  const std::string folder = place.dir.File("any");
  std::filesystem::copy(ModelDirectory(place.store.path, place.store.model->id()), folder,
                        std::filesystem::copy_options::recursive);
  const Ran ran = RanBy(RunCalibrate, {"--bundle", folder, "--threads", "1"});
  INFO(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(absl::StrContains(ran.out, "model " + place.store.model->id()));
  REQUIRE(absl::StrContains(ran.out, "drawn at random"));
}

TEST_CASE("reports of several CPUs are merged into the bound between them") {
  const Place place;
  const std::string one = place.dir.File("one.json"), other = place.dir.File("other.json");
  REQUIRE(place.Calibrate({"--json", one}).status == kSuccess);
  PrecisionReport report = *ParseReport(*ReadFile(one));
  report.set_cpu("another");
  report.set_cpu_name("\x1b[1mCPU");
  report.mutable_results(0)->mutable_pairs()->set_scores(
      3, report.results(0).pairs().scores(3) + 0.25f);
  REQUIRE(WriteFileAtomically(other, ReportJson(report)).ok());
  const std::string json = place.dir.File("bound.json"), plot = place.dir.File("plot.svg");
  const Ran ran = RanBy(RunCalibrate, {"--merge", one, other, "--json", json, "--plot", plot});
  INFO(ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE(absl::StrContains(ran.out, "float32 on 1"));
  REQUIRE(absl::StrContains(ran.out, "float32 on 2"));
  REQUIRE_FALSE(absl::StrContains(ran.out, "\x1b"));
  const auto bound = nlohmann::json::parse(*ReadFile(json));
  REQUIRE(bound["reports"][1]["cpu"] == "another");
  bool found = false;
  for (const auto& distance : bound["between"]) {
    if (distance["part"] != "pairs" || distance["one"]["precision"] != "float32" ||
        distance["other"]["precision"] != "float32") {
      continue;
    }
    found = true;
    REQUIRE(distance["by"] == "scores");
    REQUIRE(distance["greatest_difference"].get<double>() == Approx(0.25).margin(1e-6));
  }
  REQUIRE(found);
  REQUIRE(absl::StrContains(*ReadFile(plot), "CPU 2") == (report.results_size() > 1));

  REQUIRE(WriteFileAtomically(other, "{}").ok());
  const Ran broken = RanBy(RunCalibrate, {"--merge", one, other});
  REQUIRE(broken.status == kFailure);
  REQUIRE(absl::StrContains(broken.err, other + ": precision report"));
}

TEST_CASE("what has no place to be written is not measured") {
  const Place place;
  for (const char* const flag : {"--json", "--plot", "--out", "--state-dir"}) {
    const Ran ran = place.Calibrate({flag, "/proc/none/here"});
    CAPTURE(flag, ran.err);
    REQUIRE(ran.status == kFailure);
    REQUIRE(ran.out.empty());
    REQUIRE(absl::StrContains(ran.err, "/proc/none"));
  }
}

TEST_CASE("a command that is not whole does nothing") {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"--store", "s"},
                                             {"--model", "m"},
                                             {"--store", "s", "--model", "m", "--bundle", "b"},
                                             {"--store", "s", "--bundle", "b"},
                                             {"--bundle", "b", "word"},
                                             {"--bundle", "b", "--state-dir", "d", "--out", "o"},
                                             {"--bundle", "b", "--threads", "0"},
                                             {"--merge"},
                                             {"--merge", "one"},
                                             {"--merge", "one", "two", "one"},
                                             {"--merge", "one", "two", "--bundle", "b"},
                                             {"--merge", "one", "two", "--out", "o"},
                                             {"--merge", "one", "two", "--threads", "2"}}) {
    REQUIRE(RanBy(RunCalibrate, args).status == kUsageError);
  }
  REQUIRE(RanBy(RunCalibrate, {"--bundle", "nowhere"}).status == kFailure);
}

}  // namespace
}  // namespace sightline
