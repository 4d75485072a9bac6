// A batch of strangers' items, of which one may be bad.
//
//   std::vector<absl::StatusOr<float>> scores = RunEach<float>(
//       absl::MakeConstSpan(pairs),
//       [&](absl::Span<const ScoringPair> some) { return encoder.Score(some, call); });
#ifndef SIGHTLINE_COMMON_BATCHING_RUN_EACH_H_
#define SIGHTLINE_COMMON_BATCHING_RUN_EACH_H_

#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace sightline {

// What `run` makes of each of `items`, in order.  `run` takes any number of them and returns, as a
// StatusOr, a vector with a Result for each.  It is given all at once; if it refuses them
// (InvalidArgument) and there are several, each is tried alone, so that nobody pays for another's
// bad input.  Another error is everybody's, and so is an answer of another length (Internal).
template <typename Result, typename Item, typename Run>
std::vector<absl::StatusOr<Result>> RunEach(absl::Span<const Item> items, const Run& run) {
  if (items.empty()) return {};
  absl::StatusOr<std::vector<Result>> all = run(items);
  if (all.ok() && all->size() != items.size()) {
    all = absl::InternalError(
        absl::StrCat("a batch of ", items.size(), " came back as ", all->size()));
  }
  if (all.ok()) {
    return {std::make_move_iterator(all->begin()), std::make_move_iterator(all->end())};
  }
  if (items.size() < 2 || !absl::IsInvalidArgument(all.status())) {
    return std::vector<absl::StatusOr<Result>>(items.size(), all.status());
  }
  std::vector<absl::StatusOr<Result>> each;
  each.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    each.push_back(std::move(RunEach<Result>(items.subspan(i, 1), run).front()));
  }
  return each;
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_RUN_EACH_H_
