// Where what is asked becomes a model's tensors, and its tensors answers again: no family knows on
// which device it computes.  (Weights and pictures come to it by weights.h and pictures.h beside
// this; a script is loaded to the device by torchscript/.)
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_TENSOR_GATE_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_TENSOR_GATE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/bundle/item_features.h"
#include "common/device/pass_watch.h"
#include "common/models/inputs/feature_tensors.h"

namespace sightline {

// Token ids of one text.
using TokenSpan = absl::Span<const int32_t>;

// Rows of one item: a tensor on the model's device, or item features as they are stored, of which
// nothing has been copied.  A value.
class ItemRows {
 public:
  // rows x H of float32, or token ids, L of int64.
  ItemRows(at::Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT: parts are listed
  // `stored` has been checked (RequireTensor, RequireRows), and outlives the object.
  ItemRows(const StoredRows& stored) : stored_(stored) {}  // NOLINT

  int64_t count() const { return is_stored() ? stored_.rows->rows : tensor_.size(0); }
  int64_t columns() const { return is_stored() ? stored_.rows->columns : tensor_.size(1); }
  bool is_stored() const { return stored_.rows != nullptr; }
  // The one that it is.
  const StoredRows& stored() const { return stored_; }
  const at::Tensor& tensor() const { return tensor_; }

 private:
  StoredRows stored_;
  at::Tensor tensor_;
};

// Immutable and thread-safe; a value.
class TensorGate {
 public:
  TensorGate() = default;
  // `passes` is told of what LibTorch computes on the device; null: nobody is.
  explicit TensorGate(at::Device device, std::shared_ptr<device::PassWatch> passes = nullptr)
      : device_(device), passes_(std::move(passes)) {}

  at::Device device() const { return device_; }
  device::PassWatch* passes() const { return passes_.get(); }

  // In: on the model's device.

  // Any tensor of the CPU's memory.
  at::Tensor In(const at::Tensor& tensor) const { return tensor.to(device_); }
  // As int64, L.
  at::Tensor Ids(TokenSpan ids) const;
  // As rows of `columns` numbers.  On the CPU nothing is copied: `values` must outlive the
  // result, which is only to be read.
  at::Tensor Rows(const std::vector<float>& values, int64_t columns) const;
  // A tensor as it is; of stored features int64 ids, L, or float32 rows, which are copied, but for
  // those that are stored so (as above).  For who computes with them himself: an executor reads
  // ItemRows as they are.
  at::Tensor Tensor(const ItemRows& rows) const;
  at::Tensor Zeros(at::IntArrayRef shape, at::ScalarType type = at::kFloat) const;

  // Out: in the CPU's memory, row after row.

  // float32.
  static at::Tensor Out(const at::Tensor& tensor);
  static std::vector<float> Floats(const at::Tensor& tensor);
  // As an exact item feature: of integers, L, a column of int32; of fractions rows of float32.
  static FeatureTensor ToFeature(std::string name, const at::Tensor& rows);

 private:
  at::Device device_ = at::kCPU;
  std::shared_ptr<device::PassWatch> passes_;
};

// The token ids of a tensor that RequireTensor has found to be of int32.
std::vector<int32_t> IdsOf(const FeatureTensor& tensor);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_TENSOR_GATE_H_
