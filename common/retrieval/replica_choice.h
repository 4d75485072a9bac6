// Which of several replicas is asked: what their own calls have taught about them, and
// the choice among those that are worth asking.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_REPLICA_CHOICE_H_
#define SIGHTLINE_COMMON_RETRIEVAL_REPLICA_CHOICE_H_

#include <cstdint>
#include <mutex>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace sightline {

// The health of one replica.  Thread-safe.
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

  // mutex_ is held in both.
  void NoteBad(absl::Time started, absl::Time now, int limit, int* in_a_row);
  void AvoidUntil(absl::Time until, absl::Time now);

  const absl::Duration avoid_for_;
  mutable std::mutex mutex_;
  bool avoided_ = false;      // guarded by mutex_, as are
  absl::Time avoided_since_;  // if avoided_
  absl::Time avoided_until_;  // if avoided_
  int late_ = 0;              // in a row, as are
  int faults_ = 0;
  int doublings_ = 0;
};

// What is known of a replica, from elsewhere, with regard to one request.
enum class Fitness {
  kUnfit,   // is not known to hold the request's generation
  kSilent,  // held it when last heard of, but has not been heard of lately
  kFit,
};

// A replica that could be asked.
struct Contender {
  Fitness fitness = Fitness::kFit;
  bool avoided = false;
  int64_t work = 0;  // under way to it
};

// The index of the one to ask, -1 if there is none: of the best that are there (fit and
// not avoided, silent and not avoided, fit, silent, unfit), two are drawn by `random`, and
// the one with less work is taken.  Two are enough to keep the longest queue short, and
// unlike "the least of all" it does not send every router to the same replica.
int ChooseReplica(absl::Span<const Contender> contenders, uint64_t random);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_REPLICA_CHOICE_H_
