// Model bundles from the checkpoints of the five papers' repositories.
//
//   ConvertOptions options;
//   options.checkpoint = "uniter-base.pt";
//   options.vocabulary = "vocab.txt";
//   ASSIGN_OR_RETURN(Conversion conversion, ConvertCheckpoint(options));
//   ASSIGN_OR_RETURN(ModelBundle bundle, WriteConversion(store, conversion, {}));
//
// Tensors are mapped, renamed and written one after another: no more than a piece of one
// is in memory at a time.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_CONVERT_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_CONVERT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/convert/conversion.h"

namespace sightline {

// Names of the families that checkpoints become, in bytewise order.
std::vector<absl::string_view> ConvertedFamilies();

// Reads the checkpoint and makes a manifest for it.  InvalidArgument: no family has such
// tensors; tensors that are missing, unexpected or unfit, all in one message; a vocabulary
// of another length than the word table; a size that nothing tells; an option that the
// family does not have; a manifest that CheckManifest refuses, with the options that
// would change it; tensors that several families take for theirs.  Also the errors of the files.
absl::StatusOr<Conversion> ConvertCheckpoint(const ConvertOptions& options);

// Whether weights are stored in float16; else as they are, though bfloat16 and float64
// become float32.
struct WriteOptions {
  bool half = false;
};

// Writes the bundle below `store` and returns it.  Equal checkpoints give the same bundle,
// whatever file they come from.  InvalidArgument, naming the tensor, for a number that is
// not finite or does not fit, and for a negative variance.
absl::StatusOr<ModelBundle> WriteConversion(absl::string_view store, const Conversion& conversion,
                                            const WriteOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_CONVERT_H_
