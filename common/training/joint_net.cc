#include "common/training/joint_net.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/models/inputs/manifest_checks.h"
#include "common/models/network/autocast.h"
#include "common/models/network/grid_extractor.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/transformer.h"
#include "common/training/batches.h"
#include "common/training/padding.h"
#include "common/training/random.h"

namespace sightline {
namespace {

constexpr size_t kPicturesPerPass = 256;
constexpr size_t kCaptionsPerPass = 512;
// Most captions are a few words and a few are forty, to which a batch in one pass would be
// padded.  A pass costs some milliseconds by itself, so not too few.
constexpr size_t kShownTextsPerPass = 48;

// The six numbers that OSCAR appends to each cell's features: corners, width, height.
at::Tensor BoxRows(int64_t side, c10::Device device) {
  const std::vector<float> corners = GridBoxes(side);
  const at::Tensor boxes = at::tensor(corners).view({side * side, 4});
  const at::Tensor sizes = boxes.narrow(1, 2, 2) - boxes.narrow(1, 0, 2);
  return at::cat({boxes, sizes}, 1).to(device);
}

at::Tensor UnitRows(const at::Tensor& rows) {
  return rows / rows.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
}

template <typename Embed>
at::Tensor InPasses(const std::vector<int64_t>& all, size_t per_pass, const Embed& embed) {
  std::vector<at::Tensor> parts;
  for (size_t begin = 0; begin < all.size(); begin += per_pass) {
    const size_t end = std::min(all.size(), begin + per_pass);
    parts.push_back(embed(std::vector<int64_t>(all.begin() + begin, all.begin() + end)));
  }
  return at::cat(parts);
}

}  // namespace

JointNet::JointNet(OscarNet net, const bundle::v1::ModelBundleManifest& manifest,
                   const TrainingSet* set, c10::Device device, const TrainingOptions& options)
    : set_(*set),
      device_(device),
      precision_(options.precision),
      token_dropout_(options.captions.token_dropout),
      net_(std::move(net)),
      boxes_(BoxRows(GridSide(manifest.grid_extractor()), device)) {
  net_->to(device_);
  PrepareDropout(/*share=*/-1, net_.get());
}

CaptionBatch JointNet::Captions(const std::vector<int64_t>& captions) const {
  std::vector<absl::Span<const int32_t>> texts;
  texts.reserve(captions.size());
  for (const int64_t caption : captions) texts.push_back(set_.tokens(caption));
  return Padded(texts);
}

CaptionBatch JointNet::Padded(absl::Span<const absl::Span<const int32_t>> texts) const {
  const PaddedTexts padded = PadTexts(texts);
  const at::Tensor mask =
      padded.mask.defined() ? padded.mask : at::ones(padded.ids.sizes(), at::kFloat);
  return {padded.ids.to(device_), mask.to(device_)};
}

at::Tensor JointNet::Encode(const at::Tensor& rows, const at::Tensor& mask) {
  // Always with a mask, of ones if need be: added in float32 it keeps the softmax there.
  const AutocastScope scope(precision_ == Precision::kBfloat16, device_.is_cuda());
  return net_->encoder().ptr()->forward(rows, KeyBiasOf(mask));
}

at::Tensor JointNet::GridFeatures(const at::Tensor& pictures) {
  const AutocastScope scope(precision_ == Precision::kBfloat16, device_.is_cuda());
  return net_->grid().ptr()->forward(pictures).to(at::kFloat);
}

at::Tensor JointNet::WithBoxes(const at::Tensor& features) const {
  return at::cat({features, boxes_.unsqueeze(0).expand({features.size(0), -1, -1})}, 2);
}

at::Tensor JointNet::EmbedImages(const at::Tensor& region_rows) {
  const at::Tensor cls = at::full({region_rows.size(0), 1}, set_.special_tokens().cls,
                                  region_rows.options().dtype(at::kLong));
  const at::Tensor rows = at::cat({net_->TextRows(cls), region_rows}, 1);
  const at::Tensor mask = at::ones({rows.size(0), rows.size(1)}, rows.options());
  return UnitRows(MaskedMean(Encode(rows, mask).to(at::kFloat), {}));
}

at::Tensor JointNet::EmbedCaptions(const CaptionBatch& captions) {
  const at::Tensor rows = Encode(net_->TextRows(captions.ids), captions.mask);
  return UnitRows(MaskedMean(rows.to(at::kFloat), captions.mask));
}

at::Tensor JointNet::EmbedShownCaptions(const std::vector<int64_t>& captions, uint64_t seed) {
  std::vector<TokenSpan> texts;
  for (const int64_t caption : captions) texts.push_back(set_.tokens(caption));
  return EmbedShown(texts, captions, RandomStream::kTokens, seed);
}

at::Tensor JointNet::EmbedShownTexts(const std::vector<int64_t>& texts, uint64_t seed) {
  std::vector<TokenSpan> tokens;
  for (const int64_t text : texts) tokens.push_back(set_.text_tokens(text));
  return EmbedShown(tokens, texts, RandomStream::kConceptTokens, seed);
}

at::Tensor JointNet::EmbedShown(const std::vector<TokenSpan>& texts,
                                const std::vector<int64_t>& numbers, RandomStream stream,
                                uint64_t seed) {
  std::vector<std::vector<int32_t>> shown;
  shown.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    Random random(SeedOf(seed, stream, numbers[i]));
    shown.push_back(DropTokens(texts[i], token_dropout_, &random));
  }
  return EmbedByLength({shown.begin(), shown.end()}, kShownTextsPerPass);
}

at::Tensor JointNet::EmbedByLength(const std::vector<TokenSpan>& texts, size_t per_pass) {
  std::vector<int64_t> order(texts.size()), place(texts.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return texts[a].size() < texts[b].size(); });
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int64_t>(i);
  const at::Tensor rows = InPasses(order, per_pass, [&](const std::vector<int64_t>& part) {
    std::vector<TokenSpan> spans;
    for (const int64_t text : part) spans.push_back(texts[text]);
    return EmbedCaptions(Padded(spans));
  });
  return rows.index_select(0, at::tensor(place, at::kLong).to(device_));
}

at::Tensor JointNet::PairLogits(const CaptionBatch& captions, const at::Tensor& region_rows) {
  const at::Tensor rows = at::cat({net_->TextRows(captions.ids), region_rows}, 1);
  const at::Tensor seen =
      at::ones({region_rows.size(0), region_rows.size(1)}, captions.mask.options());
  const at::Tensor read = Encode(rows, at::cat({captions.mask, seen}, 1)).select(1, 0);
  return net_->MatchLogits(read.to(at::kFloat));
}

at::Tensor JointNet::EmbedAllImages(
    const std::vector<int64_t>& rows,
    const std::function<at::Tensor(const std::vector<int64_t>&)>& grid_rows) {
  at::NoGradGuard no_grad;
  const EvaluationScope evaluation(this);
  return InPasses(rows, kPicturesPerPass, [&](const std::vector<int64_t>& part) {
    return EmbedImages(RegionRows(grid_rows(part)));
  });
}

at::Tensor JointNet::EmbedAllCaptions(const std::vector<int64_t>& captions) {
  at::NoGradGuard no_grad;
  const EvaluationScope evaluation(this);
  std::vector<TokenSpan> texts;
  for (const int64_t caption : captions) texts.push_back(set_.tokens(caption));
  return EmbedByLength(texts, kCaptionsPerPass);
}

}  // namespace sightline
