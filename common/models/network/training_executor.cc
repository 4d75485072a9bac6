#include "common/models/network/training_executor.h"

#include <ATen/ATen.h>

#include <utility>

#include "common/models/network/autocast.h"
#include "common/models/network/padded_rows.h"

namespace sightline {
namespace {

class TrainingExecutor : public TransformerExecutor {
 public:
  TrainingExecutor(BertEncoder encoder, const TensorGate& gate, bool bfloat16)
      : encoder_(std::move(encoder)), gate_(gate), bfloat16_(bfloat16) {}

  at::Tensor Run(const PackedParts& packed, Readout readout) const override {
    return Compute(packed, [readout](BertEncoderImpl* encoder, const PackedRows& joined) {
      return encoder->ForwardPacked(joined, readout);
    });
  }

  at::Tensor RunAt(const PackedParts& packed, const std::vector<int64_t>& rows) const override {
    return Compute(packed, [&rows](BertEncoderImpl* encoder, const PackedRows& joined) {
      return encoder->ForwardPackedAt(joined, rows);
    });
  }

  at::Tensor RunMeans(const PackedParts& packed) const override {
    const PaddedRows padding(packed.lengths, gate_.device());
    return MaskedMean(padding.Pad(Run(packed, Readout::kAllRows)), padding.mask());
  }

 private:
  template <typename Forward>
  at::Tensor Compute(const PackedParts& packed, const Forward& forward) const {
    PackedRows joined = Joined(packed, gate_);
    // Under autocast never without a bias, of zeros if need be: added in float32 it keeps the
    // softmax there.
    if (bfloat16_ && !joined.key_bias.defined()) {
      joined.key_bias = at::zeros({joined.rows.size(0)}, joined.rows.options());
    }
    const AutocastScope scope(bfloat16_, joined.rows.is_cuda());
    return forward(encoder_.ptr().get(), joined).to(at::kFloat);
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
