#include "common/replicas/replica_choice.h"

#include <algorithm>

namespace sightline {

ReplicaHealth::State ReplicaHealth::state(absl::Time now) const {
  const int64_t until = avoided_until_.load(std::memory_order_relaxed);
  if (until == kNotAvoided) return State::kGood;
  return absl::ToUnixNanos(now) < until ? State::kAvoided : State::kProbeDue;
}

bool ReplicaHealth::ClaimProbe(absl::Time now) {
  MutexLock lock(mutex_);
  if (state(now) != State::kProbeDue) return false;
  avoided_until_ = absl::ToUnixNanos(now + avoid_for_);
  return true;
}

void ReplicaHealth::NoteAnswer() {
  if (spotless_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  spotless_ = true;
  avoided_until_ = kNotAvoided;
  late_ = 0;
  faults_ = 0;
  doublings_ = 0;
}

void ReplicaHealth::NoteDown(absl::Time now) {
  MutexLock lock(mutex_);
  AvoidUntil(now + avoid_for_, now);
}

void ReplicaHealth::NoteLate(absl::Time started, absl::Time now) {
  MutexLock lock(mutex_);
  NoteBad(started, now, kLateLimit, &late_);
}

void ReplicaHealth::NoteFault(absl::Time started, absl::Time now) {
  MutexLock lock(mutex_);
  late_ = 0;  // it does answer
  NoteBad(started, now, kFaultLimit, &faults_);
}

void ReplicaHealth::NoteBad(absl::Time started, absl::Time now, int limit, int* in_a_row) {
  // What was under way when it was found out says nothing new.
  if (avoided_until_ != kNotAvoided && started < avoided_since_) return;
  spotless_ = false;
  if (++*in_a_row < limit) return;
  AvoidUntil(now + avoid_for_ * (1 << doublings_), now);
  doublings_ = std::min(doublings_ + 1, kMostDoublings);
}

void ReplicaHealth::AvoidUntil(absl::Time until, absl::Time now) {
  spotless_ = false;
  avoided_since_ = now;
  avoided_until_ = absl::ToUnixNanos(until);
}

}  // namespace sightline
