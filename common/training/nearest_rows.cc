#include "common/training/nearest_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sightline {
namespace {

// Bounds the scores that are held at once: 64 MB in float32.
constexpr int64_t kMostScores = 1 << 24;
// Beyond those that are kept, so that what is not wrong (a picture of its own, or of the same
// words) leaves enough of them.
constexpr int64_t kSpare = 32;

}  // namespace

std::vector<int64_t> NearestRows(const at::Tensor& queries, const at::Tensor& pool, int64_t kept,
                                 const std::function<bool(int64_t query, int64_t row)>& is_wrong) {
  const at::NoGradGuard no_grad;
  const int64_t count = queries.size(0), rows = pool.size(0);
  const int64_t looked_at = std::min(rows, kept + kSpare);
  const int64_t pass = std::max<int64_t>(1, kMostScores / rows);
  std::vector<int64_t> nearest(count * kept, -1);
  // Takes the wrong ones of `order`, largest first; returns whether there were enough.
  const auto take = [&](const int64_t* order, int64_t size, int64_t query) {
    int64_t taken = 0;
    for (int64_t i = 0; i < size && taken < kept; ++i) {
      if (is_wrong(query, order[i])) nearest[query * kept + taken++] = order[i];
    }
    return taken == kept;
  };
  for (int64_t begin = 0; begin < count; begin += pass) {
    const int64_t part = std::min(pass, count - begin);
    const at::Tensor scores = at::matmul(queries.narrow(0, begin, part), pool.t());
    const at::Tensor best = std::get<1>(scores.topk(looked_at, 1)).to(at::kCPU).contiguous();
    for (int64_t i = 0; i < part; ++i) {
      if (take(best.data_ptr<int64_t>() + i * looked_at, looked_at, begin + i)) continue;
      if (looked_at == rows) continue;
      const at::Tensor all = scores[i].argsort(0, /*descending=*/true).to(at::kCPU).contiguous();
      take(all.data_ptr<int64_t>(), rows, begin + i);
    }
  }
  return nearest;
}

}  // namespace sightline
