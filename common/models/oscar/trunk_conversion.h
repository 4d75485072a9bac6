// What checkpoints of OSCAR and of what was made of its trunk (VLDeformer) have in common.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_TRUNK_CONVERSION_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_TRUNK_CONVERSION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/convert/checkpoint.h"
#include "common/models/convert/conversion.h"
#include "common/models/convert/tensor_plan.h"

namespace sightline {

inline constexpr char kOscarTrunk[] = "bert.";
// Segment of tags.
inline constexpr int64_t kOscarTagType = 1;

// What a checkpoint is, of which nobody has said it.
enum class OscarTrunkKind {
  kNone,        // not of OSCAR's kind
  kOscar,       // it has a classifier, or was asked for a use that only an OSCAR has
  kVlDeformer,  // a trunk alone whose file is *.cpkt or whose config tells max_img_seq_length
  kUnclear,     // a trunk alone, which may be either
};
OscarTrunkKind KindOfOscarTrunk(const Checkpoint& source, const ConvertOptions& options);

// The name under which a tensor is loaded; empty for one that nobody uses.
std::string CanonicalOscarName(absl::string_view name);

// Puts the trunk's tensors into `plan` and gives the sizes that are taken from it.
absl::StatusOr<bundle::v1::TransformerSpec> PlanOscarTrunk(const Checkpoint& source,
                                                           const ConvertOptions& options,
                                                           const BertSizes& sizes,
                                                           TensorPlan* plan);

// `tensors` without the pooler and, if told so, the classifier.
NamedTensors WithoutOscarHead(const NamedTensors& tensors, bool classifier_too);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_TRUNK_CONVERSION_H_
