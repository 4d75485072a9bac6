// A bundle as people name it.
#ifndef SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_
#define SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/base/checksum.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// The bundle of that id in `store`, or, where `name` is no id, the one in a folder of that name.
// Its checksums hold.  Errors as OpenModelBundle.
inline absl::StatusOr<ModelBundle> OpenNamedBundle(const std::string& store,
                                                   const std::string& name) {
  if (!IsSha256Hex(name)) return OpenBundleFolder(name, /*verify_checksums=*/true);
  return OpenModelBundle(ModelDirectory(store, name), /*verify_checksums=*/true);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_NAMED_BUNDLE_H_
