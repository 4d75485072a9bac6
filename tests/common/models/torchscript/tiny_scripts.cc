#include "tests/common/models/torchscript/tiny_scripts.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <stdexcept>
#include <utility>

#include "common/base/files.h"
#include "common/bundle/manifest.h"
#include "common/models/torchscript/script_bundle.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::EmbeddingSpec;
using bundle::v1::ModelBundleManifest;
using bundle::v1::PixelSpec;
using bundle::v1::TokenizerSpec;

constexpr int64_t kWords = 516;  // of the merges below

// Positions count, padding does not.
constexpr char kTextEncoder[] = R"(
def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
    places = mask.cumsum(1) * mask
    rows = self.words[ids] * places.unsqueeze(-1)
    return torch.tanh(rows.sum(1)) @ self.projection
)";

constexpr char kImageEncoder[] = R"(
def forward(self, features: Tensor, boxes: Tensor, mask: Tensor) -> Tensor:
    shares = (mask / mask.sum(1, keepdim=True)).unsqueeze(-1)
    return (torch.cat([features, boxes], -1) * shares).sum(1) @ self.projection
)";

// The quarters of a picture.
constexpr char kRegionExtractor[] = R"(
def forward(self, pixels: Tensor) -> Tuple[Tensor, Tensor]:
    cells = torch.adaptive_avg_pool2d(pixels, [2, 2]).flatten(2).transpose(1, 2)
    return cells @ self.kernel, self.boxes
)";

constexpr char kCrossEncoder[] = R"(
def prepare(self, features: Tensor, boxes: Tensor) -> Tensor:
    return torch.cat([features, boxes], -1) @ self.projection
def forward(self, ids: Tensor, text_mask: Tensor, rows: Tensor, row_mask: Tensor) -> Tensor:
    text = (self.words[ids] * text_mask.unsqueeze(-1)).sum(1)
    seen = (torch.tanh(rows) * row_mask.unsqueeze(-1)).sum(1)
    return (text * seen) @ self.head
)";

ModelBundleManifest Manifest() {
  ModelBundleManifest manifest;
  manifest.set_family("torchscript");
  manifest.mutable_tokenizer()->set_kind(TokenizerSpec::BYTE_LEVEL_BPE);
  manifest.mutable_tokenizer()->set_vocabulary_file("merges.txt");
  manifest.mutable_tokenizer()->set_max_token_count(12);
  manifest.mutable_embedding()->set_dimension(5);
  manifest.mutable_embedding()->set_metric(EmbeddingSpec::INNER_PRODUCT);
  manifest.mutable_cross_encoder()->set_score_kind("logit_match");
  manifest.mutable_cross_encoder()->set_combination("replace");
  bundle::v1::TorchScriptSpec* spec = manifest.mutable_torch_script();
  spec->set_text_encoder("text.pt");
  spec->set_image_encoder("image.pt");
  spec->set_cross_encoder("cross.pt");
  spec->set_region_extractor("regions.pt");
  spec->set_region_feature_size(10);
  spec->set_max_region_count(9);
  PixelSpec* pixels = spec->mutable_pixels();
  pixels->set_image_size(16);
  pixels->set_fit(PixelSpec::CROP);
  pixels->set_filter(PixelSpec::BICUBIC);
  for (const float mean : {0.5f, 0.4f, 0.3f}) pixels->add_mean(mean);
  for (const float deviation : {0.2f, 0.3f, 0.25f}) pixels->add_standard_deviation(deviation);
  return manifest;
}

}  // namespace

TinyScripts::TinyScripts() : manifest(Manifest()), vocabulary("#version: 0.2\nr e\nre d</w>\n") {
  at::manual_seed(11);
  modules["text.pt"] = {kTextEncoder,
                        {{"words", at::randn({kWords, 6})}, {"projection", at::randn({6, 5})}}};
  modules["image.pt"] = {kImageEncoder, {{"projection", at::randn({14, 5})}}};
  modules["regions.pt"] = {kRegionExtractor,
                           {{"kernel", at::randn({3, 10})},
                            {"boxes", at::tensor({0.f, 0.f, .5f, .5f, .5f, 0.f, 1.f, .5f, 0.f, .5f,
                                                  .5f, 1.f, .5f, .5f, 1.f, 1.f})
                                          .view({1, 4, 4})}}};
  modules["cross.pt"] = {kCrossEncoder,
                         {{"words", at::randn({kWords, 6})},
                          {"projection", at::randn({14, 6})},
                          {"head", at::randn({6, 2})}}};
}

void TinyScripts::Write(const std::string& folder) const {
  const auto write = [&](absl::string_view name, const std::string& text) {
    const absl::Status written = WriteFileAtomically(JoinPath(folder, name), text);
    if (!written.ok()) throw std::runtime_error(written.ToString());
  };
  write(kManifestFile, ManifestJson(manifest));
  write("merges.txt", vocabulary);
  for (const auto& [file, script] : modules) {
    torch::jit::Module module("tiny");
    for (const auto& [name, tensor] : script.tensors) module.register_buffer(name, tensor);
    module.define(script.source);
    module.save(JoinPath(folder, file));
  }
}

absl::StatusOr<ModelBundle> TinyScripts::Bundle(const std::string& store) const {
  const TempDir folder;
  Write(folder.path());
  return BundleScripts(folder.path(), store);
}

std::shared_ptr<const Model> TinyScripts::Load(const ModelOptions& options) const {
  const TempDir store;
  const absl::StatusOr<ModelBundle> bundle = Bundle(store.path());
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  auto model = LoadModel(*bundle, options);
  if (!model.ok()) throw std::runtime_error(model.status().ToString());
  return *std::move(model);
}

}  // namespace sightline
