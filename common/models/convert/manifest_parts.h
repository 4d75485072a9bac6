// What the families' conversions share: parts of a manifest, by what the checkpoint, its config
// and the options say.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_MANIFEST_PARTS_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_MANIFEST_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/convert/checkpoint.h"
#include "common/models/convert/conversion.h"
#include "common/models/convert/tensor_plan.h"

namespace sightline {

// Whether any of `tensors` has a name that begins with `prefix`.
bool HasPrefix(const NamedTensors& tensors, absl::string_view prefix);

// `value` as a manifest holds it.  What does not fit becomes the nearest that does, which is in
// no range that CheckManifest accepts.
int ToInt32(int64_t value);

// Heads: the option, the config's, or else one for 64 columns.  InvalidArgument if nothing
// tells.
absl::StatusOr<int64_t> HeadCount(const Checkpoint& source, const ConvertOptions& options,
                                  int64_t hidden);

// The transformer's sizes, heads and epsilon.  InvalidArgument for a config that says what
// the models do not compute (another activation).
absl::StatusOr<bundle::v1::TransformerSpec> MakeTransformer(const Checkpoint& source,
                                                            const ConvertOptions& options,
                                                            const BertSizes& sizes);

bundle::v1::TokenizerSpec MakeTokenizerSpec(bundle::v1::TokenizerSpec::Kind kind, bool lowercase,
                                            int64_t max_token_count);

// Which parts of a model that can be both a checkpoint becomes.
struct Uses {
  bool encoder = false;
  bool cross_encoder = false;
};
// `usual` where the option says nothing.  InvalidArgument for an unknown word, a
// cross-encoder without `has_classifier`, and a cross-encoder's options for what is none.
absl::StatusOr<Uses> UsesOf(const ConvertOptions& options, bool has_classifier, Uses usual);

// Sets the cross-encoder, combined by "replace".  InvalidArgument unless `score_kind` is
// one of `known`, the first of which stands for none.
absl::Status SetCrossEncoder(absl::string_view score_kind, const std::vector<std::string>& known,
                             bundle::v1::ModelBundleManifest* manifest);

// As the options say; without them, regions of confidence above 0.2, at least 10 if the
// manifest's transformer reads so many: what UNITER and LightningDOT were trained on.
void SetUniterRegionRule(const ConvertOptions& options, bundle::v1::ModelBundleManifest* manifest);

void SetEmbedding(int64_t dimension, bundle::v1::EmbeddingSpec::Metric metric,
                  bundle::v1::ModelBundleManifest* manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_MANIFEST_PARTS_H_
