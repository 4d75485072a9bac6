#include "common/bundle/tag_filter.h"

#include <algorithm>

namespace sightline {

bool Passes(const TagFilter& filter, absl::Span<const std::string> tags) {
  const auto has = [tags](const std::string& tag) {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  };
  const auto& [any, all, none] = filter;
  return (any.empty() || std::any_of(any.begin(), any.end(), has)) &&
         std::all_of(all.begin(), all.end(), has) && std::none_of(none.begin(), none.end(), has);
}

}  // namespace sightline
