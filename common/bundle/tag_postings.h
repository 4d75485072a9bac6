// Which rows of a shard have a tag, for filters.
#ifndef SIGHTLINE_COMMON_BUNDLE_TAG_POSTINGS_H_
#define SIGHTLINE_COMMON_BUNDLE_TAG_POSTINGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/tag_filter.h"
#include "common/embedding/row_set.h"

namespace sightline {

// For each tag of a shard its rows: a list of numbers that ascend, or a bit for every row of the
// shard, whichever is shorter.  Immutable, thread-safe.
//
// Takes four bytes for each tag of each item, less for tags that many have, and sixteen for each
// tag that differs.  In a vectors file a tag takes four and its text: so this is mostly less than
// half of that, and at most MostBytes, where no tag is there twice and all are a few bytes long.
class TagPostings {
 public:
  TagPostings() = default;

  // Of a shard that is loaded, and outlives the postings.  Takes at most 48 bytes more for each tag
  // that differs while it works.  DataLoss for tags or offsets that lie; the call's own status if
  // it ends before.
  static absl::StatusOr<TagPostings> Build(const ShardVectors& vectors, const CallContext& call);

  // The most bytes that postings take whose section of tags has `stored_bytes`.  Of its tags the
  // first of each text takes 20 here, and 4 and its text there; another one of the same text at
  // most 4 here, and at least 4 there.  So it is most where no two are equal and none could be
  // shorter; of texts of n bytes there are 256^n.
  static int64_t MostBytes(int64_t stored_bytes);

  // The rows that `filter` lets through, which asks for something.  A tag that no item has is one
  // of no rows.  Takes time in proportion to the shortest list that all must be in; to all rows
  // over 64, and the lists, where there is no such.
  RowSet Matching(const TagFilter& filter) const;

  // Tags that differ.
  int64_t tag_count() const { return static_cast<int64_t>(places_.size()); }
  int64_t byte_count() const;

 private:
  friend class TagPostingsBuilder;

  // Of one tag.
  struct Posting {
    absl::Span<const uint32_t> numbers;  // rows, or the bits of all of them in pieces of 32
    bool bits = false;
  };
  class Cursor;
  class Working;

  absl::optional<Posting> Find(absl::string_view tag) const;
  // Those of `tags` that there are, the shortest first.
  std::vector<Posting> FindAll(const std::vector<std::string>& tags) const;
  absl::string_view TextAt(uint64_t place) const;
  Posting At(size_t tag) const;
  size_t bit_pieces() const { return static_cast<size_t>((rows_ + 63) / 64 * 2); }

  int64_t rows_ = 0;
  absl::string_view stored_;      // the section of tags
  std::vector<uint64_t> places_;  // where each tag's text is stored once, in the order of texts
  std::vector<uint64_t> begins_;  // of each tag's numbers, and their end
  std::vector<uint32_t> numbers_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_TAG_POSTINGS_H_
