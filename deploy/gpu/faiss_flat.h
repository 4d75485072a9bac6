// FAISS's own exact search on a GPU, of rows in float16: what ours is timed beside.
#ifndef SIGHTLINE_DEPLOY_GPU_FAISS_FLAT_H_
#define SIGHTLINE_DEPLOY_GPU_FAISS_FLAT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sightline {

// One thread at a time.
class FaissFlat {
 public:
  virtual ~FaissFlat() = default;

  // Of `count` rows of `dimension` numbers, which are rounded to float16 and may go afterwards.
  // What FAISS throws is an Internal status.
  static absl::StatusOr<std::unique_ptr<FaissFlat>> Make(const float* rows, int64_t count,
                                                         int dimension, int device);

  // The rows with the largest inner products, best first: `top_k` of each query, in lists one after
  // another.
  virtual absl::Status Search(const float* queries, int64_t count, int top_k, float* scores,
                              int64_t* rows) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_FAISS_FLAT_H_
