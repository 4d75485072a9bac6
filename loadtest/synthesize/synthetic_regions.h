// Item features for a cross-encoder, of the shape and scale of real ones.
//
// What a reranker costs depends on how many region rows an item has and how wide they
// are, not on what they say.  So the rows are drawn from a pool, which makes them as fast
// as memory is: an item is a choice of rows, in order.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_REGIONS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_REGIONS_H_

#include <cstdint>
#include <string>

#include "common/bundle/item_features.h"

namespace sightline {

// Immutable, thread-safe.
class SyntheticRegions {
 public:
  // `regions` rows an item, of `columns` numbers; both at least 1.
  SyntheticRegions(uint64_t seed, int regions, int columns);

  // Makes `features` those of item `item`: one tensor "regions", float16, mean 0 and
  // variance 1, as the family oscar stores projected regions.
  void Fill(uint32_t item, ItemFeatures* features) const;

  int64_t bytes_per_item() const { return regions_ * row_bytes_; }

 private:
  const uint64_t seed_;
  const int64_t regions_;
  const int64_t columns_;
  const int64_t row_bytes_;
  std::string pool_;  // rows, one after another
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_REGIONS_H_
