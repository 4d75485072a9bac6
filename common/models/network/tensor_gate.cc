#include "common/models/network/tensor_gate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace sightline {
namespace {

at::ScalarType ScalarTypeOf(Dtype dtype) {
  return dtype == Dtype::kInt8 ? at::kChar : dtype == Dtype::kFloat16 ? at::kHalf : at::kFloat;
}

// from_blob wants mutable pointers; nobody writes.
at::Tensor View(const FeatureTensor& tensor) {
  return at::from_blob(const_cast<char*>(tensor.bytes.data()), {tensor.rows, tensor.columns},
                       ScalarTypeOf(tensor.dtype));
}

}  // namespace

at::Tensor TensorGate::Ids(TokenSpan ids) const {
  const at::Tensor tensor = at::empty({static_cast<int64_t>(ids.size())}, at::kLong);
  std::copy(ids.begin(), ids.end(), tensor.data_ptr<int64_t>());
  return In(tensor);
}

at::Tensor TensorGate::Rows(const std::vector<float>& values, int64_t columns) const {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  return In(at::from_blob(const_cast<float*>(values.data()), {rows, columns}));
}

at::Tensor TensorGate::Tensor(const ItemRows& item) const {
  if (!item.is_stored()) return item.tensor();
  const StoredRows& stored = item.stored();
  if (stored.rows->dtype == Dtype::kInt32) return Ids(IdsOf(*stored.rows));
  // To a device they travel as they are.
  const at::Tensor rows = In(View(*stored.rows)).to(at::kFloat);
  return stored.scales == nullptr ? rows : rows * In(View(*stored.scales));
}

at::Tensor TensorGate::Zeros(at::IntArrayRef shape, at::ScalarType type) const {
  return at::zeros(shape, at::TensorOptions().dtype(type).device(device_));
}

at::Tensor TensorGate::Out(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kFloat).contiguous();
}

std::vector<float> TensorGate::Floats(const at::Tensor& tensor) {
  const at::Tensor stored = Out(tensor);
  const float* data = stored.data_ptr<float>();
  return std::vector<float>(data, data + stored.numel());
}

FeatureTensor TensorGate::ToFeature(std::string name, const at::Tensor& rows) {
  const bool ids = at::isIntegralType(rows.scalar_type(), /*includeBool=*/false);
  const at::Tensor values = rows.to(ids ? at::kInt : at::kFloat).to(at::kCPU).contiguous();
  FeatureTensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = ids ? Dtype::kInt32 : Dtype::kFloat32;
  tensor.rows = values.size(0);
  tensor.columns = ids ? 1 : values.size(1);
  tensor.bytes.assign(static_cast<const char*>(values.data_ptr()), values.nbytes());
  return tensor;
}

std::vector<int32_t> IdsOf(const FeatureTensor& tensor) {
  std::vector<int32_t> ids(tensor.rows);
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), reinterpret_cast<char*>(ids.data()));
  return ids;
}

}  // namespace sightline
