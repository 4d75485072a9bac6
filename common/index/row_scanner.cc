#include "common/index/row_scanner.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/dtype.h"
#include "common/index/nibble_codes.h"
#include "common/index/prefetch.h"
#include "common/index/row_scores.h"
#include "common/kernels/cpu.h"
#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {
namespace {

// Of a list, before it is its turn; the rest is fetched while it is scanned.
constexpr int64_t kFirstBytes = 4096;

bool IsSet(const uint64_t* words, int64_t row) {
  return (words[row >> 6] >> (row & 63) & 1) != 0;
}

// Rows where they lie.
class StoredRowScanner : public RowScanner {
 public:
  StoredRowScanner(const IvfFile& file, const VectorView& vectors, const IvfQuery& query)
      : file_(file),
        vectors_(vectors),
        query_(query),
        row_bytes_(ScannedBytes(file.shape, vectors)) {}

  int64_t Scan(int64_t begin, int64_t end, float, const uint64_t* among,
               BestEstimates* best) const override {
    const int32_t* const rows = file_.rows();
    int64_t count = 0;
    for (int64_t position = begin; position < end; ++position) {
      if (position + kAhead < end) PrefetchRow(rows[position + kAhead], among);
      const int32_t row = rows[position];
      if (among != nullptr && !IsSet(among, row)) continue;
      ++count;
      const float score = RowScore(vectors_, query_.numbers, row);
      if (!std::isnan(score)) best->Offer(score, row);
    }
    return count;
  }

  void Prefetch(int64_t begin, int64_t end) const override {
    for (int64_t i = begin; i < std::min(begin + kAhead, end); ++i) {
      PrefetchRow(file_.rows()[i], nullptr);
    }
  }

 private:
  // Rows that are waited for while others are multiplied.
  static constexpr int64_t kAhead = 4;

  void PrefetchRow(int64_t row, const uint64_t* among) const {
    if (among == nullptr || IsSet(among, row)) PrefetchBytes(vectors_.row(row), row_bytes_);
  }

  const IvfFile& file_;
  const VectorView& vectors_;
  const IvfQuery& query_;
  const int64_t row_bytes_;
};

class Int8RowScanner : public RowScanner {
 public:
  Int8RowScanner(const IvfFile& file, const IvfQuery& query)
      : file_(file), query_(query), kernel_(kernels::Int8RowKernelFor(kernels::ThisCpu())) {}

  int64_t Scan(int64_t begin, int64_t end, float, const uint64_t* among,
               BestEstimates* best) const override {
    const int64_t bytes = file_.shape.centroid_bytes();
    const auto* const codes = reinterpret_cast<const int8_t*>(file_.codes());
    if (among == nullptr) {
      int32_t sums[kRowsAtOnce];
      for (int64_t first = begin; first < end; first += kRowsAtOnce) {
        const int64_t count = std::min(kRowsAtOnce, end - first);
        kernel_.products(query_.codes.codes.data(), codes + first * bytes, bytes, count, bytes,
                         sums);
        for (int64_t i = 0; i < count; ++i) Offer(first + i, sums[i], best);
      }
      return end - begin;
    }
    int64_t count = 0;
    for (int64_t position = begin; position < end; ++position) {
      if (!IsSet(among, file_.rows()[position])) continue;
      ++count;
      Offer(position, kernel_.product(query_.codes.codes.data(), codes + position * bytes, bytes),
            best);
    }
    return count;
  }

  void Prefetch(int64_t begin, int64_t end) const override {
    const int64_t bytes = file_.shape.centroid_bytes();
    PrefetchBytes(file_.codes() + begin * bytes, std::min(kFirstBytes, (end - begin) * bytes));
  }

 private:
  static constexpr int64_t kRowsAtOnce = 64;

  void Offer(int64_t position, int32_t sum, BestEstimates* best) const {
    const float scale = file_.code_scales()[position];
    const float estimate =
        scale >= 0 ? kernels::Int8Product(query_.codes, {scale, 0, 0}, sum) : kLastOfAll.offset;
    best->Offer(estimate, file_.rows()[position]);
  }

  const IvfFile& file_;
  const IvfQuery& query_;
  const kernels::Int8RowKernel& kernel_;
};

class NibbleScanner : public RowScanner {
 public:
  // `tables` are of the file's codes, and outlive it.
  NibbleScanner(const IvfFile& file, const kernels::NibbleTables& tables)
      : file_(file),
        kernel_(kernels::NibbleScanKernelFor(kernels::ThisCpu())),
        scan_(tables.Scan()) {
    scan_.scalars = true;
  }

  int64_t Scan(int64_t begin, int64_t end, float product, const uint64_t* among,
               BestEstimates* best) const override {
    int64_t count = 0;
    uint32_t masks[kBlocksAtOnce];
    float estimates[kBlocksAtOnce * kBlock];
    kernels::NibbleScan scan = scan_;
    scan.base = product;
    const int64_t last_block = kernels::NibbleBlocks(end);
    for (int64_t first = begin / kBlock; first < last_block; first += kBlocksAtOnce) {
      scan.block_count = std::min(kBlocksAtOnce, last_block - first);
      for (int64_t b = 0; b < scan.block_count; ++b) {
        masks[b] = Wanted((first + b) * kBlock, begin, end, among);
        count += __builtin_popcount(masks[b]);
      }
      scan.blocks = file_.codes() + first * file_.shape.block_bytes();
      scan.limit = best->limit();
      kernel_.scan(scan, masks, estimates);
      for (int64_t b = 0; b < scan.block_count; ++b) {
        for (uint32_t mask = masks[b]; mask != 0; mask &= mask - 1) {
          const int64_t place = b * kBlock + __builtin_ctz(mask);
          best->Offer(estimates[place], file_.rows()[first * kBlock + place]);
        }
      }
    }
    return count;
  }

  void Prefetch(int64_t begin, int64_t end) const override {
    if (begin == end) return;
    PrefetchBytes(file_.codes() + begin / kBlock * file_.shape.block_bytes(), kFirstBytes);
    PrefetchBytes(file_.rows() + begin, (end - begin) * static_cast<int64_t>(sizeof(int32_t)));
  }

 private:
  static constexpr int64_t kBlock = kernels::kNibbleBlockRows;
  static constexpr int64_t kBlocksAtOnce = 8;

  // Of the block's positions from `first` on those of [begin, end) that are let through.
  uint32_t Wanted(int64_t first, int64_t begin, int64_t end, const uint64_t* among) const {
    uint32_t mask = ~0u;
    if (first < begin) mask &= ~0u << (begin - first);
    if (end - first < kBlock) mask &= ~(~0u << (end - first));
    if (among == nullptr) return mask;
    uint32_t wanted = 0;
    for (; mask != 0; mask &= mask - 1) {
      const int i = __builtin_ctz(mask);
      wanted |= static_cast<uint32_t>(IsSet(among, file_.rows()[first + i])) << i;
    }
    return wanted;
  }

  const IvfFile& file_;
  const kernels::NibbleScanKernel& kernel_;
  kernels::NibbleScan scan_;
};

class PartScanner : public RowScanner {
 public:
  PartScanner(const IvfFile& file, const IvfQuery& query)
      : tables_(TablesOf(file, query)), scanner_(file, tables_) {}

  int64_t Scan(int64_t begin, int64_t end, float product, const uint64_t* among,
               BestEstimates* best) const override {
    return scanner_.Scan(begin, end, product, among, best);
  }
  void Prefetch(int64_t begin, int64_t end) const override { scanner_.Prefetch(begin, end); }

 private:
  static kernels::NibbleTables TablesOf(const IvfFile& file, const IvfQuery& query) {
    std::vector<float> values(file.shape.parts * 16);
    TablesOfParts(query.unit.data(), file.shape, file.codebooks(), values.data());
    return kernels::NibbleTables(values.data(), file.shape.parts);
  }

  const kernels::NibbleTables tables_;
  const NibbleScanner scanner_;
};

}  // namespace

std::unique_ptr<RowScanner> RowScannerOf(const IvfFile& file, const VectorView& vectors,
                                         const IvfQuery& query) {
  switch (file.shape.code) {
    case IvfCode::kInt8:
      return std::make_unique<Int8RowScanner>(file, query);
    case IvfCode::kPq4:
      return std::make_unique<PartScanner>(file, query);
    case IvfCode::kRabitq:
      return std::make_unique<NibbleScanner>(file, query.bits);
    case IvfCode::kRows:
      break;
  }
  return std::make_unique<StoredRowScanner>(file, vectors, query);
}

int64_t ScannedBytes(const IvfShape& shape, const VectorView& vectors) {
  if (shape.code == IvfCode::kRows) {
    return vectors.dimension * static_cast<int64_t>(DtypeSize(vectors.dtype));
  }
  return std::max<int64_t>(1, shape.code_bytes() / std::max<int64_t>(1, shape.rows));
}

}  // namespace sightline
