// What a server falls back to when the published generation is refused.
#ifndef SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_
#define SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Calls `visit` with the generations of the index that `is_there` finds, the best first, and
// the sequence that each was published with, until it says false: those published before
// `current`, newest first, but for what was rolled back; then what the present one was made
// from, with sequence 0.
void VisitAncestors(
    const std::string& store, const std::string& index,
    const bundle::v1::CurrentGeneration& current,
    const std::function<bool(const std::string& generation)>& is_there,
    const std::function<bool(const std::string& generation, int64_t sequence)>& visit);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_
