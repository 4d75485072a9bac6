// How a query is compared with the rows of a list, by what the lists keep of them.
#ifndef SIGHTLINE_COMMON_INDEX_ROW_SCANNER_H_
#define SIGHTLINE_COMMON_INDEX_ROW_SCANNER_H_

#include <cstdint>
#include <memory>

#include "common/index/best_estimates.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_query.h"
#include "common/index/vector_index.h"

namespace sightline {

// Of one query.  Immutable, thread-safe.
class RowScanner {
 public:
  virtual ~RowScanner() = default;

  // Offers the rows at positions [begin, end), which are of a list whose centroid's product with
  // the query's unit is `product`; where `among` is not null, those alone whose bits are set in it
  // (RowSet::words).  Returns how many rows were let through.
  virtual int64_t Scan(int64_t begin, int64_t end, float product, const uint64_t* among,
                       BestEstimates* best) const = 0;

  // Asks for the memory that a scan of [begin, end) begins with.
  virtual void Prefetch(int64_t begin, int64_t end) const = 0;
};

// By what `file` has.  All arguments outlive it.  Where the file has no codes, estimates are the
// scores themselves (row_scores.h), and `vectors` lie in memory.
std::unique_ptr<RowScanner> RowScannerOf(const IvfFile& file, const VectorView& vectors,
                                         const IvfQuery& query);

// Bytes of memory that a scan reads for a row.
int64_t ScannedBytes(const IvfShape& shape, const VectorView& vectors);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROW_SCANNER_H_
