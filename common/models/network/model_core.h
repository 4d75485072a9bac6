// What encoders and cross-encoder of a model around a network have in common.  For
// network_model.cc and network_cross_encoder.cc.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_MODEL_CORE_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_MODEL_CORE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/models/inference.h"
#include "common/models/inputs/text_input.h"
#include "common/models/model.h"
#include "common/models/network/network.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {

// Immutable once the model is made; its parts point to it.
struct ModelCore {
  ModelOptions options;
  TensorGate gate;
  std::shared_ptr<const TextInput> text;
  std::unique_ptr<const Network> network;
  int dimension = 0;
  bool cosine = false;

  // How items are put into passes.
  GroupingOptions grouping() const;
  // RunGroups on the model's pool.  Notes a device that has failed (Execution::failed).
  absl::Status Run(absl::Span<const Group> groups, const CallContext& call, absl::string_view what,
                   const std::function<absl::Status(const Group&)>& run) const;
};

// `status`, about item `index` of a kind: "image 3 has no regions".
absl::Status AtItem(absl::string_view kind, size_t index, const absl::Status& status);

// All images as the network reads them; the first that it cannot read is named.
absl::StatusOr<std::vector<ImageNumbers>> ReadImages(const Network& network,
                                                     absl::Span<const ImageInput> images);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_MODEL_CORE_H_
