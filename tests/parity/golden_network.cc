#include "tests/parity/golden_network.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/models/m3p/net.h"
#include "common/models/network/net_loading.h"
#include "common/models/network/network_model.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/uniter/net.h"

namespace sightline {
namespace {

void Append(const at::Tensor& values, std::vector<float>* out) {
  const at::Tensor flat = values.contiguous();
  out->insert(out->end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

// What each pair of text i and image i reads.
struct Pairs {
  std::vector<PreparedText> texts;
  std::vector<NetworkPair> pairs;
};

absl::StatusOr<Pairs> PairsOf(const Network& network, const GoldenInputs& inputs) {
  Pairs result;
  const size_t count = std::min(inputs.texts.size(), inputs.images.size());
  for (size_t i = 0; i < count; ++i) {
    result.texts.push_back(network.PrepareText(inputs.texts[i].ids));
  }
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const ImageNumbers image, network.ReadImage(inputs.images[i]));
    const FeatureRows rows = network.PrepareImage(image);
    result.pairs.push_back({inputs.texts[i].ids, &result.texts[i], {rows.begin(), rows.end()}});
  }
  return result;
}

}  // namespace

absl::StatusOr<std::vector<float>> HeadOutputs(const Model& model, const GoldenInputs& inputs) {
  const c10::InferenceMode no_autograd;
  const Network& network = *NetworkOf(model);
  ASSIGN_OR_RETURN(const Pairs pairs, PairsOf(network, inputs));
  std::vector<float> outputs;
  if (!pairs.pairs.empty()) Append(network.ScorePairs(pairs.pairs), &outputs);
  return outputs;
}

absl::StatusOr<std::vector<float>> ImageFeatureRows(const Model& model,
                                                    const std::vector<ImageInput>& images,
                                                    size_t index) {
  const c10::InferenceMode no_autograd;
  std::vector<float> rows;
  for (const ImageInput& image : images) {
    ASSIGN_OR_RETURN(const ImageNumbers numbers, NetworkOf(model)->ReadImage(image));
    Append(NetworkOf(model)->PrepareImage(numbers)[index], &rows);
  }
  return rows;
}

absl::StatusOr<std::vector<float>> PreparedTextRows(const Model& model,
                                                    const std::vector<Tokens>& texts, size_t index,
                                                    int64_t width) {
  const c10::InferenceMode no_autograd;
  std::vector<float> rows;
  for (const Tokens& text : texts) {
    const at::Tensor own = NetworkOf(model)->PrepareText(text.ids)[index];
    Append(at::constant_pad_nd(own, {0, 0, 0, width - own.size(0)}), &rows);
  }
  return rows;
}

absl::StatusOr<JointRows> UniterJointRows(const GoldenModel& model, const GoldenInputs& inputs) {
  ASSIGN_OR_RETURN(const auto net, LoadNet<UniterNetImpl>(model.bundle(), {}, TensorGate()));
  const c10::InferenceMode no_autograd;
  ASSIGN_OR_RETURN(const Pairs pairs, PairsOf(*NetworkOf(model.model()), inputs));
  JointRows rows;
  for (const NetworkPair& pair : pairs.pairs) {
    const PackedRows packed = Joined(Pack({{(*pair.text)[0], pair.image[0]}}), TensorGate());
    BertEncoder encoder = net->trunk().encoder();
    const at::Tensor first = encoder->ForwardPacked(packed, Readout::kFirstRows);
    Append(first, &rows.first);
    Append(net->Pooled(first), &rows.pooled);
  }
  return rows;
}

absl::StatusOr<JointRows> M3pJointRows(const GoldenModel& model, const GoldenInputs& inputs) {
  ASSIGN_OR_RETURN(const auto net, LoadNet<M3pNetImpl>(model.bundle(), {}, TensorGate()));
  const c10::InferenceMode no_autograd;
  ASSIGN_OR_RETURN(const Pairs pairs, PairsOf(*NetworkOf(model.model()), inputs));
  JointRows rows;
  for (const NetworkPair& pair : pairs.pairs) {
    const ItemRows& regions = pair.image[0];
    const PackedRows packed =
        Joined(Pack({{regions, net->At((*pair.text)[0], regions.count())}}), TensorGate());
    BertEncoder encoder = net->encoder();
    const at::Tensor first = encoder->ForwardPacked(packed, Readout::kFirstRows);
    Append(first, &rows.first);
    Append(net->Pooled(first), &rows.pooled);
  }
  return rows;
}

}  // namespace sightline
