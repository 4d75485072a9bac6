// What a server falls back to when the published generation is refused.
#ifndef SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_
#define SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Generations of the index that are there still, the best first, each with the sequence that
// it was published with: those published before `current`, newest first, but for what was
// rolled back; then what the present one was made from, with sequence 0.
std::vector<std::pair<std::string, int64_t>> Ancestors(
    const std::string& store, const std::string& index,
    const bundle::v1::CurrentGeneration& current);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_ANCESTORS_H_
