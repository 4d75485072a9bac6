// OscarNet as training uses it: batches of captions and pictures in, embeddings and logits
// out, computed exactly as oscar/model.cc serves them, in the precision asked for.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_JOINT_NET_H_
#define SIGHTLINE_COMMON_TRAINING_JOINT_NET_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/bundle/model_bundle.h"
#include "common/models/oscar/net.h"
#include "common/training/random.h"
#include "common/training/training_options.h"
#include "common/training/training_set.h"

namespace sightline {

// B captions on the device, padded to the longest.
struct CaptionBatch {
  at::Tensor ids;   // B x L int64
  at::Tensor mask;  // B x L float32, 1 for a token
};

// H is the hidden size, R the number of grid cells.  Not thread-safe.
class JointNet {
 public:
  // `net` was made of `manifest`, which has a grid extractor; moves it to `device`.
  JointNet(OscarNet net, const bundle::v1::ModelBundleManifest& manifest, const TrainingSet* set,
           c10::Device device, const TrainingOptions& options);

  OscarNetImpl& module() { return *net_; }
  c10::Device device() const { return device_; }
  int64_t region_count() const { return boxes_.size(0); }

  CaptionBatch Captions(const std::vector<int64_t>& captions) const;
  // B x 3 x S x S on a scale of 0 to 1 -> B x R x C: the grid's regions.
  at::Tensor GridFeatures(const at::Tensor& pictures);
  // -> B x R x (C + 6): with the cells' boxes.
  at::Tensor WithBoxes(const at::Tensor& features) const;
  // -> B x R x H, what the encoder reads.
  at::Tensor RegionRows(const at::Tensor& grid_rows) { return net_->RegionRows(grid_rows); }

  // Embeddings of length one, B x H.
  at::Tensor EmbedImages(const at::Tensor& region_rows);
  at::Tensor EmbedCaptions(const CaptionBatch& captions);
  // The same of captions, or of texts of concepts, as a bi step shows them: tokens dropped as
  // the options say.  `seed` is the step's.
  at::Tensor EmbedShownCaptions(const std::vector<int64_t>& captions, uint64_t seed);
  at::Tensor EmbedShownTexts(const std::vector<int64_t>& texts, uint64_t seed);

  // Logits of caption i with image i: B x 2, no match and match.
  at::Tensor PairLogits(const CaptionBatch& captions, const at::Tensor& region_rows);

  // Many, in passes of bounded size, without autograd; in evaluation mode, which is
  // restored to what it was.  Images from what `grid_rows` makes of some rows.
  at::Tensor EmbedAllImages(
      const std::vector<int64_t>& rows,
      const std::function<at::Tensor(const std::vector<int64_t>&)>& grid_rows);
  at::Tensor EmbedAllCaptions(const std::vector<int64_t>& captions);

 private:
  using TokenSpan = absl::Span<const int32_t>;

  at::Tensor EmbedShown(const std::vector<TokenSpan>& texts, const std::vector<int64_t>& numbers,
                        RandomStream stream, uint64_t seed);
  // In passes of `per_pass` texts of like lengths, so that little is padding.
  at::Tensor EmbedByLength(const std::vector<TokenSpan>& texts, size_t per_pass);
  CaptionBatch Padded(absl::Span<const absl::Span<const int32_t>> texts) const;
  at::Tensor Encode(const at::Tensor& rows, const at::Tensor& mask);

  const TrainingSet& set_;
  const c10::Device device_;
  const Precision precision_;
  const double token_dropout_;
  OscarNet net_;
  const at::Tensor boxes_;  // R x 6
};

// Puts a net into evaluation mode for a while.
class EvaluationScope {
 public:
  explicit EvaluationScope(JointNet* net)
      : module_(net->module()), was_training_(module_.is_training()) {
    module_.eval();
  }
  ~EvaluationScope() { module_.train(was_training_); }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  OscarNetImpl& module_;
  const bool was_training_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_JOINT_NET_H_
