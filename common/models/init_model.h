// Model bundles from nothing, or from another bundle's weights: the start of a training run, and
// models for trying out everything around a model.
#ifndef SIGHTLINE_COMMON_MODELS_INIT_MODEL_H_
#define SIGHTLINE_COMMON_MODELS_INIT_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/family_models.h"

namespace sightline {

struct InitOptions {
  uint64_t seed = 1;
  // Half the size on disk; a weight is rounded by at most one part in 2048.
  WeightDtype dtype = WeightDtype::kFloat16;
};

// Writes a bundle with random weights below `store` and returns it.  `manifest` says
// what to build; files, format_version and embedding.space are filled in, and
// vocabulary_size too if it is 0.  `vocabulary` is the content of the tokenizer's file.
// Equal arguments give the same bundle, and so the same id, on the same kind of CPU.
//
// InvalidArgument: an unknown family, a manifest that describes no model of it (all
// problems at once), a malformed vocabulary or one of another length.
absl::StatusOr<ModelBundle> InitModel(absl::string_view store,
                                      bundle::v1::ModelBundleManifest manifest,
                                      absl::string_view vocabulary, const InitOptions& options);

// A tensor whose name begins with the first text, which may be empty, is taken under the name that
// begins with the second one instead, in the place of one that is called so; the first pair that
// fits counts.  Others keep theirs.  InvalidArgument if two come to one name by this.
using Renames = std::vector<std::pair<std::string, std::string>>;

struct BorrowedModel {
  ModelBundle bundle;
  int64_t taken = 0;               // tensors of others
  std::vector<std::string> drawn;  // names of those that are random
};

// As InitModel, but tensors that `other` has by the same name, after `renames`, and of the same
// shape are taken from it, as they are stored there, and so is its vocabulary: a VLDeformer from
// the OSCAR that it is taken apart from, a LightningDOT that reads scene text from one that does
// not, every second layer of one twice as deep.  Whole heads of pre-training (pretraining_heads.h)
// come along, if the family has them.  What else `other` has is left out.
//
// InvalidArgument also where it has no such tensor, or none that a rename is of; DataLoss for
// weights that are no safetensors file; else as ReadBundleFile.
absl::StatusOr<BorrowedModel> InitModelFrom(const ModelBundle& other, absl::string_view store,
                                            bundle::v1::ModelBundleManifest manifest,
                                            const InitOptions& options,
                                            const Renames& renames = {});

// Weights that a model begins with.
struct WeightsSource {
  std::string path;  // a checkpoint, see Checkpoint::Open, or a bundle's folder
  Renames renames;
};

// The same from several, in this order, and with a vocabulary of its own: a LightningDOT whose
// image tower is a UNITER and whose text tower is a BERT.  InvalidArgument for a source of which
// nothing is taken; else as InitModel and Checkpoint::Open.
absl::StatusOr<BorrowedModel> InitModelFrom(const std::vector<WeightsSource>& sources,
                                            absl::string_view store,
                                            bundle::v1::ModelBundleManifest manifest,
                                            absl::string_view vocabulary,
                                            const InitOptions& options);

// The JSON of a ModelBundleManifest without files, in the file `path`;
// SmallOscarManifest() (oscar/small_manifest.h) if `path` is empty.  InvalidArgument if it is not
// that JSON; NotFound and so on from reading.  Whether it describes a model is not looked at.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadModelConfig(const std::string& path);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INIT_MODEL_H_
