#include "loadtest/faults/recovery.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/types/optional.h"

namespace sightline {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool IsWhole(const Tally& tally) {
  return tally.failed() == 0 && tally.degraded == 0 &&
         tally.shards_answered == tally.shards_asked && tally.wrong() == 0;
}

// The first second from `from` on, before `until`, that begins kWholeSeconds whole ones.
absl::optional<int64_t> FirstWhole(const std::vector<Second>& seconds, int64_t from,
                                   int64_t until) {
  absl::optional<int64_t> first;
  int in_a_row = 0;
  for (const Second& second : seconds) {
    if (second.second < from || second.second >= until || second.tally.count == 0) continue;
    if (!IsWhole(second.tally)) {
      first.reset();
      in_a_row = 0;
      continue;
    }
    if (!first) first = second.second;
    if (++in_a_row == kWholeSeconds) return first;
  }
  return absl::nullopt;
}

int64_t SecondOf(absl::Duration time) {
  return absl::ToInt64Seconds(time);
}

// The second in which the first fault after `mark` was over began.
int64_t NextFault(const std::vector<FaultMark>& marks, const FaultMark& mark) {
  int64_t next = kNever;
  for (const FaultMark& other : marks) {
    if (&other != &mark && other.at > mark.ended) next = std::min(next, SecondOf(other.at));
  }
  return next;
}

}  // namespace

void FindRecoveries(const std::vector<Second>& seconds, std::vector<FaultMark>* marks) {
  for (FaultMark& mark : *marks) {
    if (!mark.failed_expectations.empty()) continue;
    const absl::optional<int64_t> whole =
        FirstWhole(seconds, SecondOf(mark.ended), NextFault(*marks, mark));
    mark.whole_again = whole ? std::max(absl::ZeroDuration(), absl::Seconds(*whole) - mark.ended)
                             : absl::InfiniteDuration();
  }
}

}  // namespace sightline
