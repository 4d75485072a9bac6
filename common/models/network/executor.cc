#include "common/models/network/executor.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/models/network/reference_executor.h"

namespace sightline {
namespace {

struct ExecutorKind {
  const char* device;
  const char* precision;
  std::unique_ptr<const TransformerExecutor> (*make)(BertEncoder encoder);
};

// All that there are, a line each.
constexpr ExecutorKind kExecutors[] = {
    {"cpu", "float32", &NewReferenceExecutor},
};

absl::Status NoExecutor(const Execution& execution) {
  std::vector<std::string> known;
  for (const ExecutorKind& kind : kExecutors) {
    known.push_back(absl::StrCat(kind.precision, " on ", kind.device));
  }
  return absl::InvalidArgumentError(absl::StrCat("nothing computes in ", execution.precision,
                                                 " on ", execution.device, "; there is ",
                                                 absl::StrJoin(known, ", ")));
}

}  // namespace

at::Tensor MeanOfEach(const TransformerExecutor& executor, PackedRows packed) {
  const std::vector<int64_t> lengths = packed.lengths;
  return MeanOfEach(executor.Run(std::move(packed), Readout::kAllRows), lengths);
}

absl::StatusOr<TensorGate> GateOf(const Execution& execution) {
  for (const ExecutorKind& kind : kExecutors) {
    if (kind.device == execution.device) return TensorGate(at::Device(execution.device));
  }
  return NoExecutor(execution);
}

absl::StatusOr<std::unique_ptr<const TransformerExecutor>> NewExecutor(BertEncoder encoder,
                                                                       const Execution& execution) {
  for (const ExecutorKind& kind : kExecutors) {
    if (kind.device == execution.device && kind.precision == execution.precision) {
      return kind.make(std::move(encoder));
    }
  }
  return NoExecutor(execution);
}

absl::Status CheckUnchosenPrecision(const Execution& execution) {
  if (execution.precision == Execution().precision) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a model without transformer blocks computes in ",
                                                 Execution().precision, " alone, not in ",
                                                 execution.precision));
}

}  // namespace sightline
