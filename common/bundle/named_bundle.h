// A bundle as people name it.
#ifndef SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_
#define SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// The bundle of that id in `store`.  NotFound, which names the two, if it is not there, and
// InvalidArgument for a store that is no folder; else errors as FileError and OpenModelBundle.
absl::StatusOr<ModelBundle> OpenStoredBundle(const std::string& store, const std::string& id,
                                             bool verify_checksums);

// The bundle of that id in `store`, or, where `name` is no id, the one in a folder of that name.
// Its checksums hold, if they are looked at.  NotFound if there is neither; else errors as
// OpenStoredBundle.
absl::StatusOr<ModelBundle> OpenNamedBundle(const std::string& store, const std::string& name,
                                            bool verify_checksums = true);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_
