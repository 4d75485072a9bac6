#include "common/training/scenes/scene_detector.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/formats/safetensors.h"
#include "common/models/inference.h"
#include "common/models/network/weights.h"
#include "common/scenes/region_crop.h"
#include "common/training/scenes/region_classes.h"
#include "common/training/scenes/region_lessons.h"
#include "common/training/scenes/region_net.h"

namespace sightline {
namespace {

// A pass over all crops, on the CPU.
struct SeenCrops {
  at::Tensor features, soft_labels, classes, tints, sizes;
};

SeenCrops Look(RegionNet& net, const std::vector<uint8_t>& crops, const std::vector<float>& boxes) {
  const at::Tensor bytes =
      at::tensor(at::ArrayRef<uint8_t>(crops), at::kByte).view({-1, 3, kRegionSide, kRegionSide});
  const RegionSight sight = net->forward(bytes, at::tensor(boxes).view({-1, 2}));
  const auto likeliest = [](const at::Tensor& logits) {
    return logits.argmax(1).to(at::kInt).contiguous();
  };
  return {sight.features.contiguous(), at::softmax(sight.nouns, 1).contiguous(),
          likeliest(sight.nouns), likeliest(sight.tints), likeliest(sight.sizes)};
}

void AppendRow(const at::Tensor& from, int64_t row, std::vector<float>* to) {
  const float* const begin = from.data_ptr<float>() + row * from.size(1);
  to->insert(to->end(), begin, begin + from.size(1));
}

void AppendBox(const PixelBox& box, std::vector<float>* boxes) {
  for (const int edge : {box.x, box.y, box.x + box.width, box.y + box.height}) {
    boxes->push_back(static_cast<float>(edge) / kCanvasSide);
  }
}

// Of the view whose crops begin at `first`.
SceneRegions RegionsOf(const SceneView& view, int64_t first, const SeenCrops& seen) {
  const auto count = static_cast<int64_t>(view.proposals.size());
  SceneRegions found;
  found.regions.count = count;
  found.regions.feature_size = kRegionFeatures;
  for (int64_t i = 0; i < count; ++i) {
    const float* const labels = seen.soft_labels.data_ptr<float>() + (first + i) * kRegionClasses;
    AppendRow(seen.features, first + i, &found.regions.features);
    AppendBox(view.proposals[i].box, &found.regions.boxes);
    found.regions.confidences.push_back(std::clamp(1 - labels[kNothing], 0.0f, 1.0f));
    AppendRow(seen.soft_labels, first + i, &found.soft_labels);
    found.classes.push_back(seen.classes.data_ptr<int>()[first + i]);
    found.tints.push_back(seen.tints.data_ptr<int>()[first + i]);
    found.sizes.push_back(seen.sizes.data_ptr<int>()[first + i]);
    found.proposals.push_back(view.proposals[i]);
  }
  return found;
}

class NetSceneDetector : public SceneDetector {
 public:
  explicit NetSceneDetector(RegionNet net) : net_(std::move(net)) {}

  absl::StatusOr<std::vector<SceneRegions>> Detect(
      absl::Span<const SceneView> views) const override {
    std::vector<uint8_t> crops;
    std::vector<float> boxes;
    for (const SceneView& view : views) {
      for (const Proposal& proposal : view.proposals) {
        AppendSight(view.canvas, proposal.box, &crops, &boxes);
      }
    }
    std::vector<SceneRegions> found;
    if (boxes.empty()) return found;
    RETURN_IF_ERROR(RunGuarded("look at regions", [&] {
      UseSingleThreadedTorch();
      const c10::InferenceMode no_autograd;
      const SeenCrops seen = Look(net_, crops, boxes);
      int64_t first = 0;
      for (const SceneView& view : views) {
        found.push_back(RegionsOf(view, first, seen));
        first += static_cast<int64_t>(view.proposals.size());
      }
      return absl::OkStatus();
    }));
    return found;
  }

 private:
  mutable RegionNet net_;  // a pass changes nothing in evaluation mode
};

}  // namespace

absl::StatusOr<std::unique_ptr<SceneDetector>> SceneDetector::FromBytes(absl::string_view weights) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file, Safetensors::FromBytes(weights));
  RegionNet net(/*norms=*/false);
  RETURN_IF_ERROR(LoadWeights(*file, {}, net.get()));
  net->eval();
  return std::unique_ptr<SceneDetector>(new NetSceneDetector(std::move(net)));
}

}  // namespace sightline
