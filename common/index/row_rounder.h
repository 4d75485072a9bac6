// Rows on their way to a device: rounded to float16, arranged as it reads them, and what that lost.
#ifndef SIGHTLINE_COMMON_INDEX_ROW_ROUNDER_H_
#define SIGHTLINE_COMMON_INDEX_ROW_ROUNDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/dtype.h"
#include "common/index/device_layout.h"
#include "common/index/device_scan.h"

namespace sightline {

class RowRounder {
 public:
  // Of rows that are stored as `dtype`.
  RowRounder(Dtype dtype, const DeviceLayout& layout);

  // Writes row number `row`, of layout.dimension `numbers`, to layout.numbers of float16 at `to`:
  // one whose scores are no numbers if it is an outlier.
  void Round(int64_t row, const float* numbers, uint16_t* to);

  // What was lost, of `rows` in all.  InvalidArgument if that many are outliers that each search
  // would spend its time on them.
  absl::StatusOr<RowRounding> Rounding(int64_t rows) &&;

 private:
  const Dtype dtype_;
  const DeviceLayout layout_;
  std::vector<uint16_t> halves_;
  std::vector<float> lost_;
  RowRounding rounding_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROW_ROUNDER_H_
