// Generations on disk: their manifests.  Files of one shard are listed by shard_files.h,
// read by shard_vectors.h, feature_store.h, probe_file.h and the kinds of common/index, and
// written by shard_writer.h; verify.h reads all of a generation once and compares checksums;
// publication.h says which one is served.
//
//   <store>/models/<sha256>/...
//   <store>/indexes/<index>/CURRENT
//   <store>/indexes/<index>/generations/<id>/manifest.json
//                                            shards/00000-of-00002.vectors
//                                            shards/00000-of-00002.features
//                                            shards/00000-of-00002.probes
//                                            shards/00000-of-00002.<kind of index>
#ifndef SIGHTLINE_COMMON_BUNDLE_GENERATION_H_
#define SIGHTLINE_COMMON_BUNDLE_GENERATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/layout.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/shard_writer.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// All of them: InvalidArgument if a name is none (layout.h).
absl::Status CheckNames(absl::string_view index, absl::string_view generation);
absl::Status CheckIndexName(absl::string_view index);

// NotFound (MANIFEST_MISSING), DataLoss (MANIFEST_INVALID: malformed, wrong index or id),
// FailedPrecondition (NEWER_FORMAT).
absl::StatusOr<bundle::v1::GenerationManifest> ReadGenerationManifest(absl::string_view store,
                                                                      absl::string_view index,
                                                                      absl::string_view generation);

// The same of a manifest's text, wherever that was read; `where` is for messages.
absl::StatusOr<bundle::v1::GenerationManifest> ParseManifestOf(absl::string_view index,
                                                               absl::string_view generation,
                                                               absl::string_view where,
                                                               absl::string_view json);

// Writes manifest.json (fsync, rename), filling format_version.  The last act of making
// a generation: without it the folder is nothing.  InvalidArgument if it is malformed;
// AlreadyExists if the generation has another manifest: generations are immutable.
absl::Status WriteGenerationManifest(absl::string_view store,
                                     const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_GENERATION_H_
