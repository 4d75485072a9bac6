// What is particular to a family of models: its network, as the generic model
// (network_model.h) feeds it.  All that comes in has been checked; all that a family has to
// do is arithmetic.
//
// D is the embedding's dimension, H the width of a row.  Immutable and thread-safe where it serves,
// called without autograd and with LibTorch's own threading off; where it learns
// (trainable_network.h), one thread's, with autograd.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/image/image_input.h"
#include "common/models/inference.h"
#include "common/models/inputs/region_input.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {

// One image, checked, cut and as numbers.
struct ImageNumbers {
  RegionNumbers regions;
  // Of its tags or of the text in it, where the family reads them; special tokens included.
  std::vector<int32_t> ids;

  int64_t rows() const { return regions.count + static_cast<int64_t>(ids.size()); }
};

// One tensor of an image's item features.
struct FeatureLayout {
  static FeatureLayout Rows(std::string name, int64_t columns, int64_t max_rows) {
    return {std::move(name), /*holds_ids=*/false, columns, max_rows};
  }
  static FeatureLayout Ids(std::string name, int64_t max_rows) {
    return {std::move(name), /*holds_ids=*/true, /*columns=*/1, max_rows};
  }

  std::string name;
  // Token ids, int32, one a row; else fractions, as RequireRows reads them.
  bool holds_ids = false;
  int64_t columns = 0;
  int64_t max_rows = 0;
  // The least there must be: at least 1.
  int64_t min_rows = 1;
};

// What is made of an image, in the order of a layout: int64 ids (L) or float32 rows (rows x
// columns), on the model's device.
using FeatureRows = std::vector<at::Tensor>;

// What a text brings to a pair: all that does not depend on the image, so that a query that
// is paired with many images is embedded once.
using PreparedText = std::vector<at::Tensor>;

struct NetworkPair {
  TokenSpan ids;
  const PreparedText* text = nullptr;
  // In the order of the layout, as they are stored: a family hands rows on to its executor as they
  // are, and asks its gate for what it computes with (ids; rows that get something added).
  std::vector<ItemRows> image;
};

class Network {
 public:
  virtual ~Network() = default;

  // InvalidArgument, without naming the image, for one that the model cannot read.
  virtual absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const = 0;

  // Rows that the pass over a text of so many tokens, or over an image, computes.
  virtual ItemShape TextShape(int64_t tokens) const { return {tokens, 0}; }
  virtual ItemShape ImageShape(const ImageNumbers& image) const { return {1, image.rows()}; }
  // Whether only items of equal shape may share a call, because others would be padded.
  virtual bool wants_equal_shapes() const { return false; }

  // The bi-encoder, of a bundle that has an embedding: B x D, before any normalisation.
  virtual at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const = 0;
  virtual at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const = 0;

  // The cross-encoder, of a bundle that has one.
  virtual std::vector<FeatureLayout> image_layout() const = 0;
  virtual FeatureRows PrepareImage(const ImageNumbers& image) const = 0;
  virtual PreparedText PrepareText(TokenSpan ids) const = 0;
  // Of many at once, as training asks: the batch of norms over a batch.
  virtual std::vector<FeatureRows> PrepareImages(
      absl::Span<const ImageNumbers* const> images) const {
    std::vector<FeatureRows> prepared;
    for (const ImageNumbers* image : images) prepared.push_back(PrepareImage(*image));
    return prepared;
  }
  virtual std::vector<PreparedText> PrepareTexts(absl::Span<const TokenSpan> texts) const {
    std::vector<PreparedText> prepared;
    for (const TokenSpan text : texts) prepared.push_back(PrepareText(text));
    return prepared;
  }
  // The head's outputs, B x 1 (a score) or B x 2 (logits of no match and match).
  virtual at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const = 0;
};

// A family without a cross-encoder.
class BiEncoderNetwork : public Network {
 public:
  std::vector<FeatureLayout> image_layout() const final { return {}; }
  FeatureRows PrepareImage(const ImageNumbers&) const final { return {}; }
  PreparedText PrepareText(TokenSpan) const final { return {}; }
  at::Tensor ScorePairs(absl::Span<const NetworkPair>) const final { return {}; }
};

// A family without a bi-encoder.
class CrossEncoderNetwork : public Network {
 public:
  at::Tensor EncodeTexts(absl::Span<const TokenSpan>) const final { return {}; }
  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const>) const final { return {}; }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_H_
