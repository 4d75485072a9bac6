// Regions of a picture, by the region extractor of a "torchscript" (README.md).
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_EXTRACTOR_H_
#define SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_EXTRACTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/bundle/model_bundle.h"
#include "common/image/image_input.h"
#include "common/models/execution.h"

namespace sightline {

// Null if the bundle, whose manifest is checked, has none.  InvalidArgument for a module that
// does not do for a black picture what README.md says.
absl::StatusOr<std::unique_ptr<const RegionExtractor>> NewTorchScriptExtractor(
    const ModelBundle& bundle, const Execution& execution, ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_EXTRACTOR_H_
