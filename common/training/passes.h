// A batch in passes that fit into memory.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_PASSES_H_
#define SIGHTLINE_COMMON_TRAINING_PASSES_H_

#include <cstdint>
#include <vector>

namespace sightline {

// Items of these lengths in passes of at most `pass_rows` rows, padding included, unless one item
// has more; 0: one pass.  Neighbours have like lengths, so that little is padding.
std::vector<std::vector<int64_t>> PassesOf(const std::vector<int64_t>& lengths, int64_t pass_rows);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PASSES_H_
