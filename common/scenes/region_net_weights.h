// The weights by which every machine sees the regions of Sightline Scenes alike.
#ifndef SIGHTLINE_COMMON_SCENES_REGION_NET_WEIGHTS_H_
#define SIGHTLINE_COMMON_SCENES_REGION_NET_WEIGHTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// region_net.safetensors, which programs carry, as long as the process lasts.  DataLoss, which
// names both sums, if its SHA-256 is not the one that features are known by.
absl::StatusOr<absl::string_view> RegionNetWeights();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_REGION_NET_WEIGHTS_H_
