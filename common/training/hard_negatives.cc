#include "common/training/hard_negatives.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sightline {
namespace {

// Bounds the score matrix: 512 x 10 000 in float32 are 20 MB.
constexpr int64_t kTextsPerPass = 512;

}  // namespace

MinedNegatives MineNegatives(const TrainingRows& rows, const at::Tensor& texts,
                             const at::Tensor& images, int64_t width) {
  at::NoGradGuard no_grad;
  const int64_t count = texts.size(0);
  // Enough to be left with `width` when the row itself and all its relatives are dropped.
  const int64_t looked_at = std::min(images.size(0), width + 1 + rows.max_relatives());
  MinedNegatives mined;
  mined.width = width;
  mined.rows.assign(count * width, -1);
  for (int64_t begin = 0; begin < count; begin += kTextsPerPass) {
    const int64_t part = std::min(kTextsPerPass, count - begin);
    const at::Tensor scores = at::matmul(texts.narrow(0, begin, part), images.t());
    const at::Tensor best = std::get<1>(scores.topk(looked_at, 1)).to(at::kCPU).contiguous();
    const int64_t* place = best.data_ptr<int64_t>();
    for (int64_t i = begin; i < begin + part; ++i, place += looked_at) {
      const int64_t row = rows.captioned()[i];
      int64_t kept = 0;
      for (int64_t j = 0; j < looked_at && kept < width; ++j) {
        const int64_t other = rows.pictured()[place[j]];
        if (!rows.Related(row, other)) mined.rows[i * width + kept++] = other;
      }
    }
  }
  return mined;
}

}  // namespace sightline
