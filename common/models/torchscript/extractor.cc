#include "common/models/torchscript/extractor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/device/pass_watch.h"
#include "common/embedding/embedding_matrix.h"
#include "common/image/region_set.h"
#include "common/models/network/executor.h"
#include "common/models/network/pictures.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/torchscript/scripted_module.h"

namespace sightline {
namespace {

class TorchScriptExtractor : public PictureExtractor {
 public:
  TorchScriptExtractor(ScriptedModule module, const bundle::v1::TorchScriptSpec& spec,
                       const TensorGate& gate, ComputePool* pool,
                       std::shared_ptr<std::atomic<bool>> failed)
      : PictureExtractor(pool, std::move(failed)),
        module_(std::move(module)),
        spec_(spec),
        gate_(gate) {}

 private:
  Pixels Reduced(Pixels image) const override {
    return ReduceForScaling(std::move(image), spec_.pixels().image_size());
  }

  absl::Status ExtractOne(const Pixels& pixels, RegionSet* set,
                          std::vector<float>* soft_labels) const override {
    const device::PassScope pass(gate_.passes());
    const at::Tensor picture = ScaledPicture(pixels, spec_.pixels(), gate_).unsqueeze(0);
    const int64_t classes = spec_.region_class_count();
    std::vector<WantedShape> wanted = {{1, kAnyLength, spec_.region_feature_size()},
                                       {1, kAnyLength, 4}};
    if (classes > 0) wanted.push_back({1, kAnyLength, classes});
    const std::vector<at::Tensor> given = module_.Run("forward", {picture}, wanted);
    RETURN_IF_ERROR(CheckCounts(given));
    set->count = given[0].size(1);
    set->feature_size = spec_.region_feature_size();
    set->features = TensorGate::Floats(given[0]);
    set->boxes = TensorGate::Floats(given[1]);
    RETURN_IF_ERROR(Judged(CheckRegionSet(*set)));
    if (classes == 0 || soft_labels == nullptr) return absl::OkStatus();
    *soft_labels = TensorGate::Floats(given[2]);
    return Judged(CheckSoftLabels(*soft_labels, classes));
  }

  // Before anything is copied: a tensor may be many times as large as its memory.
  absl::Status CheckCounts(const std::vector<at::Tensor>& given) const {
    const int64_t count = given[0].size(1);
    const bool as_many = std::all_of(given.begin(), given.end(), [&](const at::Tensor& tensor) {
      return tensor.size(1) == count;
    });
    if (as_many && count >= 1 && count <= spec_.max_region_count()) return absl::OkStatus();
    return Wrong(
        absl::StrCat("gave ", count, " regions and ", given[1].size(1), " boxes",
                     given.size() > 2 ? absl::StrCat(" and soft labels of ", given[2].size(1)) : "",
                     ", wanted as many, 1 to ", spec_.max_region_count()));
  }

  absl::Status Judged(const absl::Status& good) const {
    return good.ok() ? good : Wrong(absl::StrCat("gave an image that ", good.message()));
  }

  absl::Status Wrong(absl::string_view what) const {
    return absl::InternalError(absl::StrCat(module_.file(), ", forward ", what));
  }

  const ScriptedModule module_;
  const bundle::v1::TorchScriptSpec spec_;
  const TensorGate gate_;
};

// Twice as wide as high, so that the crop is tried.
Pixels BlackPicture(int side) {
  return {2 * side, side, std::vector<uint8_t>(size_t{6} * side * side)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<const RegionExtractor>> NewTorchScriptExtractor(
    const ModelBundle& bundle, const Execution& execution, ComputePool* pool) {
  const bundle::v1::TorchScriptSpec& spec = bundle.manifest.torch_script();
  if (spec.region_extractor().empty()) return nullptr;
  ASSIGN_OR_RETURN(const TensorGate gate, TorchGateOf(execution));
  ASSIGN_OR_RETURN(ScriptedModule module, ScriptedModule::Load(bundle, spec.region_extractor(),
                                                               {{"forward", 1}}, gate.device()));
  auto extractor = std::make_unique<const TorchScriptExtractor>(std::move(module), spec, gate, pool,
                                                                execution.failed);
  const absl::Status tried =
      extractor
          ->ExtractLabelled({BlackPicture(spec.pixels().image_size())}, CallContext::Unbounded())
          .status();
  if (absl::IsInternal(tried)) return absl::InvalidArgumentError(tried.message());
  RETURN_IF_ERROR(tried);
  return extractor;
}

}  // namespace sightline
