// What a search may find and how hard it looks (types.proto), on the wire and as plain structs.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_FILTER_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_FILTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/effort.h"
#include "common/bundle/tag_filter.h"
#include "common/clients/convert.h"
#include "sightline/v1/types.pb.h"

namespace sightline {

void ToProto(TagFilter filter, v1::TagFilter* out);
// Refuses more than limits::kMaxFilterTags tags in all, and one that is empty or longer than
// limits::kMaxFilterTagBytes.
absl::StatusOr<TagFilter> FromProto(v1::TagFilter filter, const FieldPath& path);

// Of a wish for both, the recall.
void ToProto(const EffortWish& wish, v1::EffortWish* out);
// Refuses a recall outside (0, 1] and an effort outside 1 to limits::kMaxEffort.
absl::StatusOr<EffortWish> FromProto(const v1::EffortWish& wish, const FieldPath& path);
bool IsGiven(const EffortWish& wish);

void ToProto(const SearchEffort& effort, v1::SearchEffort* out);
// Refuses a recall outside [0, 1] and an effort that nobody can have asked for.
absl::StatusOr<SearchEffort> FromProto(const v1::SearchEffort& effort, const FieldPath& path);

// Whether an answer over `matched` items says how hard was looked.  Where nothing passes nothing
// was looked at, and releases from before there were filters and efforts say neither.
bool TellsEffort(const SearchEffort& effort, int64_t matched);

// InvalidArgument that names `field` if a server has found items but knows of none that passes the
// filter which was asked for: it is of a release from before there were filters, takes no notice of
// any, and has searched all items.
absl::Status CheckFilterWasHeard(const v1::TagFilter& filter, bool found, int64_t matched,
                                 const FieldPath& field);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_FILTER_H_
