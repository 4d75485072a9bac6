#include "common/retrieval/replica_choice.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace sightline {
namespace {

// Higher is better.
int Rank(const Contender& contender) {
  if (contender.fitness == Fitness::kUnfit) return contender.avoided ? 0 : 1;
  const int silence = contender.fitness == Fitness::kSilent ? 0 : 1;
  return (contender.avoided ? 2 : 4) + silence;
}

}  // namespace

ReplicaHealth::State ReplicaHealth::state(absl::Time now) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!avoided_) return State::kGood;
  return now < avoided_until_ ? State::kAvoided : State::kProbeDue;
}

bool ReplicaHealth::ClaimProbe(absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!avoided_ || now < avoided_until_) return false;
  avoided_until_ = now + avoid_for_;
  return true;
}

void ReplicaHealth::NoteAnswer() {
  std::lock_guard<std::mutex> lock(mutex_);
  avoided_ = false;
  late_ = 0;
  faults_ = 0;
  doublings_ = 0;
}

void ReplicaHealth::NoteDown(absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  AvoidUntil(now + avoid_for_, now);
}

void ReplicaHealth::NoteLate(absl::Time started, absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  NoteBad(started, now, kLateLimit, &late_);
}

void ReplicaHealth::NoteFault(absl::Time started, absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  late_ = 0;  // it does answer
  NoteBad(started, now, kFaultLimit, &faults_);
}

void ReplicaHealth::NoteBad(absl::Time started, absl::Time now, int limit, int* in_a_row) {
  // What was under way when it was found out says nothing new.
  if (avoided_ && started < avoided_since_) return;
  if (++*in_a_row < limit) return;
  AvoidUntil(now + avoid_for_ * (1 << doublings_), now);
  doublings_ = std::min(doublings_ + 1, kMostDoublings);
}

void ReplicaHealth::AvoidUntil(absl::Time until, absl::Time now) {
  avoided_ = true;
  avoided_since_ = now;
  avoided_until_ = until;
}

int ChooseReplica(absl::Span<const Contender> contenders, uint64_t random) {
  absl::InlinedVector<int, 8> best;
  for (int i = 0; i < static_cast<int>(contenders.size()); ++i) {
    const int rank = Rank(contenders[i]);
    if (!best.empty() && rank < Rank(contenders[best.front()])) continue;
    if (!best.empty() && rank > Rank(contenders[best.front()])) best.clear();
    best.push_back(i);
  }
  if (best.empty()) return -1;
  const uint64_t count = best.size();
  const uint64_t first = (random & 0xffffffff) % count;
  if (count == 1) return best[0];
  // Another than the first, each with the same chance.
  const uint64_t second = (first + 1 + (random >> 32) % (count - 1)) % count;
  return contenders[best[second]].work < contenders[best[first]].work ? best[second] : best[first];
}

}  // namespace sightline
