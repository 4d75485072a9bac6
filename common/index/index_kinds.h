// The kinds of index that there are, by the names that manifests of generations have for them.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/index/index_kind.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// All that there are; the first is that of manifests which name none.
absl::Span<const IndexKind* const> IndexKinds();

// The kind that `manifest` asks for.  FailedPrecondition (UNKNOWN_INDEX_KIND), with those that
// there are, if this program has none of that name.
absl::StatusOr<const IndexKind*> IndexKindOf(const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_
