#include "common/bundle/tag_postings.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/bundle/stored_record.h"

namespace sightline {
namespace {

constexpr int64_t kRowsBetweenChecks = 1024;

}  // namespace

// Two passes over the tags as they are stored: the first counts the rows of each tag, the second
// writes them where they belong.
class TagPostingsBuilder {
 public:
  explicit TagPostingsBuilder(const ShardVectors& vectors) : vectors_(vectors) {}

  absl::StatusOr<TagPostings> Build(const CallContext& call) {
    postings_.rows_ = vectors_.size();
    postings_.stored_ = vectors_.StoredTagSection();
    if (postings_.rows_ > std::numeric_limits<uint32_t>::max()) {
      return absl::FailedPreconditionError(
          absl::StrCat("a shard of ", postings_.rows_, " items; tags can be found in at most ",
                       std::numeric_limits<uint32_t>::max(), ": encode with more shards"));
    }
    Grow();
    RETURN_IF_ERROR(ForEach(call, [this](int64_t row, absl::string_view text) {
      Tag& tag = FindOrAdd(text);
      if (tag.last_row == row) return;
      tag.last_row = static_cast<uint32_t>(row);
      ++tag.next;
    }));
    LayOut();
    for (Tag& tag : tags_) tag.last_row = kNone;
    RETURN_IF_ERROR(ForEach(call, [this](int64_t row, absl::string_view text) {
      Tag& tag = FindOrAdd(text);
      if (tag.last_row == row) return;
      tag.last_row = static_cast<uint32_t>(row);
      Put(row, tag);
    }));
    return std::move(postings_);
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Tag {
    uint64_t place = 0;         // of its text, where it was seen first
    uint64_t next = 0;          // its rows so far; once they are laid out, where the next one goes
    uint32_t last_row = kNone;  // an item may have a tag twice
    bool bits = false;
  };

  template <typename Visit>
  absl::Status ForEach(const CallContext& call, Visit visit) const {
    for (int64_t row = 0; row < vectors_.size(); ++row) {
      if (row % kRowsBetweenChecks == 0) RETURN_IF_ERROR(call.Check("sort tags"));
      ASSIGN_OR_RETURN(const absl::string_view stored, vectors_.StoredTags(row));
      const absl::Status status =
          ForEachStoredTag(stored, [&](absl::string_view text) { visit(row, text); });
      if (!status.ok()) {
        return absl::DataLossError(
            absl::StrCat(vectors_.container().path(), ": item ", row, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  // Texts are compared where they are stored, and nothing is copied.
  Tag& FindOrAdd(absl::string_view text) {
    const size_t mask = slots_.size() - 1;
    size_t slot = absl::Hash<absl::string_view>()(text) & mask;
    for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
      Tag& tag = tags_[slots_[slot]];
      if (postings_.TextAt(tag.place) == text) return tag;
    }
    slots_[slot] = static_cast<uint32_t>(tags_.size());
    Tag added;
    added.place = static_cast<uint64_t>(text.data() - postings_.stored_.data());
    tags_.push_back(added);
    if (2 * tags_.size() > slots_.size()) Grow();
    return tags_.back();
  }

  void Grow() {
    const size_t size = std::max<size_t>(2 * slots_.size(), 64);
    slots_ = {};  // before there are more
    slots_.assign(size, kNone);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < tags_.size(); ++i) {
      size_t slot = absl::Hash<absl::string_view>()(postings_.TextAt(tags_[i].place)) & mask;
      while (slots_[slot] != kNone) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<uint32_t>(i);
    }
  }

  // Decides where each tag's rows go, in the order of texts.
  void LayOut() {
    std::vector<uint32_t> order(tags_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return postings_.TextAt(tags_[a].place) < postings_.TextAt(tags_[b].place);
    });
    postings_.places_.reserve(order.size());
    postings_.begins_.reserve(order.size() + 1);
    uint64_t end = 0;
    postings_.begins_.push_back(end);
    for (const uint32_t i : order) {
      Tag& tag = tags_[i];
      const uint64_t count = std::exchange(tag.next, end);
      tag.bits = count >= postings_.bit_pieces();
      end += tag.bits ? postings_.bit_pieces() : count;
      postings_.places_.push_back(tag.place);
      postings_.begins_.push_back(end);
    }
    postings_.numbers_.assign(end, 0);
  }

  void Put(int64_t row, Tag& tag) {
    if (tag.bits) {
      postings_.numbers_[tag.next + static_cast<uint64_t>(row / 32)] |= uint32_t{1} << row % 32;
    } else {
      postings_.numbers_[tag.next++] = static_cast<uint32_t>(row);
    }
  }

  const ShardVectors& vectors_;
  TagPostings postings_;
  std::deque<Tag> tags_;         // which grows without a copy of all
  std::vector<uint32_t> slots_;  // numbers of tags, by hash; at most half are taken
};

// Says of rows that ascend whether a posting has them.
class TagPostings::Cursor {
 public:
  explicit Cursor(const Posting& posting) : posting_(posting) {}

  bool Has(uint32_t row) {
    if (posting_.bits) return (posting_.numbers[row / 32] >> row % 32 & 1) != 0;
    // In steps that double, so that a short list costs a long one little.
    const absl::Span<const uint32_t> list = posting_.numbers;
    size_t step = 1;
    size_t high = at_;
    while (high < list.size() && list[high] < row) {
      at_ = high + 1;
      high += step;
      step *= 2;
    }
    high = std::min(high, list.size());
    at_ = static_cast<size_t>(std::lower_bound(list.begin() + at_, list.begin() + high, row) -
                              list.begin());
    return at_ < list.size() && list[at_] == row;
  }

 private:
  const Posting posting_;
  size_t at_ = 0;  // all before are less than the rows that were asked for
};

// Rows that are left while a filter is gone through: a list, or bits.
class TagPostings::Working {
 public:
  // All rows of a shard, as bits.
  explicit Working(int64_t rows)
      : rows_(rows), words_(static_cast<size_t>((rows + 63) / 64), ~0ull) {
    if (rows % 64 != 0) words_.back() = ~0ull >> (64 - rows % 64);
  }
  Working(int64_t rows, const Posting& posting) : rows_(rows), list_(!posting.bits) {
    if (list_) {
      few_.assign(posting.numbers.begin(), posting.numbers.end());
    } else {
      words_.resize(posting.numbers.size() / 2);
      std::memcpy(words_.data(), posting.numbers.data(), words_.size() * sizeof(uint64_t));
    }
  }
  // The rows of any of the postings.
  Working(int64_t rows, absl::Span<const Posting> any)
      : rows_(rows), words_(static_cast<size_t>((rows + 63) / 64), 0) {
    for (const Posting& posting : any) {
      if (!posting.bits) {
        for (const uint32_t row : posting.numbers) words_[row / 64] |= uint64_t{1} << row % 64;
        continue;
      }
      for (size_t i = 0; i < words_.size(); ++i) words_[i] |= WordOf(posting, i);
    }
  }

  // Keeps the rows that one of the postings has.
  void KeepAnyOf(absl::Span<const Posting> any) {
    if (!list_) {
      KeepBits(any.size() == 1 ? Working(rows_, any.front()) : Working(rows_, any));
      return;
    }
    std::vector<char> kept(few_.size(), 0);
    for (const Posting& posting : any) {
      Cursor cursor(posting);
      for (size_t i = 0; i < few_.size(); ++i) kept[i] |= static_cast<char>(cursor.Has(few_[i]));
    }
    size_t end = 0;
    for (size_t i = 0; i < few_.size(); ++i) {
      if (kept[i] != 0) few_[end++] = few_[i];
    }
    few_.resize(end);
  }

  // Takes the posting's rows away.
  void Drop(const Posting& posting) {
    if (list_) {
      Cursor cursor(posting);
      few_.erase(
          std::remove_if(few_.begin(), few_.end(), [&](uint32_t row) { return cursor.Has(row); }),
          few_.end());
    } else if (posting.bits) {
      for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~WordOf(posting, i);
    } else {
      for (const uint32_t row : posting.numbers) words_[row / 64] &= ~(uint64_t{1} << row % 64);
    }
  }

  RowSet Take() && {
    if (list_) return RowSet::OfRows(std::move(few_), rows_);
    RowSet bits = RowSet::OfBits(std::move(words_), rows_);
    if (bits.count() * RowSet::kLeastRowsOfList > rows_) return bits;
    std::vector<uint32_t> rows;
    rows.reserve(static_cast<size_t>(bits.count()));
    bits.ForEach([&rows](int64_t row) { rows.push_back(static_cast<uint32_t>(row)); });
    return RowSet::OfRows(std::move(rows), rows_);
  }

 private:
  static uint64_t WordOf(const Posting& posting, size_t i) {
    return posting.numbers[2 * i] | uint64_t{posting.numbers[2 * i + 1]} << 32;
  }

  void KeepBits(const Working& other) {
    if (other.list_) {
      std::vector<uint32_t> kept;
      for (const uint32_t row : other.few_) {
        if ((words_[row / 64] >> row % 64 & 1) != 0) kept.push_back(row);
      }
      few_ = std::move(kept);
      list_ = true;
      return;
    }
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }

  int64_t rows_;
  bool list_ = false;
  std::vector<uint32_t> few_;
  std::vector<uint64_t> words_;
};

absl::StatusOr<TagPostings> TagPostings::Build(const ShardVectors& vectors,
                                               const CallContext& call) {
  return TagPostingsBuilder(vectors).Build(call);
}

int64_t TagPostings::MostBytes(int64_t stored_bytes) {
  constexpr int64_t kLengthBytes = sizeof(uint32_t);
  constexpr int64_t kTagBytes = 2 * sizeof(uint64_t) + sizeof(uint32_t);
  constexpr int64_t kMostTexts = int64_t{1} << 48;  // more than there is room for in any file
  int64_t tags = 0;
  int64_t texts = 1;  // of the length
  int64_t left = stored_bytes;
  for (int64_t bytes = kLengthBytes; left >= bytes; ++bytes) {
    const int64_t count = std::min(texts, left / bytes);
    tags += count;
    left -= count * bytes;
    texts = std::min(texts * 256, kMostTexts);
  }
  // One more for what is left, and where the last one's rows end.
  return (tags + 1) * kTagBytes + static_cast<int64_t>(sizeof(uint64_t));
}

absl::string_view TagPostings::TextAt(uint64_t place) const {
  const char* const text = stored_.data() + place;
  return {text, LoadLittleEndian<uint32_t>(text - sizeof(uint32_t))};
}

TagPostings::Posting TagPostings::At(size_t tag) const {
  const uint64_t count = begins_[tag + 1] - begins_[tag];
  // A list is shorter than bits would be.
  return {absl::MakeConstSpan(numbers_).subspan(begins_[tag], count), count == bit_pieces()};
}

absl::optional<TagPostings::Posting> TagPostings::Find(absl::string_view tag) const {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), tag,
                       [this](uint64_t place, absl::string_view t) { return TextAt(place) < t; });
  if (found == places_.end() || TextAt(*found) != tag) return absl::nullopt;
  return At(static_cast<size_t>(found - places_.begin()));
}

std::vector<TagPostings::Posting> TagPostings::FindAll(const std::vector<std::string>& tags) const {
  std::vector<Posting> found;
  for (const std::string& tag : tags) {
    if (const absl::optional<Posting> posting = Find(tag)) found.push_back(*posting);
  }
  std::sort(found.begin(), found.end(),
            [](const Posting& a, const Posting& b) { return a.numbers.size() < b.numbers.size(); });
  return found;
}

RowSet TagPostings::Matching(const TagFilter& filter) const {
  const std::vector<Posting> all = FindAll(filter.all);
  const std::vector<Posting> any = FindAll(filter.any);
  if (all.size() < filter.all.size() || (any.empty() && !filter.any.empty())) {
    return RowSet::OfRows({}, rows_);
  }
  const auto begin = [&] {
    if (!all.empty()) return Working(rows_, all.front());
    if (any.size() == 1) return Working(rows_, any.front());
    return any.empty() ? Working(rows_) : Working(rows_, any);
  };
  Working left = begin();
  for (size_t i = 1; i < all.size(); ++i) left.KeepAnyOf({all[i]});
  if (!all.empty() && !any.empty()) left.KeepAnyOf(any);
  for (const Posting& posting : FindAll(filter.none)) left.Drop(posting);
  return std::move(left).Take();
}

int64_t TagPostings::byte_count() const {
  return static_cast<int64_t>((places_.capacity() + begins_.capacity()) * sizeof(uint64_t) +
                              numbers_.capacity() * sizeof(uint32_t));
}

}  // namespace sightline
