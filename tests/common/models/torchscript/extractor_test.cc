#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/model.h"
#include "tests/common/models/tiny_model.h"
#include "tests/common/models/torchscript/tiny_scripts.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

// What bundling `scripts` is refused with.
std::string Refusal(const TinyScripts& scripts) {
  const TempDir store;
  const absl::Status status = scripts.Bundle(store.path()).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

// A region extractor that says of each region, too, how likely each of three classes is.
TinyScripts LabellingScripts(const std::string& soft_labels) {
  TinyScripts scripts;
  scripts.manifest.mutable_torch_script()->set_region_class_count(3);
  scripts.modules["regions.pt"].source =
      "def forward(self, pixels: Tensor) -> Tuple[Tensor, Tensor, Tensor]:\n"
      "    cells = torch.adaptive_avg_pool2d(pixels, [2, 2]).flatten(2).transpose(1, 2)\n"
      "    return cells @ self.kernel, self.boxes, " +
      soft_labels + "\n";
  return scripts;
}

TEST_CASE("a script that knows classes tells each region's, beside the regions that it gives") {
  const auto plain = TinyScripts().Load();
  const auto labelling = LabellingScripts("torch.softmax(cells, -1)").Load();
  const std::vector<Pixels> pictures = {RandomPixels(16, 16, 1), RandomPixels(90, 33, 2)};
  const auto unlabelled = plain->region_extractor()->ExtractLabelled(pictures, kCall);
  const auto labelled = labelling->region_extractor()->ExtractLabelled(pictures, kCall);
  const auto served = labelling->region_extractor()->Extract(pictures, kCall);
  REQUIRE((unlabelled.ok() && labelled.ok() && served.ok()));
  for (size_t i = 0; i < pictures.size(); ++i) {
    REQUIRE((*unlabelled)[i].soft_labels.empty());
    REQUIRE((*labelled)[i].regions.features == (*unlabelled)[i].regions.features);
    REQUIRE((*served)[i].features == (*unlabelled)[i].regions.features);
    REQUIRE((*labelled)[i].soft_labels.size() == 4 * 3);
  }
  // Of the last quarter of the first picture.
  const at::Tensor bytes = at::tensor(pictures[0].rgb).to(at::kFloat).view({16, 16, 3});
  const at::Tensor quarter = bytes.narrow(0, 8, 8).narrow(1, 8, 8).mean(0).mean(0) / 255;
  const at::Tensor wanted =
      at::softmax((quarter - at::tensor({0.5f, 0.4f, 0.3f})) / at::tensor({0.2f, 0.3f, 0.25f}), -1);
  for (int i = 0; i < 3; ++i) {
    REQUIRE((*labelled)[0].soft_labels[9 + i] == Approx(wanted[i].item<float>()).margin(1e-5));
  }
}

TEST_CASE("soft labels of one picture that are none are an error where they are wanted") {
  // A black picture's are good.
  const auto model = LabellingScripts("torch.ones(1, 4, 3) / 3 + cells.clamp(min=0)").Load();
  const std::vector<Pixels> pictures = {RandomPixels(16, 16, 1)};
  const absl::Status status = model->region_extractor()->ExtractLabelled(pictures, kCall).status();
  INFO(status.ToString());
  REQUIRE(absl::IsInternal(status));
  REQUIRE(absl::StrContains(status.message(), "gave an image that has"));
  REQUIRE(model->region_extractor()->Extract(pictures, kCall).ok());
}

TEST_CASE("soft labels that are none are refused when a module is loaded") {
  const auto refusal = [](const TinyScripts& scripts) {
    std::string told = Refusal(scripts);
    INFO(told);
    REQUIRE(absl::StrContains(told, "regions.pt, forward gave "));
    return told;
  };
  REQUIRE(absl::StrContains(refusal(LabellingScripts("torch.ones(1, 4, 2) / 2")),
                            "float of 1 x 4 x 2, wanted a tuple of"));
  REQUIRE(
      absl::StrContains(refusal(LabellingScripts("torch.ones(1, 5, 3) / 3")),
                        "gave 4 regions and 4 boxes and soft labels of 5, wanted as many, 1 to 9"));
  REQUIRE(absl::StrContains(refusal(LabellingScripts("torch.ones(1, 4, 3)")),
                            "soft labels that add up to 3"));
  REQUIRE(absl::StrContains(refusal(LabellingScripts("torch.ones(1, 4, 3) / 0")),
                            "the soft label inf"));
  TinyScripts silent;
  silent.manifest.mutable_torch_script()->set_region_class_count(3);
  REQUIRE(absl::StrContains(refusal(silent), "and float of 1 x any x 3"));
  TinyScripts many = LabellingScripts("torch.softmax(cells, -1)");
  many.manifest.mutable_torch_script()->set_region_class_count(4097);
  REQUIRE(absl::StrContains(Refusal(many), "region_class_count is 4097, must be 0 to 4096"));
  TinyScripts knowing = LabellingScripts("torch.softmax(cells, -1)");
  knowing.manifest.mutable_torch_script()->clear_region_class_count();
  REQUIRE(absl::StrContains(refusal(knowing), "wanted a tuple of"));
  TinyScripts blind;
  blind.manifest.mutable_torch_script()->clear_region_extractor();
  blind.manifest.mutable_torch_script()->clear_pixels();
  blind.manifest.mutable_torch_script()->set_region_class_count(3);
  REQUIRE(absl::StrContains(Refusal(blind),
                            "region_class_count is 3, but there is no region_extractor"));
}

}  // namespace
}  // namespace sightline
