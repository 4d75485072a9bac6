#include "common/models/precision/calibrate.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/model_probes.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/model.h"
#include "common/models/precision/draw_probes.h"
#include "common/models/precision/report.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionScores;

const CallContext kCall = CallContext::Unbounded();

// Shows a second more whenever it is asked.
class TickingClock : public FakeClock {
 public:
  absl::Time Now() override {
    time_ += absl::Seconds(1);
    SetTime(time_);
    return time_;
  }

 private:
  absl::Time time_ = FakeClock::Now();
};

PrecisionReport Measured(const ModelBundle& bundle, absl::Duration budget) {
  ComputePool pool(2);
  TickingClock clock;
  const auto report = Calibrate(bundle, {&pool, &clock, budget}, kCall);
  REQUIRE(report.status() == absl::OkStatus());
  return *report;
}

void CheckScores(const PrecisionScores& scores, const PrecisionReport& report) {
  CHECK(scores.scores_size() % report.item_count() == 0);
  CHECK(scores.scores_size() >= kLeastProbeTexts * report.item_count());
  CHECK(scores.seconds() > 0);
  CHECK(scores.agreement().greatest_difference() < 1);
  const auto [low, high] = std::minmax_element(scores.scores().begin(), scores.scores().end());
  CHECK(*low < *high);
}

TEST_CASE("every family is measured on drawn probes, in each precision of this CPU") {
  const auto kernels = kernels::FastestKernels(kernels::ThisCpu());
  for (const TinyFamily& family : TinyFamilies()) {
    CAPTURE(family.name);
    TempDir dir;
    const ModelBundle bundle = MakeTinyBundle(dir.path(), family);
    const PrecisionReport report = Measured(bundle, absl::Seconds(3));
    CHECK(report.model() == bundle.id);
    CHECK(ParseReport(ReportJson(report)).status() == absl::OkStatus());
    REQUIRE(report.results_size() > 0);
    const auto& reference = report.results(0);
    CHECK(reference.precision() == "float32");
    if (!bundle.manifest.has_transformer()) {
      CHECK(report.results_size() == 1);
      continue;
    }
    CHECK(report.drawn());
    REQUIRE(report.results_size() == static_cast<int>(kernels.size()));
    for (int i = 0; i < report.results_size(); ++i) {
      const auto& result = report.results(i);
      CAPTURE(result.precision());
      CHECK(result.precision() == kernels[i]->precision);
      CHECK(result.kernel() == kernels[i]->instructions);
      CHECK(result.has_pairs() == bundle.manifest.has_cross_encoder());
      CHECK(result.has_texts() == bundle.manifest.has_embedding());
      if (result.has_pairs()) CheckScores(result.pairs(), report);
      if (result.has_texts()) CheckScores(result.texts(), report);
    }
    if (reference.has_pairs()) CHECK(reference.pairs().agreement().top10_overlap() == 1);
  }
}

TEST_CASE("probes of the bundle are what is scored, and what they mean is known") {
  const std::vector<TinyFamily> families = TinyFamilies();
  const auto oscar = std::find_if(families.begin(), families.end(), [](const TinyFamily& family) {
    return family.manifest.family() == "oscar" && family.manifest.has_cross_encoder() &&
           family.manifest.has_embedding();
  });
  REQUIRE(oscar != families.end());
  TempDir dir, other;
  const ModelBundle plain = MakeTinyBundle(dir.path(), *oscar);
  ComputePool pool(1);
  ModelOptions options;
  options.pool = &pool;
  const auto model = LoadModel(plain, options);
  REQUIRE(model.ok());
  auto probes = DrawProbes(**model, kCall);
  REQUIRE(probes.status() == absl::OkStatus());
  probes->mutable_texts()->DeleteSubrange(3, probes->texts_size() - 3);
  probes->mutable_texts(1)->add_relevant_items(0);

  std::map<std::string, std::string> files;
  for (const auto& file : plain.manifest.files()) {
    const auto bytes = ReadFile(plain.FilePath(file.path()), file.byte_count());
    REQUIRE(bytes.ok());
    files[file.path()] = *bytes;
  }
  files[std::string(kProbesFile)] = SerializeProbes(*probes);
  const auto bundle = WriteModelBundle(other.path(), plain.manifest, files);
  REQUIRE(bundle.status() == absl::OkStatus());

  const PrecisionReport report = Measured(*bundle, absl::InfiniteDuration());
  CHECK(!report.drawn());
  CHECK(report.labelled_text_count() == 1);
  // Each score is what the model says of that text and that item.
  const auto text = TextFeatures(**model, probes->texts(2).text());
  const ItemFeatures item = FeaturesOf(probes->items(5));
  const ScoringPair pair{&*text, &item};
  const auto score = (*model)->cross_encoder()->Score(absl::MakeConstSpan(&pair, 1), kCall);
  REQUIRE(score.ok());
  const int place = 2 * probes->items_size() + 5;
  CHECK(report.results(0).pairs().scores(place) == Approx(score->front()).margin(1e-5));
}

TEST_CASE("where a text takes long it is scored against fewer items, of all precisions the same") {
  for (const TinyFamily& one : TinyFamilies()) {
    if (!one.manifest.has_transformer() || !one.manifest.has_cross_encoder()) continue;
    TempDir dir;
    const ModelBundle bundle = MakeTinyBundle(dir.path(), one);
    // The least that there may be takes a tick of the clock.
    CHECK(Measured(bundle, absl::Seconds(1)).item_count() == kLeastProbeItems);
    CHECK(Measured(bundle, absl::Seconds(5.5)).item_count() == 22);
    CHECK(Measured(bundle, absl::Hours(1)).item_count() == 24);
    return;
  }
  FAIL("no family to measure");
}

TEST_CASE("float32 stops when its time is up, and the others score as many texts") {
  for (const TinyFamily& one : TinyFamilies()) {
    if (!one.manifest.has_transformer() || !one.manifest.has_cross_encoder()) continue;
    TempDir dir;
    // A text takes two ticks of the clock, and is begun as long as six have not passed.
    const PrecisionReport report = Measured(MakeTinyBundle(dir.path(), one), absl::Seconds(6));
    for (const auto& result : report.results()) {
      CHECK(result.pairs().scores_size() / report.item_count() == 3);
    }
    return;
  }
  FAIL("no family to measure");
}

TEST_CASE("who does not want it any more is not kept waiting") {
  for (const TinyFamily& one : TinyFamilies()) {
    if (!one.manifest.has_transformer()) continue;
    TempDir dir;
    const ModelBundle bundle = MakeTinyBundle(dir.path(), one);
    ComputePool pool(1);
    const CallContext call = kCall.Child();
    call.cancellation()->Cancel();
    CHECK(absl::IsCancelled(
        Calibrate(bundle, {&pool, Clock::Real(), absl::Seconds(5)}, call).status()));
    return;
  }
  FAIL("no family to measure");
}

}  // namespace
}  // namespace sightline
