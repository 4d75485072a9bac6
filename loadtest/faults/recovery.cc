#include "loadtest/faults/recovery.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace sightline {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool IsWhole(const Tally& tally) {
  return tally.failed() == 0 && tally.degraded == 0 &&
         tally.shards_answered == tally.shards_asked && tally.check_failures.empty();
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

int64_t FailuresBetween(const std::vector<Second>& seconds, int64_t from, int64_t until) {
  int64_t failures = 0;
  for (const Second& second : seconds) {
    if (second.second >= from && second.second < until) failures += second.tally.failed();
  }
  return failures;
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

std::string Text(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

void Judge(const FaultSpec& fault, const std::vector<Second>& seconds, int64_t until,
           FaultMark* mark) {
  const absl::optional<int64_t> whole = FirstWhole(seconds, SecondOf(mark->ended), until);
  mark->whole_again = whole ? std::max(absl::ZeroDuration(), absl::Seconds(*whole) - mark->ended)
                            : absl::InfiniteDuration();
  const int64_t failures = FailuresBetween(seconds, SecondOf(mark->at), whole.value_or(until));
  if (fault.max_failures && failures > *fault.max_failures) {
    mark->failed_expectations.push_back(
        absl::StrCat(failures, failures == 1 ? " request" : " requests",
                     " failed until the fleet was whole again; allowed are ", *fault.max_failures));
  }
  if (!fault.whole_within || mark->whole_again <= *fault.whole_within) return;
  mark->failed_expectations.push_back(absl::StrCat(
      whole ? absl::StrCat("whole again after ", Text(mark->whole_again))
            : absl::StrCat("not whole again, for ", kWholeSeconds, " seconds in a row, before ",
                           until == kNever ? "the run ended" : "the next fault"),
      "; wanted within ", Text(*fault.whole_within)));
}

}  // namespace

void JudgeFaults(const std::vector<FaultSpec>& faults, const std::vector<Second>& seconds,
                 std::vector<FaultMark>* marks) {
  for (size_t i = 0; i < std::min(faults.size(), marks->size()); ++i) {
    FaultMark& mark = (*marks)[i];
    if (mark.failed_expectations.empty()) Judge(faults[i], seconds, NextFault(*marks, mark), &mark);
  }
}

}  // namespace sightline
