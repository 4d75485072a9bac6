#include "common/models/network/executor.h"

#include <torch/types.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "common/models/inference.h"
#include "common/models/inputs/stored_features.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

BertEncoder SmallEncoder() {
  BertConfig config;
  config.layer_count = 2;
  config.hidden_size = 8;
  config.head_count = 2;
  config.intermediate_size = 16;
  torch::manual_seed(1);
  BertEncoder encoder(config);
  encoder->eval();
  return encoder;
}

PackedRows SmallBatch() {
  PackedRows packed;
  packed.lengths = {3, 2};
  torch::manual_seed(2);
  packed.rows = torch::randn({5, 8});
  return packed;
}

PackedParts PartsOf(const PackedRows& packed) {
  return {{packed.rows}, packed.lengths, packed.key_bias};
}

double Farthest(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST_CASE("the executor of each precision runs the blocks that it was given") {
  const torch::NoGradGuard no_autograd;
  for (const std::string& precision : PrecisionsOfThisCpu()) {
    INFO(precision);
    const double bound = precision == "float32" ? 2e-6 : precision == "bfloat16" ? 0.03 : 0.08;
    const auto executor = NewExecutor(SmallEncoder(), {"cpu", precision}, /*pool=*/nullptr);
    REQUIRE(executor.ok());
    BertEncoder reference = SmallEncoder();
    PackedRows packed = SmallBatch();
    for (const bool has_bias : {false, true}) {
      if (has_bias) packed.key_bias = torch::randn({5});
      const torch::Tensor rows = (*executor)->Run(PartsOf(packed), Readout::kAllRows);
      REQUIRE(Farthest(rows, reference->ForwardPacked(packed, Readout::kAllRows)) < bound);
      REQUIRE(Farthest((*executor)->Run(PartsOf(packed), Readout::kFirstRows),
                       reference->ForwardPacked(packed, Readout::kFirstRows)) < bound);
      REQUIRE(
          torch::equal((*executor)->RunMeans(PartsOf(packed)), MeanOfEach(rows, packed.lengths)));
    }
  }
}

TEST_CASE("what is run is not changed, and rows may be any view") {
  const torch::NoGradGuard no_autograd;
  const auto executor = NewExecutor(SmallEncoder(), Execution(), /*pool=*/nullptr);
  REQUIRE(executor.ok());
  PackedRows packed = SmallBatch();
  const torch::Tensor rows = packed.rows.clone();
  const torch::Tensor expected = (*executor)->Run(PartsOf(packed), Readout::kAllRows);
  REQUIRE(torch::equal(packed.rows, rows));
  packed.rows = rows.t().contiguous().t();
  REQUIRE(torch::equal((*executor)->Run(PartsOf(packed), Readout::kAllRows), expected));
}

TEST_CASE("item features are read as they are stored, to the same bits") {
  const torch::NoGradGuard no_autograd;
  const TensorGate gate;
  torch::manual_seed(3);
  const torch::Tensor text = torch::randn({2, 8});
  const FeatureTensor exact = TensorGate::ToFeature("rows", torch::randn({3, 8}));
  for (const std::string& precision : PrecisionsOfThisCpu()) {
    const auto executor = NewExecutor(SmallEncoder(), {"cpu", precision}, /*pool=*/nullptr);
    REQUIRE(executor.ok());
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8}) {
      INFO(precision << " of " << DtypeName(dtype));
      const ItemFeatures stored = *StoredAs(dtype, {{exact}});
      const StoredRows image{stored.Find("rows"), stored.Find("rows_scales")};
      const PackedParts packed = Pack({{text, image}, {image}, {image, text}});
      REQUIRE(packed.lengths == std::vector<int64_t>{5, 3, 5});
      const PackedParts joined = PartsOf(Joined(packed, gate));
      REQUIRE(joined.parts[0].count() == 13);
      for (const Readout readout : {Readout::kAllRows, Readout::kFirstRows}) {
        REQUIRE(torch::equal((*executor)->Run(packed, readout), (*executor)->Run(joined, readout)));
      }
    }
  }
}

TEST_CASE("on a device, too, it runs the blocks that it was given, as rows are stored") {
  const torch::NoGradGuard no_autograd;
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  for (const char* precision : kernels::kStackPrecisions) {
    INFO(precision);
    const double bound = std::string(precision) == "float32" ? 2e-6 : 0.03;
    const auto executor = NewExecutor(SmallEncoder(), {"cuda:0", precision, devices}, nullptr);
    REQUIRE(executor.ok());
    BertEncoder reference = SmallEncoder();
    PackedRows packed = SmallBatch();
    packed.key_bias = torch::randn({5});
    const torch::Tensor rows = reference->ForwardPacked(packed, Readout::kAllRows);
    REQUIRE(Farthest((*executor)->Run(PartsOf(packed), Readout::kAllRows), rows) < bound);
    REQUIRE(Farthest((*executor)->Run(PartsOf(packed), Readout::kFirstRows),
                     reference->ForwardPacked(packed, Readout::kFirstRows)) < bound);
    REQUIRE(Farthest((*executor)->RunMeans(PartsOf(packed)), MeanOfEach(rows, packed.lengths)) <
            bound);
    const FeatureTensor exact = TensorGate::ToFeature("rows", torch::randn({3, 8}));
    const ItemFeatures stored = *StoredAs(Dtype::kInt8, {{exact}});
    const StoredRows image{stored.Find("rows"), stored.Find("rows_scales")};
    const PackedParts parts = Pack({{torch::randn({2, 8}), image}, {image}});
    REQUIRE(
        torch::equal((*executor)->Run(parts, Readout::kAllRows),
                     (*executor)->Run(PartsOf(Joined(parts, TensorGate())), Readout::kAllRows)));
  }
}

TEST_CASE("a device that cannot hold a stack is told of, and one that fails throws its status") {
  const torch::NoGradGuard no_autograd;
  const auto small = std::make_shared<const kernels::HostStackDevices>(/*memory_bytes=*/1000);
  REQUIRE(absl::IsResourceExhausted(
      NewExecutor(SmallEncoder(), {"cuda:0", "float32", small}, nullptr).status()));
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  REQUIRE(absl::IsUnavailable(
      NewExecutor(SmallEncoder(), {"cuda:1", "float32", devices}, nullptr).status()));
  const auto executor = NewExecutor(SmallEncoder(), {"cuda:0", "float32", devices}, nullptr);
  REQUIRE(executor.ok());
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  devices->device().Break(failure);
  const absl::Status status = RunGuarded("run", [&] {
    (*executor)->Run(PartsOf(SmallBatch()), Readout::kAllRows);
    return absl::OkStatus();
  });
  REQUIRE(status == WithPrefix(failure, "run"));
}

TEST_CASE("an executor holds the weights, once") {
  BertEncoder encoder = SmallEncoder();
  REQUIRE(NewExecutor(encoder, Execution(), /*pool=*/nullptr).ok());
  for (const torch::Tensor& parameter : encoder->parameters()) REQUIRE(parameter.numel() == 0);
  encoder = SmallEncoder();
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  REQUIRE(NewExecutor(encoder, {"cuda:0", "bfloat16", devices}, /*pool=*/nullptr).ok());
  for (const torch::Tensor& parameter : encoder->parameters()) REQUIRE(parameter.numel() == 0);
}

TEST_CASE("an execution that there is not is refused with those that there are") {
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  const absl::Status on_device =
      NewExecutor(SmallEncoder(), {"cuda:x", "float32", devices}, /*pool=*/nullptr).status();
  REQUIRE(absl::IsInvalidArgument(on_device));
  REQUIRE(absl::StrContains(on_device.message(), "bfloat16 on devices"));
  REQUIRE(absl::IsInvalidArgument(
      NewExecutor(SmallEncoder(), {"cuda:0", "int8", devices}, /*pool=*/nullptr).status()));
  for (const Execution& execution :
       {Execution{"tpu", "float32"}, Execution{"cuda:0", "float32"}, Execution{"cpu", "int3"}}) {
    const absl::Status status = NewExecutor(SmallEncoder(), execution, /*pool=*/nullptr).status();
    INFO(status);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), execution.precision + " on " + execution.device));
    REQUIRE(absl::StrContains(status.message(), "has float32 on cpu"));
    REQUIRE(absl::StrContains(status.message(), "(avx2"));
  }
  REQUIRE(absl::IsInvalidArgument(GateOf({"tpu", "float32"}).status()));
  REQUIRE(GateOf(Execution())->device() == torch::kCPU);
  REQUIRE(CheckUnchosenPrecision(Execution()).ok());
  REQUIRE(absl::IsInvalidArgument(CheckUnchosenPrecision({"cpu", "int3"})));
}

TEST_CASE("no model is loaded under a limit of the CPU that there is not") {
  const char* const found = std::getenv("SIGHTLINE_CPU");
  const std::string before = found == nullptr ? "" : found;
  setenv("SIGHTLINE_CPU", "avx3", /*overwrite=*/1);
  const absl::Status status = GateOf(Execution()).status();
  setenv("SIGHTLINE_CPU", before.c_str(), /*overwrite=*/1);
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "'avx3', which is none of avx2"));
  REQUIRE(GateOf(Execution()).ok());
}

}  // namespace
}  // namespace sightline
