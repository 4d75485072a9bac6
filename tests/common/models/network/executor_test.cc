#include "common/models/network/executor.h"

#include <torch/types.h>

#include <string>

#include "absl/strings/match.h"
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
  return BertEncoder(config);
}

TEST_CASE(
    "the executor of a device and a precision is found, and runs the blocks that it was given") {
  BertEncoder encoder = SmallEncoder();
  const auto executor = NewExecutor(encoder, Execution());
  REQUIRE(executor.ok());
  REQUIRE_FALSE(encoder->is_training());
  const torch::NoGradGuard no_autograd;
  PackedRows packed;
  packed.lengths = {3, 2};
  packed.rows = torch::randn({5, 8});
  const torch::Tensor rows = (*executor)->Run(packed, Readout::kAllRows);
  REQUIRE(torch::equal(rows, encoder->ForwardPacked(packed, Readout::kAllRows)));
  REQUIRE(torch::equal((*executor)->Run(packed, Readout::kFirstRows),
                       encoder->ForwardPacked(packed, Readout::kFirstRows)));
  REQUIRE(torch::equal(MeanOfEach(**executor, packed), MeanOfEach(rows, packed.lengths)));
}

TEST_CASE("an execution that there is not is refused with those that there are") {
  for (const Execution& execution : {Execution{"tpu", "float32"}, Execution{"cpu", "int3"}}) {
    const absl::Status status = NewExecutor(SmallEncoder(), execution).status();
    INFO(status);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), execution.precision + " on " + execution.device));
    REQUIRE(absl::StrContains(status.message(), "there is float32 on cpu"));
  }
  REQUIRE(absl::IsInvalidArgument(GateOf({"tpu", "float32"}).status()));
  REQUIRE(GateOf(Execution())->device() == torch::kCPU);
  REQUIRE(CheckUnchosenPrecision(Execution()).ok());
  REQUIRE(absl::IsInvalidArgument(CheckUnchosenPrecision({"cpu", "int3"})));
}

}  // namespace
}  // namespace sightline
