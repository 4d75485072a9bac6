// A shard's vectors stored as other numbers.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERTED_VECTORS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERTED_VECTORS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Writes the vectors file of shard `shard` of `manifest`, which lies below `from`, anew below `to`:
// the same items and records, embeddings as `dtype`, rounded to the nearest.  Returns what a
// manifest says of it.  Holds the ids of the shard.  Errors as reading a vectors file
// (vectors_reader.h) and as WriteShardFrom, whose InvalidArgument names an item with a number that
// `dtype` cannot hold.
absl::StatusOr<bundle::v1::BundleFile> ConvertVectors(
    absl::string_view from, const bundle::v1::GenerationManifest& manifest, int shard, Dtype dtype,
    absl::string_view to, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERTED_VECTORS_H_
