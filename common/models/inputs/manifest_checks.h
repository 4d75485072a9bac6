// What a manifest must say before a model is built from it.  A manifest is data from a
// store: every number is compared with its range, so that no tensor is sized by a lie.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_MANIFEST_CHECKS_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_MANIFEST_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/embedding/score.h"

namespace sightline {

// Collects what is wrong, to be told all at once.
class Problems {
 public:
  // Unless `holds`, notes `message`.
  void Require(bool holds, absl::string_view message);
  // Unless `value` is in [low, high], notes the field with its value and the range.
  void RequireRange(absl::string_view field, int64_t value, int64_t low, int64_t high);

  // OK, or InvalidArgument: `what`, then every problem.
  absl::Status ToStatus(absl::string_view what) const;

 private:
  std::vector<std::string> messages_;
};

// Ranges as model_bundle.proto states them.

// The family reads `kind`.
void CheckTokenizer(const bundle::v1::ModelBundleManifest& manifest,
                    bundle::v1::TokenizerSpec::Kind kind, Problems* problems);
// Positions for the longest text included; and the region rule, if there is one.
void CheckTransformer(const bundle::v1::ModelBundleManifest& manifest, Problems* problems);
// The family's embeddings have `dimension` numbers (0: any number), of rows that a manifest may
// choose, if `chooses_rows`.
void CheckEmbedding(const bundle::v1::ModelBundleManifest& manifest, int64_t dimension,
                    Problems* problems, bool chooses_rows = false);
// The family's heads give `kinds` and, unless `max_head_size` is 0, may have a hidden layer.
void CheckCrossEncoder(const bundle::v1::ModelBundleManifest& manifest,
                       std::initializer_list<ScoreKind> kinds, int64_t max_head_size,
                       Problems* problems);
void CheckGridExtractor(const bundle::v1::GridExtractorSpec& spec, Problems* problems);

// Side of the grid that `spec`, checked before, gives: image_size / 2^stages.
int64_t GridSide(const bundle::v1::GridExtractorSpec& spec);

// Lower bounds of the weights that a checked manifest describes, for
// FamilyManifest::least_weight_count: of a transformer with its word table and projection, and
// of one that reads regions, with head and grid.
int64_t LeastTowerWeightCount(const bundle::v1::ModelBundleManifest& manifest);
int64_t LeastTransformerWeightCount(const bundle::v1::ModelBundleManifest& manifest);

// Path of the bundle's file `name`.  InvalidArgument unless the manifest lists it: what
// it does not list has no checksum.
absl::StatusOr<std::string> ListedFile(const ModelBundle& bundle, absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_MANIFEST_CHECKS_H_
