// Attention on a device: of sequences that lie one after another, without padding.
//
// A thread answers one query: its head's numbers and what it has seen lie in its registers, keys
// and values of kKeys rows at a time in the block's memory, where all threads read them.  What has
// been seen is kept relative to the greatest score so far (Milakov and Gimelshein, 2018), so that
// no score is written anywhere.
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
};

// Of heads of up to `kHead` numbers.
template <typename Number, int kHead>
struct Attend : AttendTask<Number> {
  static constexpr int kThreads = kQueriesOfTile;
  static constexpr int kBlocksAtOnce = 4;
  static constexpr int kKeys = 16;
  struct Shared {
    float keys[kKeys][kHead];
    float values[kKeys][kHead];
    float bias[kKeys];
  };

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& shared) const {
    const int tile = block.index() / this->heads;
    if (tile >= (this->first_only ? this->counts->sequences : this->counts->tiles)) return;
    const QueryTile queries_of = this->first_only ? QueryTile{tile, 0} : this->tiles[tile];
    const Place place = {queries_of, this->ranges[queries_of.sequence],
                         block.index() % this->heads * this->head_size};
    device::PerThread<Own, kThreads> own;
    block.Step([&](int thread) { Begin(place, thread, &own[thread]); });
    for (int key = 0; key < place.range.length; key += kKeys) {
      const int left = place.range.length - key;
      const int count = left < kKeys ? left : kKeys;
      block.Step([&](int thread) { Load(place, key, count, thread, &shared); });
      block.Step([&](int thread) { See(shared, count, &own[thread]); });
    }
    block.Step([&](int thread) { End(place, thread, own[thread]); });
  }

 private:
  struct Place {
    QueryTile queries;
    SequenceRange range;
    int column;  // of the head's first number
  };

  // Of a thread's query.
  struct Own {
    float query[kHead];
    float seen[kHead];  // values, each times exp(its score - most)
    float most;         // of the scores
    float sum;          // of the weights
  };

  SIGHTLINE_DEVICE bool Asks(const Place& place, int thread) const {
    const int query = place.queries.first + thread;
    return query < (this->first_only ? 1 : place.range.length);
  }
  SIGHTLINE_DEVICE int64_t RowOf(const Place& place, int thread) const {
    return this->first_only ? place.queries.sequence
                            : place.range.begin + place.queries.first + thread;
  }

  SIGHTLINE_DEVICE void Begin(const Place& place, int thread, Own* own) const {
    const bool asks = Asks(place, thread);
    const Number* const query =
        this->queries + (asks ? RowOf(place, thread) * this->query_stride + place.column : 0);
    SIGHTLINE_UNROLL
    for (int i = 0; i < kHead; ++i) {
      own->query[i] = asks && i < this->head_size ? device::Wide(query[i]) : 0;
      own->seen[i] = 0;
    }
    own->most = device::kLeast;
    own->sum = 0;
  }

  // Keys and values from `first` on; what is beyond them is zero.
  SIGHTLINE_DEVICE void Load(const Place& place, int first, int count, int thread,
                             Shared* shared) const {
    for (int i = thread; i < kKeys * kHead; i += kThreads) {
      const int key = i / kHead, number = i % kHead;
      const bool is_there = key < count && number < this->head_size;
      const int64_t at =
          int64_t{place.range.begin + first + key} * this->key_stride + place.column + number;
      shared->keys[key][number] = is_there ? device::Wide(this->keys[at]) : 0;
      shared->values[key][number] = is_there ? device::Wide(this->values[at]) : 0;
    }
    if (thread >= kKeys) return;
    const bool biased = this->key_bias != nullptr && thread < count;
    shared->bias[thread] = biased ? this->key_bias[place.range.begin + first + thread] : 0;
  }

  SIGHTLINE_DEVICE void See(const Shared& shared, int count, Own* own) const {
    float scores[kKeys];
    float most = own->most;
    SIGHTLINE_UNROLL
    for (int key = 0; key < kKeys; ++key) {
      float score = 0;
      SIGHTLINE_UNROLL
      for (int i = 0; i < kHead; ++i) {
        score = device::MultiplyAdd(own->query[i], shared.keys[key][i], score);
      }
      score = device::MultiplyAdd(score, this->scale, shared.bias[key]);
      scores[key] = key < count ? score : device::kLeast;
      most = most < scores[key] ? scores[key] : most;
    }
    const float kept = device::Exp(own->most - most);
    own->most = most;
    own->sum *= kept;
    SIGHTLINE_UNROLL
    for (int i = 0; i < kHead; ++i) own->seen[i] *= kept;
    SIGHTLINE_UNROLL
    for (int key = 0; key < kKeys; ++key) {
      const float weight = key < count ? device::Exp(scores[key] - most) : 0;
      own->sum += weight;
      SIGHTLINE_UNROLL
      for (int i = 0; i < kHead; ++i) {
        own->seen[i] = device::MultiplyAdd(weight, shared.values[key][i], own->seen[i]);
      }
    }
  }

  SIGHTLINE_DEVICE void End(const Place& place, int thread, const Own& own) const {
    if (!Asks(place, thread)) return;
    Number* const out = this->out + RowOf(place, thread) * this->out_stride + place.column;
    const float inverse = 1.0f / own.sum;
    SIGHTLINE_UNROLL
    for (int i = 0; i < kHead; ++i) {
      if (i < this->head_size) out[i] = device::Narrowed<Number>(own.seen[i] * inverse);
    }
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_ATTENTION_H_
