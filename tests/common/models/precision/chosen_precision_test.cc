#include "common/models/precision/chosen_precision.h"

#include "common/base/compute_pool.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/model_probes.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/precision/agreement.h"
#include "common/models/precision/report.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

struct Rig {
  PrecisionOptions Options(const std::string& precision) const {
    PrecisionOptions options;
    options.policy.precision = precision;
    options.policy.least_agreement = 0;
    options.state_dir = state.path();
    return options;
  }
  absl::StatusOr<PrecisionChoice> Choice(const PrecisionOptions& options) {
    return ChosenPrecision(bundle, options, Execution(), nullptr, kCall);
  }

  TempDir store, state;
  const ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
};

// Turns round what int8 says of the first texts, from float32's order.
void Reverse(int texts, bundle::v1::PrecisionReport* report) {
  const int items = report->item_count();
  const auto& reference = report->results(0).pairs().scores();
  for (auto& result : *report->mutable_results()) {
    if (result.precision() != "int8") continue;
    auto& pairs = *result.mutable_pairs();
    for (int i = 0; i < texts * items; ++i) pairs.set_scores(i, -reference[i]);
    *pairs.mutable_agreement() = Compare(reference, pairs.scores(), items,
                                         std::vector<std::vector<int>>(reference.size() / items));
  }
}

TEST_CASE("on a device its own precisions are measured, and kept under its name") {
  Rig rig;
  const Execution on_device = {"cuda:0", "float32",
                               std::make_shared<const kernels::HostStackDevices>()};
  const auto choose = [&](const std::string& precision) {
    return ChosenPrecision(rig.bundle, rig.Options(precision), on_device, nullptr, kCall);
  };
  CHECK(choose("float32")->precision == "float32");
  const auto bfloat16 = choose("bfloat16");
  REQUIRE(bfloat16.status() == absl::OkStatus());
  CHECK(bfloat16->precision == "bfloat16");
  CHECK(choose("fastest").ok());
  const absl::Status missing = choose("int8").status();
  CHECK(HasReason(missing, reasons::kPrecisionMissing));
  CHECK_THAT(std::string(missing.message()), Catch::Contains("float32 or bfloat16"));
  const std::vector<std::string> kept = {ReportFolder(rig.state.path())};
  CHECK(absl::IsNotFound(FindReport(kept, KeyHere(rig.bundle.id)).status()));
  const auto report = FindReport(kept, KeyHere(rig.bundle.id, "Host"));
  REQUIRE(report.status() == absl::OkStatus());
  REQUIRE(report->results_size() == 2);
  CHECK(report->results(0).precision() == "float32");
  CHECK(report->results(1).precision() == "bfloat16");
  CHECK(report->results(1).kernel() == "Host");
}

TEST_CASE("what a device lacks for a moment is no report") {
  Rig rig;
  // For float32, and nothing beside it.
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  const Execution on_device = {"cuda:0", "float32", devices};
  devices->device().Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
  const auto choose = [&] {
    return ChosenPrecision(rig.bundle, rig.Options("bfloat16"), on_device, nullptr, kCall);
  };
  CHECK(HasReason(choose().status(), reasons::kDeviceFailed));
  CHECK(absl::IsNotFound(
      FindReport({ReportFolder(rig.state.path())}, KeyHere(rig.bundle.id, "Host")).status()));
  devices->device().Break(absl::OkStatus());
  CHECK(choose()->precision == "bfloat16");
}

TEST_CASE("what is measured is kept, and the next start takes it") {
  Rig rig;
  const PrecisionOptions options = rig.Options("int8");
  const auto first = rig.Choice(options);
  REQUIRE(first.status() == absl::OkStatus());
  CHECK(first->precision == "int8");
  auto report = FindReport({ReportFolder(rig.state.path())}, KeyHere(rig.bundle.id));
  REQUIRE(report.status() == absl::OkStatus());
  // Orders that no model gives show who is asked.
  Reverse(1, &*report);
  REQUIRE(WriteReport(ReportFolder(rig.state.path()), *report) == absl::OkStatus());
  const double kept = rig.Choice(options)->agreement;
  CHECK(kept < first->agreement);

  PrecisionOptions shipped = options;
  shipped.reports = rig.store.path();
  Reverse(report->results(0).pairs().scores_size() / report->item_count(), &*report);
  REQUIRE(WriteReport(shipped.reports, *report) == absl::OkStatus());
  CHECK(rig.Choice(shipped)->agreement < kept);

  PrecisionOptions strict = shipped;
  strict.policy.least_agreement = 0.98;
  CHECK(HasReason(rig.Choice(strict).status(), reasons::kPrecisionTooFar));
}

TEST_CASE("an idle pool measures, and without one a thread of its own does") {
  for (const int threads : {1, 3}) {
    Rig rig;
    ComputePool idle(threads);
    ComputePool* const pool = threads == 1 ? nullptr : &idle;
    REQUIRE(ChosenPrecision(rig.bundle, rig.Options("fastest"), Execution(), pool, kCall).ok());
    const auto report = FindReport({ReportFolder(rig.state.path())}, KeyHere(rig.bundle.id));
    REQUIRE(report.ok());
    CHECK(report->thread_count() == threads);
  }
}

TEST_CASE("named float32 is measured by nobody") {
  Rig rig;
  const auto choice = rig.Choice(rig.Options("float32"));
  REQUIRE(choice.status() == absl::OkStatus());
  CHECK(choice->precision == "float32");
  CHECK(choice->agreement == 1);
  CHECK(!FileExists(ReportFolder(rig.state.path())));
}

TEST_CASE("a state_dir that cannot be written costs a measurement a start, and no more") {
  Rig rig;
  PrecisionOptions options = rig.Options("fastest");
  options.state_dir = "/proc/nowhere";
  CHECK(rig.Choice(options).status() == absl::OkStatus());
}

TEST_CASE("what cannot be measured is float32 where nothing is named, else a refusal of that") {
  Rig rig;
  std::map<std::string, std::string> files;
  for (const auto& file : rig.bundle.manifest.files()) {
    files[file.path()] = *ReadFile(rig.bundle.FilePath(file.path()), file.byte_count());
  }
  files[std::string(kProbesFile)] = "no probes";
  TempDir store;
  const auto bundle = WriteModelBundle(store.path(), rig.bundle.manifest, files);
  REQUIRE(bundle.status() == absl::OkStatus());
  const auto fastest =
      ChosenPrecision(*bundle, rig.Options("fastest"), Execution(), nullptr, kCall);
  REQUIRE(fastest.status() == absl::OkStatus());
  CHECK(fastest->precision == "float32");
  CHECK(
      HasReason(ChosenPrecision(*bundle, rig.Options("int8"), Execution(), nullptr, kCall).status(),
                reasons::kPrecisionMissing));
  // Who does not wait for it any more is told so, and no choice is made for him.
  const CallContext call = kCall.Child();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(
      ChosenPrecision(*bundle, rig.Options("fastest"), Execution(), nullptr, call).status()));
}

TEST_CASE("a precision that this CPU lacks is refused before anything is measured") {
  if (kernels::KernelFor("bfloat16", kernels::ThisCpu()) != nullptr) {
    WARN("this CPU has every precision; SIGHTLINE_CPU=avx2 shows the refusal");
    return;
  }
  Rig rig;
  CHECK(HasReason(rig.Choice(rig.Options("bfloat16")).status(), reasons::kPrecisionMissing));
  CHECK(!FileExists(ReportFolder(rig.state.path())));
}

}  // namespace
}  // namespace sightline
