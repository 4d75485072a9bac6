// Attention in bfloat16 on a device: scores and what is seen are products of tiles (tiles.h), with
// the softmax between them in registers, as FlashAttention-2 does it (Dao, 2023).
//
// A warp answers 16 queries, which it keeps as left tiles.  A lane then has of two of their scores
// what it has to have of the left tile that values are multiplied with, so that weights go from one
// product to the next without anybody's help; they are rounded to bfloat16 there, and their sum is
// that of the ones before.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_TILE_ATTENTION_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_TILE_ATTENTION_H_

#include <cstdint>

#include "common/device/block.h"
#include "common/device/tiles.h"
#include "common/kernels/device_attention.h"

namespace sightline::kernels {

template <int kHead>
struct Attend<device::Bfloat16, kHead> : AttendTask<device::Bfloat16> {
  using Number = device::Bfloat16;
  using Place = AttendTask<Number>::Place;

  static constexpr int kFour = 4;                    // numbers that are read at once
  static constexpr int kRows = device::kTileRows;    // queries of a warp
  static constexpr int kChunk = device::kTileInner;  // keys of a product with values
  static constexpr int kThreads = kQueriesOfTile / kRows * device::kLanes;
  static constexpr int kBlocksAtOnce = kHead > 64 ? 2 : kHead > 32 ? 3 : 4;
  static constexpr int kKeys = kHead > 64 ? 32 : 64;  // that are looked at together
  static constexpr int kSteps = kHead / device::kTileInner;
  static constexpr int kHeadTiles = kHead / device::kTileColumns;
  static constexpr int kChunks = kKeys / kChunk;
  static constexpr int kTilesOfChunk = kChunk / device::kTileColumns;
  // Numbers between rows, so that what lanes read together lies in different banks.
  static constexpr int kGap = 8;
  struct Shared {
    alignas(16) Number keys[kKeys][kHead + kGap];
    // Pairs of values of neighbouring keys, by number.
    alignas(16) uint32_t values[kHead][(kKeys + kGap) / 2];
    float bias[kKeys];
  };

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& shared) const {
    const int tile = block.index() / heads;
    if (!HasTile(tile)) return;
    const Place place = PlaceOf(tile, block.index() % heads);
    device::PerThread<Own, kThreads> own;
    block.Step([&](int thread) { Begin(place, thread, &own[thread]); });
    for (int key = 0; key < place.range.length; key += kKeys) {
      const int left = place.range.length - key;
      const int count = left < kKeys ? left : kKeys;
      block.Step([&](int thread) { Load(place, key, count, thread, &shared); });
      block.Warps([&](auto& warp) {
        // Of a short tile some warps have no query.
        if (warp.index() * kRows < place.query_count) See(warp, shared, count, &own);
      });
    }
    block.Warps([&](auto& warp) { End(warp, place, &own); });
  }

 private:
  // A lane has numbers of two of its warp's queries: TileRowOf(lane), and 8 further.
  static constexpr int kOwnRows = 2;

  struct Own {
    device::LeftTile queries[kSteps];
    device::ProductTile seen[kHeadTiles];  // values, each times exp(its score - most)
    float most[kOwnRows];                  // of the scores, times log2(e)
    float sum[kOwnRows];                   // of the weights of the lane's own keys
  };

  // Of a lane: products of its queries with its keys, and then the weights of these.
  struct Scores {
    device::ProductTile tiles[kChunks * kTilesOfChunk];
  };

  static constexpr float kLog2E = 1.44269504f;

  // Two numbers of a head from number `at`, an even one, on; zeros beyond its end.
  SIGHTLINE_DEVICE uint32_t ReadTwo(const Place& place, const Number* head, int at) const {
    if (place.aligned && at < head_size) return device::ReadPair(head + at);
    const Number zero = {0};
    return device::PairOf(at < head_size ? head[at] : zero,
                          at + 1 < head_size ? head[at + 1] : zero);
  }

  // Four from `at`, a multiple of four, on.
  SIGHTLINE_DEVICE void ReadFour(const Place& place, const Number* head, int at,
                                 Number (&to)[kFour]) const {
    if (place.aligned && at < head_size) {
      device::ReadFour(head + at, to);
      return;
    }
    SIGHTLINE_UNROLL
    for (int i = 0; i < kFour; ++i) to[i] = at + i < head_size ? head[at + i] : Number{0};
  }

  SIGHTLINE_DEVICE static int QueryOf(int thread, int own_row) {
    return thread / device::kLanes * kRows + device::TileRowOf(thread % device::kLanes) +
           own_row * kRows / kOwnRows;
  }

  SIGHTLINE_DEVICE void Begin(const Place& place, int thread, Own* own) const {
    SIGHTLINE_UNROLL
    for (int row = 0; row < kOwnRows; ++row) {
      const int query = QueryOf(thread, row);
      const bool asks = query < place.query_count;
      const Number* const head =
          queries + (place.first_row + (asks ? query : 0)) * query_stride + place.column;
      SIGHTLINE_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        SIGHTLINE_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int at = step * device::kTileInner + half * device::kTileInner / 2 +
                         device::TileColumnOf(thread % device::kLanes);
          own->queries[step].pairs[half * 2 + row] = asks ? ReadTwo(place, head, at) : 0;
        }
      }
      own->most[row] = device::kLeast;
      own->sum[row] = 0;
    }
    SIGHTLINE_UNROLL
    for (int tile = 0; tile < kHeadTiles; ++tile) own->seen[tile] = {};
  }

  // `count` keys and values from `first` on; up to the end of their last chunk zeros.
  SIGHTLINE_DEVICE void Load(const Place& place, int first, int count, int thread,
                             Shared* shared) const {
    constexpr int kFours = kHead / kFour;
    const int end = (count + kChunk - 1) / kChunk * kChunk;
    const int64_t begin = int64_t{place.range.begin} + first;
    const auto read = [&](const Number* of, int key, int at, Number(&to)[kFour]) {
      if (key < count) ReadFour(place, of + (begin + key) * key_stride + place.column, at, to);
    };
    for (int i = thread; i < end * kFours; i += kThreads) {
      const int key = i / kFours, at = i % kFours * kFour;
      Number numbers[kFour] = {};
      read(keys, key, at, numbers);
      device::WriteFour(numbers, &shared->keys[key][at]);
    }
    // Of 32 threads eight pairs and four fours side by side: whole sectors are read, and next to
    // each other is what is written together.
    for (int i = thread; i < end / 2 * kFours; i += kThreads) {
      const int group = i / 32;
      const int pair = group / (kFours / 4) * 8 + i % 8;
      const int at = (group % (kFours / 4) * 4 + i % 32 / 8) * kFour;
      Number numbers[2][kFour] = {};
      read(values, 2 * pair, at, numbers[0]);
      read(values, 2 * pair + 1, at, numbers[1]);
      SIGHTLINE_UNROLL
      for (int j = 0; j < kFour; ++j) {
        shared->values[at + j][pair] = device::PairOf(numbers[0][j], numbers[1][j]);
      }
    }
    if (thread < kKeys) {
      const bool biased = key_bias != nullptr && thread < count;
      shared->bias[thread] = biased ? key_bias[begin + thread] * kLog2E : 0;
    }
  }

  // The block's `count` keys and their values.
  template <typename Warp>
  SIGHTLINE_DEVICE void See(Warp& warp, const Shared& shared, int count,
                            device::PerThread<Own, kThreads>* own) const {
    const int first_thread = warp.index() * device::kLanes;
    device::PerLane<Scores> scores;
    MultiplyKeys(warp, shared, count, *own, &scores);
    device::PerLane<float> most[kOwnRows];
    warp.Step([&](int lane) {
      SIGHTLINE_UNROLL
      for (int row = 0; row < kOwnRows; ++row) {
        most[row][lane] = MostOf(shared, count, lane, row, &scores[lane]);
      }
    });
    SIGHTLINE_UNROLL
    for (int row = 0; row < kOwnRows; ++row) most[row] = MostOfQuad(warp, most[row]);
    warp.Step([&](int lane) {
      SIGHTLINE_UNROLL
      for (int row = 0; row < kOwnRows; ++row) {
        Weigh(count, lane, row, most[row][lane], &scores[lane], &(*own)[first_thread + lane]);
      }
    });
    MultiplyValues(warp, shared, count, scores, own);
  }

  template <typename Warp>
  SIGHTLINE_DEVICE void MultiplyKeys(Warp& warp, const Shared& shared, int count,
                                     const device::PerThread<Own, kThreads>& own,
                                     device::PerLane<Scores>* scores) const {
    const int first_thread = warp.index() * device::kLanes;
    warp.Step([&](int lane) { (*scores)[lane] = {}; });
    SIGHTLINE_UNROLL
    for (int tile = 0; tile < kChunks * kTilesOfChunk; ++tile) {
      if (tile / kTilesOfChunk * kChunk >= count) continue;
      SIGHTLINE_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        warp.MultiplyTiles(
            [&](int lane) { return own[first_thread + lane].queries[step]; },
            [&](int lane) {
              const int key = tile * device::kTileColumns + device::TileRowOf(lane);
              const Number* const head =
                  &shared.keys[key][step * device::kTileInner + device::TileColumnOf(lane)];
              return device::RightTile{
                  {device::ReadPair(head), device::ReadPair(head + device::kTileInner / 2)}};
            },
            [&](int lane) { return &(*scores)[lane].tiles[tile]; });
      }
    }
  }

  // Makes scores of products, of which it gives the greatest.
  SIGHTLINE_DEVICE float MostOf(const Shared& shared, int count, int lane, int row,
                                Scores* scores) const {
    float most = device::kLeast;
    SIGHTLINE_UNROLL
    for (int tile = 0; tile < kChunks * kTilesOfChunk; ++tile) {
      SIGHTLINE_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int key = KeyOf(tile, lane, i);
        float& score = scores->tiles[tile].numbers[row * 2 + i];
        score = key < count ? device::MultiplyAdd(score, scale * kLog2E, shared.bias[key])
                            : device::kLeast;
        most = most < score ? score : most;
      }
    }
    return most;
  }

  SIGHTLINE_DEVICE static int KeyOf(int tile, int lane, int i) {
    return tile * device::kTileColumns + device::TileColumnOf(lane) + i;
  }

  // Of the four lanes that have numbers of the same queries.
  template <typename Warp>
  SIGHTLINE_DEVICE static device::PerLane<float> MostOfQuad(Warp& warp,
                                                            device::PerLane<float> most) {
    SIGHTLINE_UNROLL
    for (int bit = 1; bit < 4; bit *= 2) {
      const device::PerLane<float> other = warp.Xor(most, bit);
      warp.Step(
          [&](int lane) { most[lane] = most[lane] < other[lane] ? other[lane] : most[lane]; });
    }
    return most;
  }

  // Makes weights of scores, of which `most` is the greatest.
  SIGHTLINE_DEVICE void Weigh(int count, int lane, int row, float most, Scores* scores,
                              Own* own) const {
    if (own->most[row] < most) {
      const float kept = device::Exp2(own->most[row] - most);
      own->most[row] = most;
      own->sum[row] *= kept;
      SIGHTLINE_UNROLL
      for (int tile = 0; tile < kHeadTiles; ++tile) {
        own->seen[tile].numbers[row * 2] *= kept;
        own->seen[tile].numbers[row * 2 + 1] *= kept;
      }
    }
    SIGHTLINE_UNROLL
    for (int tile = 0; tile < kChunks * kTilesOfChunk; ++tile) {
      SIGHTLINE_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& weight = scores->tiles[tile].numbers[row * 2 + i];
        weight = KeyOf(tile, lane, i) < count ? device::Exp2(weight - own->most[row]) : 0;
        own->sum[row] += weight;
      }
    }
  }

  template <typename Warp>
  SIGHTLINE_DEVICE void MultiplyValues(Warp& warp, const Shared& shared, int count,
                                       device::PerLane<Scores>& weights,
                                       device::PerThread<Own, kThreads>* own) const {
    const int first_thread = warp.index() * device::kLanes;
    SIGHTLINE_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk * kChunk >= count) continue;
      device::PerLane<device::LeftTile> left;
      warp.Step([&](int lane) {
        const auto* const of = &weights[lane].tiles[chunk * kTilesOfChunk];
        left[lane] = {{device::PairOf(of[0].numbers[0], of[0].numbers[1]),
                       device::PairOf(of[0].numbers[2], of[0].numbers[3]),
                       device::PairOf(of[1].numbers[0], of[1].numbers[1]),
                       device::PairOf(of[1].numbers[2], of[1].numbers[3])}};
      });
      SIGHTLINE_UNROLL
      for (int tile = 0; tile < kHeadTiles; ++tile) {
        warp.MultiplyTiles(
            [&](int lane) { return left[lane]; },
            [&](int lane) {
              const uint32_t* const pairs =
                  shared.values[tile * device::kTileColumns + device::TileRowOf(lane)] +
                  chunk * kChunk / 2 + lane % 4;
              return device::RightTile{{pairs[0], pairs[kChunk / 4]}};
            },
            [&](int lane) { return &(*own)[first_thread + lane].seen[tile]; });
      }
    }
  }

  template <typename Warp>
  SIGHTLINE_DEVICE void End(Warp& warp, const Place& place,
                            device::PerThread<Own, kThreads>* own) const {
    const int first_thread = warp.index() * device::kLanes;
    SIGHTLINE_UNROLL
    for (int row = 0; row < kOwnRows; ++row) {
      device::PerLane<float> sum;
      warp.Step([&](int lane) { sum[lane] = (*own)[first_thread + lane].sum[row]; });
      SIGHTLINE_UNROLL
      for (int bit = 1; bit < 4; bit *= 2) {
        const device::PerLane<float> other = warp.Xor(sum, bit);
        warp.Step([&](int lane) { sum[lane] = device::Plus(sum[lane], other[lane]); });
      }
      warp.Step([&](int lane) {
        Write(place, first_thread + lane, row, 1.0f / sum[lane], (*own)[first_thread + lane]);
      });
    }
  }

  SIGHTLINE_DEVICE void Write(const Place& place, int thread, int row, float inverse,
                              const Own& own) const {
    const int query = QueryOf(thread, row);
    if (query >= place.query_count) return;
    Number* const head = out + (place.first_row + query) * out_stride + place.column;
    SIGHTLINE_UNROLL
    for (int tile = 0; tile < kHeadTiles; ++tile) {
      const int at = tile * device::kTileColumns + device::TileColumnOf(thread % device::kLanes);
      const float(&numbers)[4] = own.seen[tile].numbers;
      const uint32_t pair =
          device::PairOf(numbers[row * 2] * inverse, numbers[row * 2 + 1] * inverse);
      if (place.aligned && at < head_size) {
        device::WritePair(pair, head + at);
        continue;
      }
      SIGHTLINE_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (at + i < head_size) head[at + i].bits = static_cast<uint16_t>(pair >> 16 * i);
      }
    }
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_TILE_ATTENTION_H_
