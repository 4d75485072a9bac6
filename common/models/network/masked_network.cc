#include "common/models/network/masked_network.h"

#include <ATen/ATen.h>

#include <iterator>

#include "common/models/inputs/pretraining_heads.h"

namespace sightline {

const MaskedNetwork* MaskedNetworkOf(const Network& network) {
  return dynamic_cast<const MaskedNetwork*>(&network);
}

std::vector<std::string> PretrainingHeadNames() {
  return std::vector<std::string>(std::begin(kPretrainingHeadNames),
                                  std::end(kPretrainingHeadNames));
}

at::Tensor ShownFeatures(const at::Tensor& features, absl::Span<const int64_t> hidden,
                         const at::Tensor& hidden_feature) {
  if (hidden.empty()) return features;
  const auto count = static_cast<int64_t>(hidden.size());
  const at::Tensor places =
      at::tensor(at::ArrayRef<int64_t>(hidden.data(), hidden.size()), at::kLong)
          .to(features.device());
  return features.index_copy(0, places, hidden_feature.expand({count, features.size(1)}));
}

}  // namespace sightline
