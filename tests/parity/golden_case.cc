#include "tests/parity/golden_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMaxConfigInt = 1'000'000;

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

template <typename Number>
std::vector<Number> Numbers(const TensorView& view) {
  std::vector<Number> values(view.bytes.size() / sizeof(Number));
  // memcpy forbids null, even for nothing.
  if (!values.empty()) {
    std::memcpy(values.data(), view.bytes.data(), values.size() * sizeof(Number));
  }
  return values;
}

absl::Status ConfigError(absl::string_view key, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("config.json: '", key, "' must be ", wanted));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenCase>> GoldenCase::Open(absl::string_view directory,
                                                             const Execution& execution) {
  auto golden = absl::WrapUnique(new GoldenCase());
  golden->directory_ = std::string(directory);
  golden->execution_ = execution;
  ASSIGN_OR_RETURN(const std::string config, ReadFile(JoinPath(directory, "config.json")));
  golden->config_ = nlohmann::json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!golden->config_.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(JoinPath(directory, "config.json"), " is not a JSON object"));
  }
  ASSIGN_OR_RETURN(golden->weights_bytes_, ReadFile(JoinPath(directory, "weights.safetensors")));
  ASSIGN_OR_RETURN(golden->weights_, Safetensors::FromBytes(golden->weights_bytes_));
  ASSIGN_OR_RETURN(golden->case_, Safetensors::Open(JoinPath(directory, "case.safetensors")));
  return golden;
}

absl::StatusOr<const nlohmann::json*> GoldenCase::ConfigValue(absl::string_view key) const {
  const auto found = config_.find(std::string(key));
  if (found == config_.end()) return ConfigError(key, "there");
  return &*found;
}

absl::StatusOr<std::string> GoldenCase::ConfigString(absl::string_view key) const {
  ASSIGN_OR_RETURN(const nlohmann::json* value, ConfigValue(key));
  if (!value->is_string()) return ConfigError(key, "a string");
  return value->get<std::string>();
}

absl::StatusOr<int> GoldenCase::ConfigInt(absl::string_view key) const {
  ASSIGN_OR_RETURN(const nlohmann::json* value, ConfigValue(key));
  if (!value->is_number_unsigned() || value->get<uint64_t>() > kMaxConfigInt) {
    return ConfigError(key, absl::StrCat("an integer from 0 to ", kMaxConfigInt));
  }
  return value->get<int>();
}

absl::StatusOr<const TensorView*> GoldenCase::Tensor(absl::string_view name, TensorDtype dtype,
                                                     int rank) const {
  const auto found = case_->tensors().find(std::string(name));
  if (found == case_->tensors().end()) {
    return absl::NotFoundError(absl::StrCat("case.safetensors has no tensor '", name, "'"));
  }
  const TensorView& view = found->second;
  if (view.dtype != dtype || static_cast<int>(view.shape.size()) != rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "case.safetensors: '", name, "' of shape ", ShapeText(view.shape), " must have ", rank,
        " dimensions of ", dtype == TensorDtype::kF32 ? "float32" : "int64"));
  }
  return &view;
}

absl::StatusOr<FloatTensor> GoldenCase::Floats(absl::string_view name, int rank) const {
  ASSIGN_OR_RETURN(const TensorView* view, Tensor(name, TensorDtype::kF32, rank));
  return FloatTensor{view->shape, Numbers<float>(*view)};
}

absl::StatusOr<IntTensor> GoldenCase::Ints(absl::string_view name, int rank) const {
  ASSIGN_OR_RETURN(const TensorView* view, Tensor(name, TensorDtype::kI64, rank));
  return IntTensor{view->shape, Numbers<int64_t>(*view)};
}

absl::Status GoldenComparison::Add(const GoldenCase& golden, absl::string_view name,
                                   const std::vector<int64_t>& shape,
                                   absl::Span<const float> actual) {
  ASSIGN_OR_RETURN(const FloatTensor expected, golden.Floats(name, shape.size()));
  if (expected.shape != shape || expected.values.size() != actual.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is expected in shape ",
                                                   ShapeText(expected.shape), ", the model gives ",
                                                   ShapeText(shape)));
  }
  return AddNumbers(name, expected.values, actual);
}

absl::Status GoldenComparison::AddColumn(const GoldenCase& golden, absl::string_view name,
                                         int column, int columns, absl::Span<const float> actual) {
  ASSIGN_OR_RETURN(const FloatTensor expected, golden.Floats(name, 2));
  const std::vector<int64_t> shape = {static_cast<int64_t>(actual.size()), columns};
  if (expected.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is expected in shape ",
                                                   ShapeText(expected.shape), ", not ",
                                                   ShapeText(shape)));
  }
  std::vector<float> values;
  for (size_t i = 0; i < actual.size(); ++i)
    values.push_back(expected.values[i * columns + column]);
  return AddNumbers(name, values, actual);
}

absl::Status GoldenComparison::AddNumbers(absl::string_view name, absl::Span<const float> expected,
                                          absl::Span<const float> actual) {
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(expected[i])) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' at ", i, ": expected ",
                                                     expected[i], ", computed ", actual[i],
                                                     "; both must be finite"));
    }
    worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - expected[i]));
  }
  *out_ << name << ": " << worst << " over " << actual.size() << " numbers\n";
  max_abs_error_ = std::max(max_abs_error_, worst);
  count_ += actual.size();
  return absl::OkStatus();
}

}  // namespace sightline
