// What a family expects of a checkpoint's tensors, compared with what is there.
//
//   TensorPlan plan(std::move(tensors));                   // under canonical names
//   const BertSizes sizes = MeasureBert(plan, "bert.");    // from the shapes
//   ExpectBertTrunk("bert.", sizes, &plan);
//   ASSIGN_OR_RETURN(NamedTensors checked, plan.Match("oscar"));
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_TENSOR_PLAN_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_TENSOR_PLAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/models/convert/checkpoint.h"

namespace sightline {

class TensorPlan {
 public:
  explicit TensorPlan(NamedTensors found) : found_(std::move(found)) {}

  bool Has(absl::string_view name) const { return found_.count(std::string(name)) != 0; }

  // Extent of dimension `dim` of `name`, from which other shapes follow.  0 if the tensor
  // is not there or has no such dimension, which Match tells.
  int64_t Extent(absl::string_view name, size_t dim) const;

  // One more than the largest N of names that begin with `prefix`, N and a dot; at most 64.
  int64_t CountIndexed(absl::string_view prefix) const;

  // A tensor that has to be there.  An extent of 0, one that could not be measured, fits
  // any.
  void Expect(const std::string& name, std::vector<int64_t> shape);
  // <prefix>weight [out, in] and <prefix>bias [out].
  void ExpectLinear(const std::string& prefix, int64_t in, int64_t out);
  // <prefix>weight and <prefix>bias, [size].
  void ExpectNorm(const std::string& prefix, int64_t size);

  // The tensors, all as expected.  InvalidArgument otherwise, with every tensor that is
  // missing, unexpected, of another shape (both shapes), or of integers.
  absl::StatusOr<NamedTensors> Match(absl::string_view family) const;

 private:
  const NamedTensors found_;
  std::map<std::string, std::vector<int64_t>> expected_;
};

// `tensors` under the names that `rename` gives; those that it gives none are left out.
// InvalidArgument if two come to one name.
absl::StatusOr<NamedTensors> Renamed(
    const NamedTensors& tensors, const std::function<std::string(absl::string_view name)>& rename);

// Sizes of a BERT, 0 where a tensor that tells one is missing.
struct BertSizes {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t vocabulary = 0;
  int64_t positions = 0;
  int64_t types = 0;
};

// From <prefix>embeddings.* and <prefix>encoder.layer.*.
BertSizes MeasureBert(const TensorPlan& plan, const std::string& prefix);

// <prefix>embeddings.* and <prefix>encoder.*.
void ExpectBert(const std::string& prefix, const BertSizes& sizes, TensorPlan* plan);
// <prefix>encoder.* alone.
void ExpectBertEncoder(const std::string& prefix, const BertSizes& sizes, TensorPlan* plan);
// UNITER's <prefix>img_embeddings.*, without mask_embedding.
void ExpectUniterRegions(const std::string& prefix, const BertSizes& sizes, int64_t feature_size,
                         TensorPlan* plan);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_TENSOR_PLAN_H_
