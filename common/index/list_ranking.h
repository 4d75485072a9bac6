// Which lists of an inverted file a query looks into first: those that are the likeliest to have
// rows with large inner products.  Such a product is that of the centroid and that of the row's
// residual, and of the rows of a list the best have some reach beyond the centroid, more where
// residuals are long (ivf_training.h); so lists are in the order of product and reach.
//
// Centroids are multiplied as they are kept, in int8.  Where there are many and few are wanted, all
// are estimated by a bit or two an axis first (nibble_codes.h), and the best of them multiplied.
#ifndef SIGHTLINE_COMMON_INDEX_LIST_RANKING_H_
#define SIGHTLINE_COMMON_INDEX_LIST_RANKING_H_

#include <cstdint>
#include <vector>

#include "common/index/code_space.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_query.h"

namespace sightline {

// Where the centroids' codes are made, and those of rows in bits: as the file says, which outlives
// it.
CodeSpace CodeSpaceOf(const IvfFile& file);

struct RankedList {
  int32_t list = 0;
  float product = 0;  // of its centroid with the query's unit
  float promise = 0;  // with the list's reach
};

// Immutable, thread-safe.
class ListRanking {
 public:
  // Of the lists of `file`, which outlives it, with codes in `space`.
  ListRanking(const IvfFile& file, const CodeSpace& space);

  // Bytes that are kept beside the file.
  int64_t byte_count() const { return static_cast<int64_t>(blocks_.size()); }
  static int64_t ByteCount(const IvfShape& shape);

  // The best `count` lists that have rows, or all, by their promise; equal ones by number.  Of two
  // counts, the lists of one need not be the first of the other's.
  std::vector<RankedList> Best(const IvfQuery& query, int64_t count) const;

  // These, and further ones after them as long as all together hold fewer than `rows` rows: what a
  // search without a filter looks into.
  std::vector<RankedList> BestHolding(const IvfQuery& query, int64_t count, int64_t rows) const;

 private:
  std::vector<int32_t> Promising(const IvfQuery& query, int64_t count) const;

  const IvfFile& file_;
  std::vector<uint8_t> blocks_;  // codes of centroids, of their distances from the mean of all
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_LIST_RANKING_H_
