// What a search has to find, in the plainest way: every row's inner product, summed as double.
#ifndef SIGHTLINE_DEPLOY_GPU_BRUTE_FORCE_H_
#define SIGHTLINE_DEPLOY_GPU_BRUTE_FORCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"

namespace sightline {

// Of one query, rows of float16 from the best on, a few more than are compared.
struct PlainList {
  std::vector<int64_t> rows;
  std::vector<double> scores;
};

std::vector<PlainList> BruteForce(const VectorView& rows, const EmbeddingMatrix& queries, int top_k,
                                  ComputePool* pool);

// "" if `found` has `top_k` rows, or all there are, and each is the one at its place in `expected`
// with its score, but for what sums of float32 may be off by: rows whose scores lie nearer to one
// another may have changed places.  Else what is wrong first.
std::string DifferenceFrom(const PlainList& expected, const std::vector<Neighbor>& found,
                           int top_k);

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_BRUTE_FORCE_H_
