// What the kernels of inner products are given and give.  Plain data, and no function: they are
// compiled with flags of their own.
#ifndef SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_KERNELS_H_
#define SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_KERNELS_H_

#include <cstdint>

namespace sightline::kernels {

// Queries of a panel.
inline constexpr int64_t kQueryPanelWidth = 16;
// Rows that a kernel takes at once.
inline constexpr int64_t kMostProductRows = 96;

struct InnerProducts {
  // 1 to kMostProductRows of them, `row_stride` numbers apart; nothing between them is read.
  const float* rows = nullptr;
  int64_t row_stride = 0;
  int64_t row_count = 0;
  // What is read next, which is fetched to the L2 cache meanwhile, as many bytes as these rows
  // have; null: what lies behind them.
  const float* ahead = nullptr;
  // Number after number, and of each the queries of a panel side by side; zero for those that are
  // none.  A panel has kQueryPanelWidth * dimension numbers and begins at a cache line.
  const float* panels = nullptr;
  int64_t query_count = 0;
  int64_t dimension = 0;
  // For each query of all panels.
  const float* limits = nullptr;
};

struct Reached {
  int32_t row = 0;
  int32_t query = 0;
  float product = 0;
};

// Stateless.
struct InnerProductKernel {
  const char* instructions;  // as /proc/cpuinfo names them
  // Of a multiple of so many rows all are at full speed.
  int64_t tile_rows;
  // Writes to `reached`, which has room for all, the products that are not below their query's
  // limit, so also those that are no number; their count.  Of each query rows ascend.
  int64_t (*find)(const InnerProducts& products, Reached* reached);
};

// Each in a file of its own; choose one with InnerProductKernelFor (inner_products.h), never by
// name.
extern const InnerProductKernel kAvx2InnerProducts;
extern const InnerProductKernel kAvx512InnerProducts;

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_KERNELS_H_
