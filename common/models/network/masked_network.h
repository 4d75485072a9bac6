// A network that is learnt with parts of its input hidden: what it makes of every token and region,
// rather than of an item as a whole, and the tables in which predictions are looked up.
//
// Includes torch: only .cc files of common/models, common/training and tests include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_MASKED_NETWORK_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_MASKED_NETWORK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/models/network/executor.h"
#include "common/models/network/network.h"
#include "common/models/network/packing.h"
#include "common/models/network/transformer.h"

namespace sightline {

// An image as it is shown: its ids are those that are seen, and some regions may be hidden.
struct ShownImage {
  const ImageNumbers* image = nullptr;
  absl::Span<const int64_t> hidden;  // regions
};

// The last layer's rows of some items, one item after another.  The rows of an item's text, special
// tokens included, of its regions and of its image's ids lie together each, and begin at the row
// named here; of what an item does not have the number says nothing.
struct LastRows {
  // All of them, T x H, or those of these numbers, N x H, and of the last layer nothing else.  The
  // numbers rise, and each item has one at least.  Each call runs all layers, with what is dropped
  // in the scope of that moment.  Errors as TransformerExecutor::Run.
  at::Tensor All() const { return executor->Run(packed, Readout::kAllRows); }
  at::Tensor At(const std::vector<int64_t>& rows) const { return executor->RunAt(packed, rows); }

  PackedParts packed;
  const TransformerExecutor* executor = nullptr;  // the network's, which outlives this
  std::vector<int64_t> text;                      // [CLS] where there is no text
  std::vector<int64_t> regions;
  std::vector<int64_t> ids;
};

// What a family's Network is beside.  One thread's, with autograd.
class MaskedNetwork {
 public:
  virtual ~MaskedNetwork() = default;

  // Whether texts and images are read apart, by two towers, or together, as one stream.
  virtual bool has_two_towers() const = 0;
  // Whether an image's ids are a separator and the words that are read in it.
  virtual bool reads_scene_text() const = 0;
  // Whether an image's ids are tags and a separator, and how many of its tags are read beside a
  // text of `text` tokens, special ones included: the first ones.
  virtual bool reads_tags() const { return false; }
  virtual int64_t TagsReadBeside(const ImageNumbers& /*image*/, int64_t /*text*/) const {
    return 0;
  }

  // In place of a hidden region's feature stands `hidden_feature`, F numbers, which may learn; it
  // is undefined where nothing is hidden.  Boxes are seen.

  // Of two towers.
  virtual LastRows TextRows(absl::Span<const TokenSpan> texts) const = 0;
  virtual LastRows ImageRows(absl::Span<const ShownImage> images,
                             const at::Tensor& hidden_feature) const = 0;
  // Of one stream; as many images as texts.
  virtual LastRows PairRows(absl::Span<const TokenSpan> texts, absl::Span<const ShownImage> images,
                            const at::Tensor& hidden_feature) const = 0;
  // What Network::ScorePairs makes of pairs whose first rows of the last layer are these, B x H.
  virtual at::Tensor PairScores(const at::Tensor& /*first_rows*/) const { return {}; }

  // Word embeddings, V x H, of the tower that reads texts or images; one stream has one table.
  virtual at::Tensor text_words() const = 0;
  virtual at::Tensor image_words() const = 0;
  // The weight that makes rows of features, H x F.
  virtual at::Tensor region_weight() const = 0;
};

// The network as one that is learnt so; null of a family that is not.
const MaskedNetwork* MaskedNetworkOf(const Network& network);

// Tensors of a bundle's weights whose names begin so are heads of pre-training: no family serves
// them, and a run that masks may begin with them.
std::vector<std::string> PretrainingHeadNames();

// Features R x F, with `hidden_feature` in place of those that are hidden.
at::Tensor ShownFeatures(const at::Tensor& features, absl::Span<const int64_t> hidden,
                         const at::Tensor& hidden_feature);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_MASKED_NETWORK_H_
