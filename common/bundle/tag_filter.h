// Which items a search may find, by their tags.
#ifndef SIGHTLINE_COMMON_BUNDLE_TAG_FILTER_H_
#define SIGHTLINE_COMMON_BUNDLE_TAG_FILTER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

// Those that have one of `any`, all of `all` and none of `none`; a list that is empty asks for
// nothing.  At most limits::kMaxFilterTags in all, each of 1 to limits::kMaxFilterTagBytes bytes,
// compared byte by byte.
struct TagFilter {
  std::vector<std::string> any;
  std::vector<std::string> all;
  std::vector<std::string> none;

  // Whether all items pass.
  bool empty() const { return any.empty() && all.empty() && none.empty(); }
};

// Whether an item of these tags passes: what the postings of a shard have to agree with.
bool Passes(const TagFilter& filter, absl::Span<const std::string> tags);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_TAG_FILTER_H_
