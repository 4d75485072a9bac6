// Some rows of a shard: those that a filter lets through.
#ifndef SIGHTLINE_COMMON_EMBEDDING_ROW_SET_H_
#define SIGHTLINE_COMMON_EMBEDDING_ROW_SET_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

// A value, immutable.  Few rows are a list, many are bits; either way rows ascend.
class RowSet {
 public:
  // Rows of the shard to one of the set, from which on a list takes less memory than bits.
  static constexpr int64_t kLeastRowsOfList = 32;

  RowSet() = default;

  // `rows` ascend, each once, 0 <= row < universe.
  static RowSet OfRows(std::vector<uint32_t> rows, int64_t universe) {
    RowSet set;
    set.count_ = static_cast<int64_t>(rows.size());
    set.universe_ = universe;
    set.rows_ = std::move(rows);
    return set;
  }
  // Bit row % 64 of word row / 64 says whether it is among them; bits beyond the universe are zero.
  static RowSet OfBits(std::vector<uint64_t> words, int64_t universe) {
    RowSet set;
    for (const uint64_t word : words) set.count_ += __builtin_popcountll(word);
    set.universe_ = universe;
    set.words_ = std::move(words);
    return set;
  }

  int64_t count() const { return count_; }
  // Rows of the shard.
  int64_t universe() const { return universe_; }

  // Whether it is a list: then rows() are all, and words() are none.
  bool is_list() const { return words_.empty(); }
  absl::Span<const uint32_t> rows() const { return rows_; }
  const uint64_t* words() const { return words_.data(); }

  bool Contains(int64_t row) const {
    if (is_list())
      return std::binary_search(rows_.begin(), rows_.end(), static_cast<uint32_t>(row));
    return (words_[row >> 6] >> (row & 63) & 1) != 0;
  }

  // Calls `visit(row)` for each, ascending.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const uint32_t row : rows_) visit(int64_t{row});
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<int64_t>(i * 64) + __builtin_ctzll(word));
      }
    }
  }

 private:
  int64_t count_ = 0;
  int64_t universe_ = 0;
  std::vector<uint32_t> rows_;
  std::vector<uint64_t> words_;
};

// Where part `part` of `parts` begins and ends that a matrix is cut into: row numbers.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};
// Parts of about as many rows of a list; of bits and of all rows, of as many rows of the matrix,
// cut at multiples of `multiple`.
inline RowRange PartOf(int64_t rows, const RowSet* among, int64_t multiple, int64_t part,
                       int64_t parts) {
  if (among != nullptr && among->is_list()) {
    const auto list = among->rows();
    const auto begin_of = [&](int64_t i) {
      const auto place = static_cast<int64_t>(list.size()) * i / parts;
      return place < static_cast<int64_t>(list.size()) ? int64_t{list[place]} : rows;
    };
    return {begin_of(part), begin_of(part + 1)};
  }
  const int64_t multiples = (rows + multiple - 1) / multiple;
  return {std::min(multiples * part / parts * multiple, rows),
          std::min(multiples * (part + 1) / parts * multiple, rows)};
}

// Goes through the rows of a set that lie in a range, ascending.
class RowSetCursor {
 public:
  // Of the rows from `begin` to before `end`, those of `set`, which outlives it; null: all.
  RowSetCursor(const RowSet* set, int64_t begin, int64_t end) : set_(set), next_(begin), end_(end) {
    if (set != nullptr && set->is_list()) {
      const auto rows = set->rows();
      place_ = std::lower_bound(rows.begin(), rows.end(), begin) - rows.begin();
    }
  }

  // The next one; -1 if there is none.
  int64_t Next() {
    if (set_ == nullptr) return next_ < end_ ? next_++ : -1;
    return set_->is_list() ? NextOfList() : NextOfBits();
  }

 private:
  int64_t NextOfList() {
    const auto rows = set_->rows();
    if (place_ >= static_cast<int64_t>(rows.size()) || rows[place_] >= end_) return -1;
    return rows[place_++];
  }

  int64_t NextOfBits() {
    while (next_ < end_) {
      const uint64_t word = set_->words()[next_ >> 6] >> (next_ & 63);
      if (word != 0) {
        const int64_t row = next_ + __builtin_ctzll(word);
        next_ = row + 1;
        return row < end_ ? row : -1;
      }
      next_ = (next_ | 63) + 1;
    }
    return -1;
  }

  const RowSet* set_;
  int64_t place_ = 0;  // in the list
  int64_t next_;       // of bits and of all
  int64_t end_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_ROW_SET_H_
