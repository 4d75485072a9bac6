#include "common/models/network/training_executor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/models/network/autocast.h"

namespace sightline {
namespace {

// Where the rows of B sequences lie among B x L of padded ones.
struct Padding {
  int64_t longest = 0;  // L
  at::Tensor sources;   // B * L: the packed row of each, or 0 where there is none
  at::Tensor mask;      // B x L, 1 for a row
  at::Tensor places;    // T: where each packed row is
};

Padding PaddingOf(const std::vector<int64_t>& lengths, const TensorGate& gate) {
  Padding padding;
  padding.longest = *std::max_element(lengths.begin(), lengths.end());
  const int64_t count = static_cast<int64_t>(lengths.size());
  std::vector<int64_t> sources(count * padding.longest, 0), places;
  std::vector<float> mask(sources.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t row = 0; row < lengths[i]; ++row) {
      const int64_t place = i * padding.longest + row;
      sources[place] = static_cast<int64_t>(places.size());
      mask[place] = 1;
      places.push_back(place);
    }
  }
  padding.sources = gate.In(at::tensor(sources, at::kLong));
  padding.mask = gate.In(at::tensor(mask).view({count, padding.longest}));
  padding.places = gate.In(at::tensor(places, at::kLong));
  return padding;
}

class TrainingExecutor : public TransformerExecutor {
 public:
  TrainingExecutor(BertEncoder encoder, const TensorGate& gate, bool bfloat16)
      : encoder_(std::move(encoder)), gate_(gate), bfloat16_(bfloat16) {}

  at::Tensor Run(const PackedParts& packed, Readout readout) const override {
    const Padding padding = PaddingOf(packed.lengths, gate_);
    const at::Tensor rows = Encode(packed, padding);
    if (readout == Readout::kFirstRows) return rows.select(1, 0);
    return rows.flatten(0, 1).index_select(0, padding.places);
  }

  at::Tensor RunMeans(const PackedParts& packed) const override {
    const Padding padding = PaddingOf(packed.lengths, gate_);
    return MaskedMean(Encode(packed, padding), padding.mask);
  }

 private:
  // The last layer's rows, B x L x H, float32.
  at::Tensor Encode(const PackedParts& packed, const Padding& padding) const {
    const PackedRows joined = Joined(packed, gate_);
    const at::Tensor rows = joined.rows.index_select(0, padding.sources)
                                .view({padding.mask.size(0), padding.longest, joined.rows.size(1)});
    at::Tensor bias = KeyBiasOf(padding.mask);
    if (joined.key_bias.defined()) {
      bias = bias + joined.key_bias.index_select(0, padding.sources).view(bias.sizes());
    }
    // Never without a bias, of zeros if need be: added in float32 it keeps the softmax there.
    const AutocastScope scope(bfloat16_, rows.is_cuda());
    return encoder_.ptr()->forward(rows, bias).to(at::kFloat);
  }

  const BertEncoder encoder_;
  const TensorGate gate_;
  const bool bfloat16_;
};

}  // namespace

std::unique_ptr<const TransformerExecutor> NewTrainingExecutor(BertEncoder encoder,
                                                               const TensorGate& gate,
                                                               bool bfloat16) {
  return std::make_unique<TrainingExecutor>(std::move(encoder), gate, bfloat16);
}

}  // namespace sightline
