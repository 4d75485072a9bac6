// A golden folder: a tiny model and what its reference implementation computed with it.
//
//   config.json          sizes
//   weights.safetensors  key names as in the family's checkpoints
//   case.safetensors     inputs and expected outputs
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_CASE_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_CASE_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/formats/safetensors.h"
#include "common/models/execution.h"
#include "nlohmann/json.hpp"

namespace sightline {

// A tensor of the case, as numbers.
struct FloatTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
struct IntTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;
};

class GoldenCase {
 public:
  // `execution` is how its model computes.  Errors name the file.
  static absl::StatusOr<std::unique_ptr<GoldenCase>> Open(absl::string_view directory,
                                                          const Execution& execution = {});

  const std::string& directory() const { return directory_; }
  const Execution& execution() const { return execution_; }
  const std::string& weights_bytes() const { return weights_bytes_; }

  // Values of config.json.  InvalidArgument if missing, of another type, or (integers)
  // outside 0 to a million.
  absl::StatusOr<std::string> ConfigString(absl::string_view key) const;
  absl::StatusOr<int> ConfigInt(absl::string_view key) const;

  // Tensors of the case.  NotFound if missing, InvalidArgument for another dtype or rank.
  absl::StatusOr<FloatTensor> Floats(absl::string_view name, int rank) const;
  absl::StatusOr<IntTensor> Ints(absl::string_view name, int rank) const;

 private:
  GoldenCase() = default;
  absl::StatusOr<const nlohmann::json*> ConfigValue(absl::string_view key) const;
  absl::StatusOr<const TensorView*> Tensor(absl::string_view name, TensorDtype dtype,
                                           int rank) const;

  std::string directory_;
  Execution execution_;
  nlohmann::json config_;
  std::string weights_bytes_;
  std::unique_ptr<Safetensors> weights_;
  std::unique_ptr<Safetensors> case_;
};

// Adds up how far computed numbers lie from expected ones.
class GoldenComparison {
 public:
  // Notes each tensor's result on `out`, which outlives the object.
  explicit GoldenComparison(std::ostream* out) : out_(out) {}

  // Compares `actual` with the case's tensor `name` of `shape`.  NotFound if that tensor
  // is missing; InvalidArgument if its shape differs or either side holds a number that
  // is not finite.
  absl::Status Add(const GoldenCase& golden, absl::string_view name,
                   const std::vector<int64_t>& shape, absl::Span<const float> actual);

  // Compares `actual` with column `column` of the case's tensor `name`, which has `columns`.
  absl::Status AddColumn(const GoldenCase& golden, absl::string_view name, int column, int columns,
                         absl::Span<const float> actual);

  double max_abs_error() const { return max_abs_error_; }
  int64_t count() const { return count_; }

 private:
  absl::Status AddNumbers(absl::string_view name, absl::Span<const float> expected,
                          absl::Span<const float> actual);

  std::ostream* const out_;
  double max_abs_error_ = 0;
  int64_t count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_CASE_H_
