// Products of a device of CUDA, by cuBLASLt; for .cu files.
#ifndef SIGHTLINE_COMMON_DEVICE_CUDA_PRODUCTS_H_
#define SIGHTLINE_COMMON_DEVICE_CUDA_PRODUCTS_H_

#include <cublasLt.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/device/cuda_device.h"
#include "common/device/product.h"

namespace sightline::device {

// OK, or what cuBLASLt says.
inline absl::Status StatusOf(cublasStatus_t status, absl::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  (void)cudaGetLastError();  // or another call of this thread would be told of it
  const std::string message = absl::StrCat(what, ": cuBLASLt's status ", static_cast<int>(status));
  return status == CUBLAS_STATUS_ALLOC_FAILED ? absl::ResourceExhaustedError(message)
                                              : MakeError(reasons::kDeviceFailed, message);
}

// Of one device, which outlives it.  For one thread at a time.
class CudaProducts {
 public:
  static absl::StatusOr<CudaProducts> Open(CudaDevice* device) {
    CudaProducts products;
    // Also has the library find the device current.
    ASSIGN_OR_RETURN(void* const workspace, device->Allocate(kWorkspaceBytes));
    products.workspace_ = {workspace,
                           [device](void* memory) { device->Free(memory, kWorkspaceBytes); }};
    cublasLtHandle_t handle = nullptr;
    RETURN_IF_ERROR(StatusOf(cublasLtCreate(&handle), "opening cuBLASLt"));
    products.handle_.reset(handle);
    return products;
  }

  template <typename Number>
  absl::Status Multiply(CudaDevice* device, const DeviceProduct<Number>& product) {
    constexpr cudaDataType_t type = std::is_same_v<Number, float> ? CUDA_R_32F : CUDA_R_16BF;
    const Shape shape = {type,          type, true, product.rows, product.inputs, product.outputs,
                         product.inputs};
    return Multiply(device, shape, product.in, product.weights, product.bias, product.out);
  }

  absl::Status Multiply(CudaDevice* device, const HalfProduct& product) {
    const Shape shape = {CUDA_R_16F,        CUDA_R_32F,      false,
                         product.row_count, product.numbers, product.query_count,
                         product.row_stride};
    return Multiply(device, shape, product.rows, product.queries, nullptr, product.out);
  }

 private:
  // Of every matrix, in bytes.
  static constexpr uint32_t kAlignment = 16;

  struct Deleter {
    void operator()(cublasLtHandle_t handle) const { (void)cublasLtDestroy(handle); }
    void operator()(cublasLtMatmulDesc_t product) const {
      (void)cublasLtMatmulDescDestroy(product);
    }
    void operator()(cublasLtMatrixLayout_t matrix) const {
      (void)cublasLtMatrixLayoutDestroy(matrix);
    }
    void operator()(cublasLtMatmulPreference_t preference) const {
      (void)cublasLtMatmulPreferenceDestroy(preference);
    }
  };
  template <typename Handle>
  using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Deleter>;

  // Of products of one shape.
  struct Plan {
    Owned<cublasLtMatmulDesc_t> product;
    Owned<cublasLtMatrixLayout_t> weights, in, out;
    cublasLtMatmulAlgo_t algorithm;
  };

  struct Shape {
    cudaDataType_t in, out;
    bool has_bias;
    int rows, inputs, outputs;
    int64_t stride;  // from row to row

    bool operator<(const Shape& other) const {
      return std::tie(in, out, has_bias, rows, inputs, outputs, stride) <
             std::tie(other.in, other.out, other.has_bias, other.rows, other.inputs, other.outputs,
                      other.stride);
    }
  };

  CudaProducts() = default;

  absl::Status Multiply(CudaDevice* device, const Shape& shape, const void* in, const void* weights,
                        const void* bias, void* out) {
    ASSIGN_OR_RETURN(const Plan* const plan, PlanOf(shape, bias));
    if (bias != nullptr) {
      RETURN_IF_ERROR(SetAttribute(plan->product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
    }
    const float one = 1, zero = 0;
    return StatusOf(
        cublasLtMatmul(handle_.get(), plan->product.get(), &one, weights, plan->weights.get(), in,
                       plan->in.get(), &zero, out, plan->out.get(), out, plan->out.get(),
                       &plan->algorithm, workspace_.get(), kWorkspaceBytes, device->stream()),
        "multiplying");
  }

  absl::StatusOr<const Plan*> PlanOf(const Shape& shape, const void* bias) {
    const auto known = plans_.find(shape);
    if (known != plans_.end()) return &known->second;
    ASSIGN_OR_RETURN(Plan plan, MakePlan(shape, bias));
    return &plans_.emplace(shape, std::move(plan)).first->second;
  }

  // cuBLASLt's matrices are column by column.  So `out`, read as its transpose, is the transpose of
  // weights, as they are read, times `in`.
  absl::StatusOr<Plan> MakePlan(const Shape& shape, const void* bias) const {
    Plan plan;
    cublasLtMatmulDesc_t description = nullptr;
    RETURN_IF_ERROR(StatusOf(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                             "describing a product"));
    plan.product.reset(description);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    RETURN_IF_ERROR(SetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, transposed));
    if (shape.has_bias) {
      const cublasLtEpilogue_t with_bias = CUBLASLT_EPILOGUE_BIAS;
      RETURN_IF_ERROR(SetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, with_bias));
      RETURN_IF_ERROR(SetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, shape.out));
      // Without it no algorithm is sure to fit.
      RETURN_IF_ERROR(SetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
    }
    ASSIGN_OR_RETURN(plan.weights, Matrix(shape.in, shape.inputs, shape.outputs, shape.inputs));
    ASSIGN_OR_RETURN(plan.in, Matrix(shape.in, shape.inputs, shape.rows, shape.stride));
    ASSIGN_OR_RETURN(plan.out, Matrix(shape.out, shape.outputs, shape.rows, shape.outputs));
    ASSIGN_OR_RETURN(plan.algorithm, BestAlgorithm(plan));
    return plan;
  }

  template <typename Value>
  static absl::Status SetAttribute(cublasLtMatmulDesc_t description,
                                   cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    return StatusOf(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)),
                    "describing a product");
  }

  static absl::StatusOr<Owned<cublasLtMatrixLayout_t>> Matrix(cudaDataType_t type, int rows,
                                                              int columns, int64_t stride) {
    cublasLtMatrixLayout_t matrix = nullptr;
    RETURN_IF_ERROR(StatusOf(cublasLtMatrixLayoutCreate(&matrix, type, rows, columns, stride),
                             "describing a matrix"));
    return Owned<cublasLtMatrixLayout_t>(matrix);
  }

  absl::StatusOr<cublasLtMatmulAlgo_t> BestAlgorithm(const Plan& plan) const {
    cublasLtMatmulPreference_t created = nullptr;
    RETURN_IF_ERROR(StatusOf(cublasLtMatmulPreferenceCreate(&created), "choosing an algorithm"));
    const Owned<cublasLtMatmulPreference_t> preference(created);
    const size_t workspace = kWorkspaceBytes;
    RETURN_IF_ERROR(StatusOf(
        cublasLtMatmulPreferenceSetAttribute(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace, sizeof(workspace)),
        "choosing an algorithm"));
    // Rows of a product may begin in the middle of what was reserved; without this the library
    // takes them to lie as that does.
    const uint32_t alignment = kAlignment;
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      RETURN_IF_ERROR(StatusOf(
          cublasLtMatmulPreferenceSetAttribute(created, attribute, &alignment, sizeof(alignment)),
          "choosing an algorithm"));
    }
    // Sums of parts of a product are float32, too.
    const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    RETURN_IF_ERROR(StatusOf(
        cublasLtMatmulPreferenceSetAttribute(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                             &reduction, sizeof(reduction)),
        "choosing an algorithm"));
    cublasLtMatmulHeuristicResult_t best = {};
    int count = 0;
    RETURN_IF_ERROR(
        StatusOf(cublasLtMatmulAlgoGetHeuristic(handle_.get(), plan.product.get(),
                                                plan.weights.get(), plan.in.get(), plan.out.get(),
                                                plan.out.get(), created, 1, &best, &count),
                 "choosing an algorithm"));
    if (count == 0) return StatusOf(CUBLAS_STATUS_NOT_SUPPORTED, "choosing an algorithm");
    return best.algo;
  }

  Owned<cublasLtHandle_t> handle_;
  std::unique_ptr<void, std::function<void(void*)>> workspace_;
  std::map<Shape, Plan> plans_;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_CUDA_PRODUCTS_H_
