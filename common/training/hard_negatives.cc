#include "common/training/hard_negatives.h"

#include "common/training/nearest_rows.h"

namespace sightline {

MinedNegatives MineNegatives(const TrainingRows& rows, const at::Tensor& texts,
                             const at::Tensor& images, int64_t width) {
  MinedNegatives mined;
  mined.width = width;
  mined.rows = NearestRows(texts, images, width, [&](int64_t text, int64_t image) {
    return !rows.Related(rows.captioned()[text], rows.pictured()[image]);
  });
  for (int64_t& row : mined.rows) {
    if (row >= 0) row = rows.pictured()[row];
  }
  return mined;
}

}  // namespace sightline
