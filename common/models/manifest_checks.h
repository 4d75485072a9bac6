// What a manifest must say before a model is built from it.  A manifest is data from a
// store: every number is compared with its range, so that no tensor is sized by a lie.
#ifndef SIGHTLINE_COMMON_MODELS_MANIFEST_CHECKS_H_
#define SIGHTLINE_COMMON_MODELS_MANIFEST_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"

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

// Ranges as model_bundle.proto states them, and what ties the parts of a BERT-like
// bundle together (positions for the longest text, and so on).  Parts that a family may
// leave out are checked when they are there.
void CheckTokenizer(const bundle::v1::ModelBundleManifest& manifest, Problems* problems);
void CheckTransformer(const bundle::v1::TransformerSpec& spec, Problems* problems);
void CheckGridExtractor(const bundle::v1::GridExtractorSpec& spec, Problems* problems);

// Side of the grid that `spec`, checked before, gives: image_size / 2^stages.
int64_t GridSide(const bundle::v1::GridExtractorSpec& spec);

// A lower bound of the weights that the parts describe.  Compared with the length of the
// weights file, it keeps a lying manifest from sizing tensors that no file fills.
int64_t LeastWeightCount(const bundle::v1::ModelBundleManifest& manifest);

// Path of the bundle's file `name`.  InvalidArgument unless the manifest lists it: what
// it does not list has no checksum.
absl::StatusOr<std::string> ListedFile(const ModelBundle& bundle, absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_MANIFEST_CHECKS_H_
