#include "services/router/reported_sequences.h"

#include <algorithm>
#include <utility>

namespace sightline {

void ReportedSequences::Note(const std::map<std::string, int64_t>& reported, absl::Time now) {
  std::map<std::string, Lower> lower;
  for (const auto& [generation, sequence] : reported) {
    int64_t& counting = counting_.emplace(generation, sequence).first->second;
    if (sequence >= counting) {
      counting = sequence;
      continue;
    }
    const auto before = lower_.find(generation);
    const bool stands = before != lower_.end() && before->second.sequence == sequence;
    const absl::Time since = stands ? before->second.since : now;
    if (now - since >= restored_after_) {
      counting = sequence;
    } else {
      lower[generation] = {sequence, since};
    }
  }
  lower_ = std::move(lower);
}

void ReportedSequences::Forget(const std::string& generation) {
  counting_.erase(generation);
  lower_.erase(generation);
}

int64_t ReportedSequences::Of(const std::string& generation) const {
  const auto found = counting_.find(generation);
  return found == counting_.end() ? 0 : found->second;
}

absl::Time ReportedSequences::may_change_at() const {
  absl::Time first = absl::InfiniteFuture();
  for (const auto& [generation, lower] : lower_) {
    first = std::min(first, lower.since + restored_after_);
  }
  return first;
}

}  // namespace sightline
