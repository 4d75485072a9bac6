#include "common/models/convert/tensor_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

constexpr int64_t kMaxIndexed = 64;
constexpr size_t kMaxTold = 1000;  // no checkpoint of ours has as many tensors
constexpr int64_t kUniterBoxNumbers = 7;

std::string Shape(const std::vector<int64_t>& shape) {
  return absl::StrCat("[",
                      absl::StrJoin(shape, ", ",
                                    [](std::string* out, int64_t extent) {
                                      absl::StrAppend(out, extent == 0 ? "any" : "");
                                      if (extent != 0) absl::StrAppend(out, extent);
                                    }),
                      "]");
}

std::string Told(absl::string_view name, const std::vector<int64_t>& shape) {
  return absl::StrCat(absl::CHexEscape(name.substr(0, 200)), " ", Shape(shape));
}

bool Fits(const std::vector<int64_t>& shape, const std::vector<int64_t>& expected) {
  return std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                    [](int64_t a, int64_t b) { return b == 0 ? a > 0 : a == b; });
}

bool HoldsFractions(TensorDtype dtype) {
  return dtype == TensorDtype::kF64 || dtype == TensorDtype::kF32 || dtype == TensorDtype::kF16 ||
         dtype == TensorDtype::kBf16;
}

std::string List(absl::string_view title, const std::vector<std::string>& names) {
  const size_t told = std::min(names.size(), kMaxTold);
  const std::vector<std::string> first(names.begin(), names.begin() + told);
  return absl::StrCat(
      "; ", title, ": ", absl::StrJoin(first, ", "),
      told < names.size() ? absl::StrCat(" and ", names.size() - told, " more") : "");
}

}  // namespace

int64_t TensorPlan::Extent(absl::string_view name, size_t dim) const {
  const auto found = found_.find(std::string(name));
  if (found == found_.end() || dim >= found->second.shape.size()) return 0;
  return found->second.shape[dim];
}

int64_t TensorPlan::CountIndexed(absl::string_view prefix) const {
  int64_t count = 0;
  for (auto it = found_.lower_bound(std::string(prefix));
       it != found_.end() && absl::StartsWith(it->first, prefix); ++it) {
    const absl::string_view rest = absl::string_view(it->first).substr(prefix.size());
    int64_t index = 0;
    if (absl::SimpleAtoi(rest.substr(0, rest.find('.')), &index) && index >= 0) {
      count = std::max(count, std::min(index, kMaxIndexed - 1) + 1);
    }
  }
  return count;
}

void TensorPlan::Expect(const std::string& name, std::vector<int64_t> shape) {
  expected_[name] = std::move(shape);
}

void TensorPlan::ExpectLinear(const std::string& prefix, int64_t in, int64_t out) {
  Expect(prefix + "weight", {out, in});
  Expect(prefix + "bias", {out});
}

void TensorPlan::ExpectNorm(const std::string& prefix, int64_t size) {
  Expect(prefix + "weight", {size});
  Expect(prefix + "bias", {size});
}

absl::StatusOr<NamedTensors> TensorPlan::Match(absl::string_view family) const {
  std::vector<std::string> missing, unexpected, unfit;
  for (const auto& [name, shape] : expected_) {
    const auto found = found_.find(name);
    if (found == found_.end()) {
      missing.push_back(Told(name, shape));
    } else if (!Fits(found->second.shape, shape)) {
      unfit.push_back(absl::StrCat(Told(name, found->second.shape), " instead of ", Shape(shape)));
    } else if (!HoldsFractions(found->second.dtype)) {
      unfit.push_back(absl::StrCat(name, " holds integers"));
    }
  }
  for (const auto& [name, view] : found_) {
    if (expected_.count(name) == 0) unexpected.push_back(Told(name, view.shape));
  }
  if (missing.empty() && unexpected.empty() && unfit.empty()) return found_;
  std::string message = absl::StrCat("the checkpoint does not fit family ", family);
  if (!missing.empty()) message += List("missing", missing);
  if (!unexpected.empty()) message += List("unexpected", unexpected);
  if (!unfit.empty()) message += List("unfit", unfit);
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<NamedTensors> Renamed(
    const NamedTensors& tensors, const std::function<std::string(absl::string_view name)>& rename) {
  NamedTensors renamed;
  for (const auto& [name, view] : tensors) {
    const std::string canonical = rename(name);
    if (canonical.empty()) continue;
    if (!renamed.emplace(canonical, view).second) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ",
                                                     absl::CHexEscape(canonical.substr(0, 200)),
                                                     " is in the checkpoint under two names"));
    }
  }
  return renamed;
}

BertSizes MeasureBert(const TensorPlan& plan, const std::string& prefix) {
  const std::string embeddings = prefix + "embeddings.";
  const std::string layers = prefix + "encoder.layer.";
  BertSizes sizes;
  sizes.layers = plan.CountIndexed(layers);
  sizes.vocabulary = plan.Extent(embeddings + "word_embeddings.weight", 0);
  sizes.hidden = plan.Extent(embeddings + "word_embeddings.weight", 1);
  sizes.positions = plan.Extent(embeddings + "position_embeddings.weight", 0);
  sizes.types = plan.Extent(embeddings + "token_type_embeddings.weight", 0);
  sizes.intermediate = plan.Extent(layers + "0.intermediate.dense.weight", 0);
  return sizes;
}

void ExpectBert(const std::string& prefix, const BertSizes& sizes, TensorPlan* plan) {
  const std::string embeddings = prefix + "embeddings.";
  plan->Expect(embeddings + "word_embeddings.weight", {sizes.vocabulary, sizes.hidden});
  plan->Expect(embeddings + "position_embeddings.weight", {sizes.positions, sizes.hidden});
  plan->Expect(embeddings + "token_type_embeddings.weight", {sizes.types, sizes.hidden});
  plan->ExpectNorm(embeddings + "LayerNorm.", sizes.hidden);
  ExpectBertEncoder(prefix, sizes, plan);
}

void ExpectBertEncoder(const std::string& prefix, const BertSizes& sizes, TensorPlan* plan) {
  const int64_t hidden = sizes.hidden;
  // At least one, so that a checkpoint without any is told what it lacks.
  for (int64_t i = 0; i < std::max<int64_t>(sizes.layers, 1); ++i) {
    const std::string layer = absl::StrCat(prefix, "encoder.layer.", i, ".");
    for (const char* name : {"query.", "key.", "value."}) {
      plan->ExpectLinear(absl::StrCat(layer, "attention.self.", name), hidden, hidden);
    }
    plan->ExpectLinear(layer + "attention.output.dense.", hidden, hidden);
    plan->ExpectNorm(layer + "attention.output.LayerNorm.", hidden);
    plan->ExpectLinear(layer + "intermediate.dense.", hidden, sizes.intermediate);
    plan->ExpectLinear(layer + "output.dense.", sizes.intermediate, hidden);
    plan->ExpectNorm(layer + "output.LayerNorm.", hidden);
  }
}

void ExpectUniterRegions(const std::string& prefix, const BertSizes& sizes, int64_t feature_size,
                         TensorPlan* plan) {
  const std::string regions = prefix + "img_embeddings.";
  plan->ExpectLinear(regions + "img_linear.", feature_size, sizes.hidden);
  plan->ExpectLinear(regions + "pos_linear.", kUniterBoxNumbers, sizes.hidden);
  for (const char* norm : {"img_layer_norm.", "pos_layer_norm.", "LayerNorm."}) {
    plan->ExpectNorm(regions + norm, sizes.hidden);
  }
}

}  // namespace sightline
