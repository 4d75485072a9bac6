// In which order the rows of a graph are linked, and so which of them are on upper levels.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_ORDER_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace sightline {

// Rows 0 to `rows` - 1 as `seed` shuffles them, those for which `last` holds behind all others.
// Rows come by item id, and neighbors by id are often neighbors by content: a graph that met one
// cluster after the other would have long links to the first ones only.
std::vector<uint32_t> HnswOrder(int64_t rows, uint64_t seed,
                                absl::FunctionRef<bool(uint32_t row)> last);

// Bytes that it takes while it works, the answer included.
int64_t HnswOrderMemory(int64_t rows);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_ORDER_H_
