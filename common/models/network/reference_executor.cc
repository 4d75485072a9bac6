#include "common/models/network/reference_executor.h"

#include <utility>

namespace sightline {
namespace {

class ReferenceExecutor : public TransformerExecutor {
 public:
  explicit ReferenceExecutor(BertEncoder encoder) : encoder_(encoder.ptr()) { encoder_->eval(); }

  at::Tensor Run(PackedRows packed, Readout readout) const override {
    return encoder_->ForwardPacked(std::move(packed), readout);
  }

 private:
  const std::shared_ptr<BertEncoderImpl> encoder_;
};

}  // namespace

std::unique_ptr<const TransformerExecutor> NewReferenceExecutor(BertEncoder encoder) {
  return std::make_unique<ReferenceExecutor>(std::move(encoder));
}

}  // namespace sightline
