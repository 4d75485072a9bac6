#include "common/index/index_kinds.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"

// All that there are, a line each: the constants that their files define.  The first is that of
// manifests which name none.
#define SIGHTLINE_INDEX_KINDS(KIND) \
  KIND(kFlatIndexKind)              \
  KIND(kFlatInt8IndexKind)          \
  KIND(kIvfIndexKind)               \
  KIND(kHnswIndexKind)

namespace sightline {

#define SIGHTLINE_DECLARE(kind) extern const IndexKind kind;
SIGHTLINE_INDEX_KINDS(SIGHTLINE_DECLARE)
#undef SIGHTLINE_DECLARE

namespace {

#define SIGHTLINE_LIST(kind) &kind,
constexpr const IndexKind* kIndexKinds[] = {SIGHTLINE_INDEX_KINDS(SIGHTLINE_LIST)};
#undef SIGHTLINE_LIST

}  // namespace

absl::Span<const IndexKind* const> IndexKinds() {
  return kIndexKinds;
}

absl::StatusOr<const IndexKind*> IndexKindOf(const bundle::v1::GenerationManifest& manifest) {
  if (!manifest.has_index_spec()) return kIndexKinds[0];
  const std::string& wanted = manifest.index_spec().kind();
  std::vector<std::string> known;
  for (const IndexKind* kind : kIndexKinds) {
    if (wanted == kind->name) return kind;
    known.push_back(kind->name);
  }
  return MakeError(
      reasons::kUnknownIndexKind,
      absl::StrCat("the generation is searched by an index of kind '", wanted,
                   "', which this program does not know; it knows ", absl::StrJoin(known, ", ")));
}

}  // namespace sightline
