// Which of several replicas is asked: what their own calls have taught about them, and
// the choice among those that are worth asking.
#ifndef SIGHTLINE_COMMON_REPLICAS_REPLICA_CHOICE_H_
#define SIGHTLINE_COMMON_REPLICAS_REPLICA_CHOICE_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

// The health of one replica.  Thread-safe; state(), and NoteAnswer() of one in good health,
// take no lock.
//
// One that is UNAVAILABLE is passed over for `avoid_for`; then one call probes it, and the
// others wait for what that call finds.  One whose calls stay unanswered, kLateLimit in a
// row, hangs: it is passed over too, twice as long after each probe that finds it hanging
// still, because such a probe costs its call more than a refused connection does.  One that
// answers kFaultLimit calls in a row with a fault of its own is broken, and quick at it: it
// would have the least work under way, and so get most of the calls.  It is passed over like
// one that hangs.
class ReplicaHealth {
 public:
  enum class State { kGood, kProbeDue, kAvoided };

  explicit ReplicaHealth(absl::Duration avoid_for) : avoid_for_(avoid_for) {}

  State state(absl::Time now) const;

  // Makes the caller the one who probes; false if another is.
  bool ClaimProbe(absl::Time now);

  // It has answered a call, well or with what the call itself is to blame for.
  void NoteAnswer();
  // A call that began at `started` has met a fault of the replica's own.
  void NoteFault(absl::Time started, absl::Time now);
  // It was UNAVAILABLE.
  void NoteDown(absl::Time now);
  // A call that began at `started` has waited long enough.
  void NoteLate(absl::Time started, absl::Time now);

 private:
  static constexpr int kLateLimit = 2;
  static constexpr int kFaultLimit = 3;
  static constexpr int kMostDoublings = 4;

  void NoteBad(absl::Time started, absl::Time now, int limit, int* in_a_row) REQUIRES(mutex_);
  void AvoidUntil(absl::Time until, absl::Time now) REQUIRES(mutex_);

  static constexpr int64_t kNotAvoided = std::numeric_limits<int64_t>::min();

  const absl::Duration avoid_for_;
  // Written with mutex_ held, read by anybody.
  std::atomic<int64_t> avoided_until_{kNotAvoided};  // nanoseconds since 1970
  std::atomic<bool> spotless_{true};                 // nothing below has been noted
  Mutex mutex_;
  absl::Time avoided_since_ GUARDED_BY(mutex_);  // if avoided
  int late_ GUARDED_BY(mutex_) = 0;              // in a row, as are
  int faults_ GUARDED_BY(mutex_) = 0;
  int doublings_ GUARDED_BY(mutex_) = 0;
};

// Two of `count` replicas are drawn, each of those for which usable(i) holds with the same
// chance, and the index of the one with less work(i) is returned; -1 if none is usable.  Two
// are enough to keep the longest queue short, and unlike "the least of all" it does not send
// every router to the same replica.  `random` gives 64 random bits each time.
//
// Costs a few draws, however many replicas there are; a look at each only where so many are
// unusable that the draws have not met two that are not.
template <typename Usable, typename Work, typename Random>
int DrawReplica(int count, const Usable& usable, const Work& work, const Random& random) {
  constexpr int kDraws = 8;
  const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  const auto idler = [&work](int a, int b) { return work(b) < work(a) ? b : a; };
  int first = -1;
  for (int draw = 0; draw < kDraws && count > kDraws; ++draw) {
    const int drawn = static_cast<int>(below(count));
    if (drawn == first || !usable(drawn)) continue;
    if (first >= 0) return idler(first, drawn);
    first = drawn;
  }
  absl::InlinedVector<int, kDraws> all;
  for (int i = 0; i < count; ++i) {
    if (usable(i)) all.push_back(i);
  }
  if (all.empty()) return -1;
  if (all.size() == 1) return all[0];
  const size_t one = below(all.size());
  // Another than the first, each with the same chance.
  const size_t other = (one + 1 + below(all.size() - 1)) % all.size();
  return idler(all[one], all[other]);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_REPLICA_CHOICE_H_
