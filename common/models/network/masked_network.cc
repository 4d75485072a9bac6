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

std::vector<int64_t> BeginsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> begins;
  int64_t next = 0;
  for (const int64_t length : lengths) {
    begins.push_back(next);
    next += length;
  }
  return begins;
}

}  // namespace sightline
