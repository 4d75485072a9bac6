#include "loadtest/measure/exact_answers.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace sightline {

int NearestFound(absl::Span<const std::string> nearest, absl::Span<const Hit> hits) {
  absl::flat_hash_set<absl::string_view> first;
  for (const Hit& hit : hits.subspan(0, nearest.size())) first.insert(hit.item_id);
  return static_cast<int>(
      std::count_if(nearest.begin(), nearest.end(),
                    [&first](const std::string& id) { return first.contains(id); }));
}

}  // namespace sightline
