#include "common/kernels/pass_layout.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "common/base/dtype.h"
#include "common/kernels/device_steps.h"
#include "common/kernels/row_parts.h"

namespace sightline::kernels {
namespace {

// Of products, by rows: fewer fill no tile of theirs.
constexpr int64_t kLeastRows = 16;
// Sizes from one power of two to the next, at most.
constexpr int64_t kSizesOfOctave = 8;
constexpr int64_t kAlignment = 256;

int64_t Aligned(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

int64_t PowerOfTwo(int64_t count) {
  int64_t power = 1;
  while (power < count) power *= 2;
  return power;
}

template <typename T>
T* At(char* memory, int64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

// Copies parts behind one another, each once, and notes of each row where it lies.
class PartWriter {
 public:
  PartWriter(int64_t columns, char* to, RowSource* sources)
      : columns_(columns), to_(to), next_source_(sources) {}

  void Write(const RowPart& part) {
    const int64_t row_bytes = columns_ * static_cast<int64_t>(DtypeSize(part.dtype));
    const int64_t begin = OffsetOf(part, part.rows * row_bytes);
    for (int64_t row = 0; row < part.rows; ++row) {
      RowSource source{begin + row * row_bytes, 1, static_cast<int32_t>(part.dtype)};
      if (part.dtype == Dtype::kInt8) {
        std::memcpy(&source.scale,
                    static_cast<const char*>(part.scales) + row * sizeof(source.scale),
                    sizeof(source.scale));
      }
      *next_source_++ = source;
    }
  }

  int64_t written() const { return end_; }

 private:
  int64_t OffsetOf(const RowPart& part, int64_t bytes) {
    const auto [known, is_new] = offsets_.emplace(std::make_pair(part.numbers, bytes), end_);
    if (is_new && bytes > 0) {
      std::memcpy(to_ + end_, part.numbers, bytes);
      end_ = Aligned(end_ + bytes, PassLayout::kPartAlignment);
    }
    return known->second;
  }

  const int64_t columns_;
  char* const to_;
  RowSource* next_source_;
  int64_t end_ = 0;
  std::map<std::pair<const void*, int64_t>, int64_t> offsets_;
};

}  // namespace

int64_t BucketRows(int64_t rows) {
  int64_t octave = kLeastRows;
  while (2 * octave < rows) octave *= 2;
  return Aligned(std::max(rows, kLeastRows), std::max(octave / kSizesOfOctave, kLeastRows / 2));
}

PassBucket BucketOf(const Sequences& sequences, StackReadout readout) {
  int64_t rows = 0;
  for (int64_t i = 0; i < sequences.count; ++i) rows += sequences.lengths[i];
  PassBucket bucket;
  bucket.rows = static_cast<int32_t>(BucketRows(rows));
  bucket.sequences = static_cast<int32_t>(std::min(PowerOfTwo(sequences.count), BucketRows(rows)));
  bucket.has_bias = sequences.key_bias != nullptr;
  bucket.readout = readout;
  return bucket;
}

PassLayout::PassLayout(const PassBucket& bucket, int64_t columns) {
  const auto after = [](int64_t offset, int64_t count, size_t size) {
    return Aligned(offset + count * static_cast<int64_t>(size), kAlignment);
  };
  ranges = after(counts, 1, sizeof(PassCounts));
  tiles = after(ranges, bucket.sequences, sizeof(SequenceRange));
  bias = after(tiles, bucket.tiles(), sizeof(QueryTile));
  sources = after(bias, bucket.has_bias ? bucket.rows : 0, sizeof(float));
  numbers = after(sources, bucket.rows, sizeof(RowSource));
  // A part of one row may leave the most room behind it.
  most = numbers +
         bucket.rows * Aligned(columns * static_cast<int64_t>(sizeof(float)), kPartAlignment);
}

int64_t MostPassBytes(const PassLimits& limits, int64_t columns) {
  PassBucket largest;
  largest.rows = static_cast<int32_t>(BucketRows(limits.rows));
  largest.sequences = largest.rows;
  largest.has_bias = true;
  return PassLayout(largest, columns).most;
}

int64_t WritePass(const Sequences& sequences, const PassLayout& layout, int64_t columns,
                  char* memory) {
  PassCounts counts;
  auto* const ranges = At<SequenceRange>(memory, layout.ranges);
  auto* const tiles = At<QueryTile>(memory, layout.tiles);
  for (int64_t i = 0; i < sequences.count; ++i) {
    const auto length = static_cast<int32_t>(sequences.lengths[i]);
    ranges[i] = {counts.rows, length};
    for (int32_t first = 0; first < length; first += kQueriesOfTile) {
      tiles[counts.tiles++] = {static_cast<int32_t>(i), first};
    }
    counts.rows += length;
  }
  counts.sequences = static_cast<int32_t>(sequences.count);
  *At<PassCounts>(memory, layout.counts) = counts;
  if (sequences.key_bias != nullptr) {
    std::copy_n(sequences.key_bias, counts.rows, At<float>(memory, layout.bias));
  }
  PartWriter writer(columns, memory + layout.numbers, At<RowSource>(memory, layout.sources));
  for (int64_t i = 0; i < sequences.part_count; ++i) writer.Write(sequences.parts[i]);
  return layout.numbers + writer.written();
}

}  // namespace sightline::kernels
