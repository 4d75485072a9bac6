#include "loadtest/synthesize/synthetic_regions.h"

#include <immintrin.h>

#include <cstring>

#include "loadtest/synthesize/counter_random.h"

namespace sightline {
namespace {

// 1.5 MiB at 768 numbers: more rows than anybody confuses, few enough to stay in a cache.
constexpr int64_t kPoolRows = 1024;

}  // namespace

SyntheticRegions::SyntheticRegions(uint64_t seed, int regions, int columns)
    : seed_(seed),
      regions_(regions),
      columns_(columns),
      row_bytes_(columns * static_cast<int64_t>(DtypeSize(Dtype::kFloat16))),
      pool_(static_cast<size_t>(kPoolRows * row_bytes_), '\0') {
  const uint64_t key = StreamKey(seed, RandomUse::kRegionPool, 0);
  for (int64_t i = 0; i < kPoolRows * columns; ++i) {
    const float value = NearlyNormal(RandomBits(key, static_cast<uint64_t>(i)));
    const uint16_t half = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&pool_[static_cast<size_t>(i) * sizeof(half)], &half, sizeof(half));
  }
}

void SyntheticRegions::Fill(uint32_t item, ItemFeatures* features) const {
  features->tensors.resize(1);
  FeatureTensor& tensor = features->tensors[0];
  tensor.name = "regions";
  tensor.dtype = Dtype::kFloat16;
  tensor.rows = regions_;
  tensor.columns = columns_;
  tensor.bytes.clear();
  const uint64_t key = StreamKey(seed_, RandomUse::kRegionChoice, item);
  for (int64_t i = 0; i < regions_; ++i) {
    const uint64_t row = RandomBits(key, static_cast<uint64_t>(i)) % kPoolRows;
    tensor.bytes.append(pool_, row * static_cast<uint64_t>(row_bytes_),
                        static_cast<size_t>(row_bytes_));
  }
}

}  // namespace sightline
