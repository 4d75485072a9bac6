// Attention on a device: of sequences that lie one after another, without padding.  Here is what
// it is told, and how it is done in float32; device_tile_attention.h has it in bfloat16.
//
// What has been seen is kept relative to the greatest score so far (Milakov and Gimelshein, 2018),
// so that no score is written anywhere.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_ATTENTION_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_ATTENTION_H_

#include <cstdint>

#include "common/device/block.h"
#include "common/kernels/device_steps.h"

namespace sightline::kernels {

// Queries of a block.
inline constexpr int kQueriesOfTile = 64;

// What Attend is told.  A block has one tile's queries and one head: block index / heads, and
// block index % heads.
template <typename Number>
struct AttendTask {
  // What a block is to do.
  struct Place {
    SequenceRange range;
    int64_t first_row;  // of the tile's queries
    int query_count;
    int column;    // of the head's first number
    bool aligned;  // whether fours may be read at once
  };

  const PassCounts* counts = nullptr;
  const QueryTile* tiles = nullptr;
  const SequenceRange* ranges = nullptr;
  const Number* queries = nullptr;
  const Number* keys = nullptr;
  const Number* values = nullptr;
  int query_stride = 0;
  int key_stride = 0;  // of values too
  // Of each sequence its first row asks alone: `queries` has one row a sequence, and so many tiles
  // there are.
  bool first_only = false;
  const float* key_bias = nullptr;  // of each row, added to its scores as a key; null: none
  int heads = 1;
  int head_size = 0;
  float scale = 1;
  Number* out = nullptr;  // as many rows as there are queries
  int out_stride = 0;

  SIGHTLINE_DEVICE bool HasTile(int tile) const {
    return tile < (first_only ? counts->sequences : counts->tiles);
  }

  SIGHTLINE_DEVICE Place PlaceOf(int tile, int head) const {
    const QueryTile of = first_only ? QueryTile{tile, 0} : tiles[tile];
    Place place;
    place.range = ranges[of.sequence];
    place.first_row = first_only ? of.sequence : int64_t{place.range.begin} + of.first;
    const int left = first_only ? 1 : place.range.length - of.first;
    place.query_count = left < kQueriesOfTile ? left : kQueriesOfTile;
    place.column = head * head_size;
    place.aligned = head_size % 4 == 0;
    return place;
  }
};

// Of heads of up to `kHead` numbers, 32, 64 or 128.
template <typename Number, int kHead>
struct Attend;

// Four lanes answer four queries together: each has a quarter of the numbers of all four, and of
// what they have seen, in registers, so that a key or a value that is read from the block's memory
// is used four times.
template <int kHead>
struct Attend<float, kHead> : AttendTask<float> {
  using Place = AttendTask<float>::Place;
  static constexpr int kQuad = 4;  // lanes that work together
  static constexpr int kFour = 4;  // numbers that are read at once
  static constexpr int kOwnFours = kHead / kQuad / kFour;
  static constexpr int kQueries = kHead > 64 ? 2 : 4;  // of a quad
  static constexpr int kThreads = kQueriesOfTile / kQueries * kQuad;
  static constexpr int kBlocksAtOnce = kHead > 64 ? 2 : 4;
  static constexpr int kKeys = 16;
  static constexpr int kKeysAtOnce = 4;
  static constexpr int kScores = kQueries * kKeysAtOnce;
  struct Shared {
    alignas(16) float keys[kKeys][kHead];
    alignas(16) float values[kKeys][kHead];
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
        if (warp.index() * device::kLanes / kQuad * kQueries >= place.query_count) return;
        for (int at = 0; at < count; at += kKeysAtOnce) See(warp, shared, at, count, &own);
      });
    }
    block.Step([&](int thread) { End(place, thread, own[thread]); });
  }

 private:
  // Of a lane: its quarter of its quad's queries.
  struct Own {
    float query[kQueries][kOwnFours * kFour];
    float seen[kQueries][kOwnFours * kFour];  // values, each times exp(its score - most)
    float most[kQueries];                     // of the scores
    float sum[kQueries];                      // of the weights
  };

  // A lane's four number `own` of a head.  Those of a quad lie side by side, for the banks of the
  // block's memory.
  SIGHTLINE_DEVICE static int PlaceOfFour(int thread, int own) {
    return (own * kQuad + thread % kQuad) * kFour;
  }

  // Four numbers of a head from number `at` on; zeros beyond its end.
  SIGHTLINE_DEVICE void ReadFour(const Place& place, const float* head, int at,
                                 float (&to)[kFour]) const {
    if (place.aligned && at < head_size) {
      device::ReadFour(head + at, to);
      return;
    }
    SIGHTLINE_UNROLL
    for (int i = 0; i < kFour; ++i) to[i] = at + i < head_size ? head[at + i] : 0;
  }

  SIGHTLINE_DEVICE void Begin(const Place& place, int thread, Own* own) const {
    SIGHTLINE_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const int query = thread / kQuad * kQueries + q;
      const bool asks = query < place.query_count;
      const int64_t row = asks ? place.first_row + query : 0;
      const float* const head = queries + row * query_stride + place.column;
      SIGHTLINE_UNROLL
      for (int four = 0; four < kOwnFours; ++four) {
        float numbers[kFour] = {};
        if (asks) ReadFour(place, head, PlaceOfFour(thread, four), numbers);
        SIGHTLINE_UNROLL
        for (int i = 0; i < kFour; ++i) {
          own->query[q][four * kFour + i] = numbers[i];
          own->seen[q][four * kFour + i] = 0;
        }
      }
      own->most[q] = device::kLeast;
      own->sum[q] = 0;
    }
  }

  // Keys and values from `first` on; what is beyond them is zero.
  SIGHTLINE_DEVICE void Load(const Place& place, int first, int count, int thread,
                             Shared* shared) const {
    constexpr int kFours = kHead / kFour;
    for (int i = thread; i < kKeys * kFours; i += kThreads) {
      const int key = i / kFours, at = i % kFours * kFour;
      float numbers[2][kFour] = {};
      if (key < count) {
        const int64_t row = int64_t{place.range.begin} + first + key;
        const int64_t head = row * key_stride + place.column;
        ReadFour(place, keys + head, at, numbers[0]);
        ReadFour(place, values + head, at, numbers[1]);
      }
      device::WriteFour(numbers[0], &shared->keys[key][at]);
      device::WriteFour(numbers[1], &shared->values[key][at]);
    }
    if (thread >= kKeys) return;
    const bool biased = key_bias != nullptr && thread < count;
    shared->bias[thread] = biased ? key_bias[place.range.begin + first + thread] : 0;
  }

  // Keys from `at` on, of which there are `count` in all.
  template <typename Warp>
  SIGHTLINE_DEVICE void See(Warp& warp, const Shared& shared, int at, int count,
                            device::PerThread<Own, kThreads>* own) const {
    device::PerLane<float> scores[kScores];
    warp.Step([&](int lane) {
      const int thread = warp.index() * device::kLanes + lane;
      float products[kScores];
      Multiply(shared, at, thread, (*own)[thread], products);
      SIGHTLINE_UNROLL
      for (int i = 0; i < kScores; ++i) scores[i][lane] = products[i];
    });
    SIGHTLINE_UNROLL
    for (int bit = 1; bit < kQuad; bit *= 2) {
      SIGHTLINE_UNROLL
      for (int i = 0; i < kScores; ++i) {
        const device::PerLane<float> other = warp.Xor(scores[i], bit);
        warp.Step([&](int lane) { scores[i][lane] = device::Plus(scores[i][lane], other[lane]); });
      }
    }
    warp.Step([&](int lane) {
      const int thread = warp.index() * device::kLanes + lane;
      float all[kScores];
      SIGHTLINE_UNROLL
      for (int i = 0; i < kScores; ++i) all[i] = scores[i][lane];
      Weigh(shared, at, count, thread, all, &(*own)[thread]);
    });
  }

  // A lane's part of each query's products with the keys.
  SIGHTLINE_DEVICE void Multiply(const Shared& shared, int at, int thread, const Own& own,
                                 float (&products)[kScores]) const {
    SIGHTLINE_UNROLL
    for (int key = 0; key < kKeysAtOnce; ++key) {
      SIGHTLINE_UNROLL
      for (int q = 0; q < kQueries; ++q) products[q * kKeysAtOnce + key] = 0;
      SIGHTLINE_UNROLL
      for (int four = 0; four < kOwnFours; ++four) {
        float numbers[kFour];
        device::ReadFour(&shared.keys[at + key][PlaceOfFour(thread, four)], numbers);
        SIGHTLINE_UNROLL
        for (int q = 0; q < kQueries; ++q) {
          SIGHTLINE_UNROLL
          for (int i = 0; i < kFour; ++i) {
            products[q * kKeysAtOnce + key] = device::MultiplyAdd(
                own.query[q][four * kFour + i], numbers[i], products[q * kKeysAtOnce + key]);
          }
        }
      }
    }
  }

  SIGHTLINE_DEVICE void Weigh(const Shared& shared, int at, int count, int thread,
                              float (&weights)[kScores], Own* own) const {
    SIGHTLINE_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      float most = own->most[q];
      SIGHTLINE_UNROLL
      for (int key = 0; key < kKeysAtOnce; ++key) {
        float& score = weights[q * kKeysAtOnce + key];
        score = device::MultiplyAdd(score, scale, shared.bias[at + key]);
        if (at + key >= count) score = device::kLeast;
        most = most < score ? score : most;
      }
      if (most != own->most[q]) {
        const float kept = device::Exp(own->most[q] - most);
        own->most[q] = most;
        own->sum[q] *= kept;
        SIGHTLINE_UNROLL
        for (int i = 0; i < kOwnFours * kFour; ++i) own->seen[q][i] *= kept;
      }
      SIGHTLINE_UNROLL
      for (int key = 0; key < kKeysAtOnce; ++key) {
        float& weight = weights[q * kKeysAtOnce + key];
        weight = at + key < count ? device::Exp(weight - most) : 0;
        own->sum[q] += weight;
      }
    }
    SIGHTLINE_UNROLL
    for (int key = 0; key < kKeysAtOnce; ++key) {
      SIGHTLINE_UNROLL
      for (int four = 0; four < kOwnFours; ++four) {
        float numbers[kFour];
        device::ReadFour(&shared.values[at + key][PlaceOfFour(thread, four)], numbers);
        SIGHTLINE_UNROLL
        for (int q = 0; q < kQueries; ++q) {
          SIGHTLINE_UNROLL
          for (int i = 0; i < kFour; ++i) {
            float& seen = own->seen[q][four * kFour + i];
            seen = device::MultiplyAdd(weights[q * kKeysAtOnce + key], numbers[i], seen);
          }
        }
      }
    }
  }

  SIGHTLINE_DEVICE void End(const Place& place, int thread, const Own& own) const {
    SIGHTLINE_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const int query = thread / kQuad * kQueries + q;
      if (query >= place.query_count) continue;
      float* const head = out + (place.first_row + query) * out_stride + place.column;
      const float inverse = 1.0f / own.sum[q];
      SIGHTLINE_UNROLL
      for (int four = 0; four < kOwnFours; ++four) {
        const int at = PlaceOfFour(thread, four);
        float numbers[kFour];
        SIGHTLINE_UNROLL
        for (int i = 0; i < kFour; ++i) numbers[i] = own.seen[q][four * kFour + i] * inverse;
        if (place.aligned && at < head_size) {
          device::WriteFour(numbers, head + at);
          continue;
        }
        SIGHTLINE_UNROLL
        for (int i = 0; i < kFour; ++i) {
          if (at + i < head_size) head[at + i] = numbers[i];
        }
      }
    }
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_ATTENTION_H_
