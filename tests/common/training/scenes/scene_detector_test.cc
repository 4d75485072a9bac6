#include "common/training/scenes/scene_detector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/float16.h"
#include "common/formats/safetensors.h"
#include "common/image/region_set.h"
#include "common/scenes/region_crop.h"
#include "common/scenes/region_net_weights.h"
#include "common/training/scenes/region_classes.h"
#include "tests/common/training/scenes/known_views.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Numbers = std::vector<float>;

std::unique_ptr<SceneDetector> Detector() {
  const auto weights = RegionNetWeights();
  INFO(weights.status().ToString());
  REQUIRE(weights.ok());
  auto detector = SceneDetector::FromBytes(*weights);
  INFO(detector.status().ToString());
  REQUIRE(detector.ok());
  return *std::move(detector);
}

bool SameBox(const PixelBox& a, const PixelBox& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

// Place of a region among the proposals of its view.
size_t PlaceOf(const SceneView& view, const Proposal& proposal) {
  size_t place = 0;
  while (!SameBox(view.proposals[place].box, proposal.box)) ++place;
  return place;
}

Numbers FeaturesOf(const SceneRegions& seen, size_t region) {
  const auto begin = seen.regions.features.begin() + static_cast<int64_t>(region) * kRegionFeatures;
  return Numbers(begin, begin + kRegionFeatures);
}

float Farthest(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST_CASE("features of committed weights are within a thousandth of those that are known") {
  const std::vector<SceneView> views = KnownViews();
  const auto seen = Detector()->Detect(views);
  REQUIRE(seen.ok());
  const std::string text = *ReadFile(kKnownFeatures);
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == size_t{2} * kProposals);
  for (size_t v = 0; v < views.size(); ++v) {
    for (size_t i = 0; i < kProposals; ++i) {
      const size_t place = PlaceOf(views[v], (*seen)[v].proposals[i]);
      Numbers known;
      for (const absl::string_view word : absl::StrSplit(lines[v * kProposals + place], ' ')) {
        known.emplace_back();
        REQUIRE(absl::SimpleAtof(word, &known.back()));
      }
      INFO(v << ", " << place);
      REQUIRE(Farthest(FeaturesOf((*seen)[v], i), known) < 1e-3f);
    }
  }
}

// --- the net in plain loops ---

struct Layer {
  std::vector<int64_t> shape;
  Numbers weight, bias;
};

Numbers HalvesOf(const TensorView& view) {
  REQUIRE(view.dtype == TensorDtype::kF16);
  Numbers numbers(view.bytes.size() / 2);
  Float16ToFloat32(view.bytes.data(), numbers.size(), numbers.data());
  return numbers;
}

Layer LayerOf(const Safetensors& file, const std::string& name) {
  const TensorView& weight = file.tensors().at(name + ".weight");
  return {weight.shape, HalvesOf(weight), HalvesOf(file.tensors().at(name + ".bias"))};
}

// Channels x side x side, zero beyond, ReLU behind.
Numbers Convolved(const Numbers& x, int side, const Layer& layer, int stride) {
  const auto out = static_cast<int>(layer.shape[0]), in = static_cast<int>(layer.shape[1]);
  const auto kernel = static_cast<int>(layer.shape[2]);
  const int to = side / stride;
  Numbers y;
  for (int o = 0; o < out; ++o) {
    for (int row = 0; row < to; ++row) {
      for (int column = 0; column < to; ++column) {
        double sum = layer.bias[o];
        for (int i = 0; i < in; ++i) {
          for (int a = 0; a < kernel; ++a) {
            for (int b = 0; b < kernel; ++b) {
              const int r = row * stride + a - kernel / 2, c = column * stride + b - kernel / 2;
              if (r < 0 || r >= side || c < 0 || c >= side) continue;
              sum += double{x[(i * side + r) * side + c]} *
                     layer.weight[((o * in + i) * kernel + a) * kernel + b];
            }
          }
        }
        y.push_back(static_cast<float>(std::max(sum, 0.0)));
      }
    }
  }
  return y;
}

Numbers SlowFeatures(const Safetensors& file, const SceneView& view, const PixelBox& box) {
  std::vector<uint8_t> crop(kRegionBytes);
  CropRegion(view.canvas, box, crop.data());
  Numbers x;
  for (const uint8_t byte : crop) x.push_back(static_cast<float>(byte) / 127.5f - 1);
  x = Convolved(x, 32, LayerOf(file, "conv1"), 2);
  x = Convolved(x, 16, LayerOf(file, "conv2"), 1);
  x = Convolved(x, 16, LayerOf(file, "conv3"), 2);
  x = Convolved(x, 8, LayerOf(file, "conv4"), 1);
  x = Convolved(x, 8, LayerOf(file, "conv5"), 2);
  Numbers pooled;
  for (size_t channel = 0; channel < x.size() / 16; ++channel) {
    for (const int first : {0, 2, 8, 10}) {
      const float* const at = &x[channel * 16 + first];
      pooled.push_back((at[0] + at[1] + at[4] + at[5]) / 4);
    }
  }
  pooled.push_back(4.0f * static_cast<float>(box.width) / kCanvasSide);
  pooled.push_back(4.0f * static_cast<float>(box.height) / kCanvasSide);
  const Layer linear = LayerOf(file, "features");
  Numbers features;
  for (int64_t o = 0; o < linear.shape[0]; ++o) {
    double sum = linear.bias[o];
    for (size_t i = 0; i < pooled.size(); ++i) {
      sum += double{pooled[i]} * linear.weight[o * pooled.size() + i];
    }
    features.push_back(static_cast<float>(std::tanh(sum)));
  }
  return features;
}

TEST_CASE("the net is what plain loops over its weights compute") {
  const auto file = *Safetensors::FromBytes(*RegionNetWeights());
  const std::vector<SceneView> views = KnownViews();
  const auto seen = *Detector()->Detect(views);
  for (const size_t region : {size_t{0}, size_t{7}}) {
    const PixelBox box = seen[0].proposals[region].box;
    REQUIRE(Farthest(FeaturesOf(seen[0], region), SlowFeatures(*file, views[0], box)) < 1e-4f);
  }
}

// --- what is given of it ---

TEST_CASE("regions come as their proposals do, each with its own box, labels and confidence") {
  const std::vector<SceneView> views = KnownViews();
  const auto seen = *Detector()->Detect(views);
  REQUIRE(seen.size() == 2);
  for (size_t v = 0; v < 2; ++v) {
    const RegionSet& regions = seen[v].regions;
    REQUIRE(CheckRegionSet(regions).ok());
    REQUIRE(CheckSoftLabels(seen[v].soft_labels, kRegionClasses).ok());
    REQUIRE(regions.count == kProposals);
    REQUIRE(seen[v].proposals.size() == kProposals);
    for (size_t i = 0; i < kProposals; ++i) {
      const PixelBox& box = seen[v].proposals[i].box;
      REQUIRE(regions.boxes[i * 4] == Approx(box.x / 224.0));
      REQUIRE(regions.boxes[i * 4 + 3] == Approx((box.y + box.height) / 224.0));
      const float* const labels = &seen[v].soft_labels[i * kRegionClasses];
      REQUIRE(regions.confidences[i] == Approx(1 - labels[kNothing]).margin(1e-6));
      REQUIRE(std::max_element(labels, labels + kRegionClasses) - labels == seen[v].classes[i]);
      REQUIRE(PlaceOf(views[v], seen[v].proposals[i]) == i);
    }
  }
}

TEST_CASE("a picture's regions do not depend on the others that are looked at") {
  const std::vector<SceneView> views = KnownViews();
  const auto detector = Detector();
  const auto together = *detector->Detect(views);
  const auto alone = *detector->Detect(absl::MakeConstSpan(views).subspan(1));
  REQUIRE(alone.size() == 1);
  REQUIRE(Farthest(alone[0].regions.features, together[1].regions.features) < 1e-4f);
  REQUIRE(detector->Detect({})->empty());
}

TEST_CASE("weights that are not the net's are refused") {
  REQUIRE(absl::IsDataLoss(SceneDetector::FromBytes("no weights").status()));
  const std::string bytes(8, '\0');
  const TensorView view = {TensorDtype::kF32, {2}, bytes};
  REQUIRE(absl::IsInvalidArgument(
      SceneDetector::FromBytes(SerializeSafetensors({{"conv1.bias", view}})).status()));
}

}  // namespace
}  // namespace sightline
