// What a walk through a graph keeps: vertices that were seen, and the best of them.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_BEAM_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_BEAM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/embedding/row_set.h"

namespace sightline {

struct Reached {
  float similarity = 0;  // never NaN
  uint32_t vertex = 0;
};

// Which vertices a walk has seen: a bit each, so that the table of a million stays in a core's own
// cache.  Not thread-safe.
class SeenVertices {
 public:
  // Of 0 to `vertices` - 1; none was seen.
  void Reset(int64_t vertices) {
    const auto words = static_cast<size_t>((vertices + 63) / 64);
    if (seen_.size() < words) {
      seen_.assign(words, 0);
    } else if (touched_.size() * kClearingOne > words) {
      std::fill(seen_.begin(), seen_.end(), 0);
    } else {
      for (const uint32_t word : touched_) seen_[word] = 0;
    }
    touched_.clear();
  }

  // Whether it is seen for the first time.
  bool Mark(uint32_t vertex) {
    uint64_t& word = seen_[vertex >> 6];
    const uint64_t bit = uint64_t{1} << (vertex & 63);
    if ((word & bit) != 0) return false;
    if (word == 0) touched_.push_back(vertex >> 6);
    word |= bit;
    return true;
  }

  bool Contains(uint32_t vertex) const { return (seen_[vertex >> 6] >> (vertex & 63) & 1) != 0; }

 private:
  // Words that are cleared one after another in the time of clearing one alone.
  static constexpr size_t kClearingOne = 16;

  std::vector<uint64_t> seen_;
  std::vector<uint32_t> touched_;  // words that are not zero
};

// The best `width` vertices that were offered, best first, and which of them are still to be
// expanded.  Not thread-safe.
class SortedBeam {
 public:
  // From about this width on moving what lies behind an offer takes longer than a heap.
  static constexpr int kWidest = 1024;

  void Reset(int width) {
    width_ = static_cast<size_t>(width);
    if (kept_.size() < width_ + 1) kept_.resize(width_ + 1);
    size_ = next_ = 0;
  }

  // Whether it is what Expand would give next.
  bool Offer(Reached offer) {
    if (size_ == width_) {
      if (!(offer.similarity > kept_[size_ - 1].similarity)) return false;
      --size_;
    } else if (std::isnan(offer.similarity)) {
      return false;
    }
    const size_t place = PlaceOf(offer.similarity);
    std::memmove(&kept_[place + 1], &kept_[place], (size_ - place) * sizeof(Reached));
    kept_[place] = offer;
    ++size_;
    if (place > next_) return false;
    next_ = place;
    return true;
  }

  // The best that was not expanded yet, which then is; false if there is none.
  bool Expand(uint32_t* vertex) {
    while (next_ < size_ && (kept_[next_].vertex & kExpanded) != 0) ++next_;
    if (next_ == size_) return false;
    *vertex = kept_[next_].vertex;
    kept_[next_++].vertex |= kExpanded;
    return true;
  }
  // What Expand would most likely give next; the vertex given where it does not know.
  uint32_t ExpandedNext(uint32_t otherwise) const {
    if (next_ == size_ || (kept_[next_].vertex & kExpanded) != 0) return otherwise;
    return kept_[next_].vertex;
  }

  size_t size() const { return size_; }
  Reached at(size_t i) const { return {kept_[i].similarity, kept_[i].vertex & ~kExpanded}; }

 private:
  static constexpr uint32_t kExpanded = uint32_t{1} << 31;

  // Behind all that are at least as good.  No branch depends on what is compared.
  size_t PlaceOf(float similarity) const {
    const Reached* first = kept_.data();
    size_t left = size_;
    while (left > 0) {
      const size_t half = left / 2;
      const bool behind = first[half].similarity >= similarity;
      first = behind ? first + half + 1 : first;
      left = behind ? left - half - 1 : half;
    }
    return static_cast<size_t>(first - kept_.data());
  }

  size_t width_ = 0;
  size_t size_ = 0;
  size_t next_ = 0;  // all before it are expanded
  std::vector<Reached> kept_;
};

// The same for wide beams, and for those that keep only rows of a set while they walk over all.
// Not thread-safe.
class HeapBeam {
 public:
  // `among` outlives the walk; null: all are kept.
  void Reset(int width, const RowSet* among) {
    width_ = static_cast<size_t>(width);
    among_ = among;
    kept_.clear();
    open_.clear();
  }

  bool Offer(Reached offer) {
    const bool full = kept_.size() == width_;
    if (full ? !(offer.similarity > kept_.front().similarity) : std::isnan(offer.similarity)) {
      return false;
    }
    open_.push_back(offer);
    std::push_heap(open_.begin(), open_.end(), BestOnTop);
    const bool is_next = open_.front().vertex == offer.vertex;
    if (among_ != nullptr && !among_->Contains(offer.vertex)) return is_next;
    if (full) {
      std::pop_heap(kept_.begin(), kept_.end(), WorstOnTop);
      kept_.back() = offer;
    } else {
      kept_.push_back(offer);
    }
    std::push_heap(kept_.begin(), kept_.end(), WorstOnTop);
    return is_next;
  }

  bool Expand(uint32_t* vertex) {
    if (open_.empty()) return false;
    const Reached best = open_.front();
    if (kept_.size() == width_ && best.similarity < kept_.front().similarity) return false;
    std::pop_heap(open_.begin(), open_.end(), BestOnTop);
    open_.pop_back();
    *vertex = best.vertex;
    return true;
  }
  uint32_t ExpandedNext(uint32_t otherwise) const {
    return open_.empty() ? otherwise : open_.front().vertex;
  }

  // Puts them in order, best first: at(i) before is in any order.
  void Sort() { std::sort(kept_.begin(), kept_.end(), WorstOnTop); }
  size_t size() const { return kept_.size(); }
  Reached at(size_t i) const { return kept_[i]; }

 private:
  static bool BestOnTop(const Reached& a, const Reached& b) {
    return a.similarity != b.similarity ? a.similarity < b.similarity : a.vertex > b.vertex;
  }
  static bool WorstOnTop(const Reached& a, const Reached& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.vertex < b.vertex;
  }

  size_t width_ = 0;
  const RowSet* among_ = nullptr;
  std::vector<Reached> kept_;
  std::vector<Reached> open_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_BEAM_H_
