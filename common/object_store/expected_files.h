// What manifests say of the files of a mirror.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_EXPECTED_FILES_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_EXPECTED_FILES_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/fetch.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// The key of the object that the file `path` of `folder` is.  Internal if it does not lie there.
absl::StatusOr<std::string> KeyOfPath(absl::string_view folder, absl::string_view path);

// The model of "models/<id>/...", and the rest of the key; an empty id if it is no such key.
std::pair<std::string, std::string> SplitModelKey(absl::string_view key);

// What the generation's manifest, and those of its models in `folder`, say of the file `path` of
// that folder.  NotFound if they say nothing of it; as KeyOfPath.
absl::StatusOr<ExpectedFile> ExpectedOf(const std::string& folder,
                                        const bundle::v1::GenerationManifest& manifest,
                                        absl::string_view path);

// Why the file `path` is not what they say, which is found out by reading all of it.  OK also if
// they say nothing of it, or `call` ends meanwhile.
absl::Status CompareWithManifests(const std::string& folder,
                                  const bundle::v1::GenerationManifest& manifest,
                                  const std::string& path, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_EXPECTED_FILES_H_
