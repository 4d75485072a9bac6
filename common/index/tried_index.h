// What became of trials, as JSON: kept between runs, and in reports.
#ifndef SIGHTLINE_COMMON_INDEX_TRIED_INDEX_H_
#define SIGHTLINE_COMMON_INDEX_TRIED_INDEX_H_

#include <nlohmann/json.hpp>

#include "absl/types/optional.h"
#include "common/index/index_choice.h"

namespace sightline {

// {"spec": {...}, "bytes_per_item", "build_seconds", "efforts": [...], "seconds", "verdict"}; spec
// and efforts as manifests have them.
nlohmann::ordered_json TriedJson(const TriedIndex& tried);

// None for what is no such thing.
absl::optional<TriedIndex> TriedOf(const nlohmann::json& json);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_TRIED_INDEX_H_
