#include "common/index/index_kinds.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"

namespace sightline {
namespace {

int64_t FootprintOfVectors(const bundle::v1::ShardManifest& shard) {
  return shard.vectors().byte_count();
}

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenFlat(absl::string_view,
                                                      const bundle::v1::ShardManifest&,
                                                      const VectorView& vectors,
                                                      ComputePool* pool) {
  return OpenFlatIndex(vectors, pool);
}

// All that there are, a line each.  The first is that of manifests which name none.
constexpr IndexKind kIndexKinds[] = {
    {"flat", &FootprintOfVectors, /*build=*/nullptr, &OpenFlat},
};

}  // namespace

absl::StatusOr<const IndexKind*> IndexKindOf(const bundle::v1::GenerationManifest& manifest) {
  if (!manifest.has_index_spec()) return &kIndexKinds[0];
  const std::string& wanted = manifest.index_spec().kind();
  std::vector<std::string> known;
  for (const IndexKind& kind : kIndexKinds) {
    if (wanted == kind.name) return &kind;
    known.push_back(kind.name);
  }
  return MakeError(
      reasons::kUnknownIndexKind,
      absl::StrCat("the generation is searched by an index of kind '", wanted,
                   "', which this program does not know; it knows ", absl::StrJoin(known, ", ")));
}

}  // namespace sightline
