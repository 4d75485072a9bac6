// Keeps the addresses behind names up to date.
#ifndef SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_
#define SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/log/log_limiter.h"
#include "services/router/membership.h"

namespace sightline {

class NameWatcher {
 public:
  using Resolve = std::function<absl::StatusOr<Addresses>(const std::string& name)>;
  using Changed = std::function<void(const Membership&)>;

  // Looks the names of `members` up by `resolve`: each at once, then every `interval` (one that
  // has never been found, every second if that is sooner), or when its last look-up has ended if
  // that is later.  This is done on kThreads threads, which may block in it, and another for
  // each look-up that has taken kSlow, up to kMostThreads in all: so names that hang, known to
  // or not, leave others their threads.  Of names whose last look-up took that long, kAtOnceSlow
  // are looked up at once.
  //
  // Calls `changed`, with every name replaced, as soon as one has new addresses; on any of
  // those threads, one call at a time, each newer than the one before.  A name that cannot be
  // looked up keeps the addresses it had.  Without names there are no threads, and `changed`
  // is not called.
  NameWatcher(const Membership& members, absl::Duration interval, Clock* clock, Resolve resolve,
              Changed changed);

  // Waits for the look-ups that are under way.
  ~NameWatcher();
  NameWatcher(const NameWatcher&) = delete;
  NameWatcher& operator=(const NameWatcher&) = delete;

  static constexpr size_t kThreads = 32;
  static constexpr size_t kMostThreads = 512;
  static constexpr size_t kAtOnceSlow = 16;
  static constexpr absl::Duration kSlow = absl::Seconds(1);

 private:
  struct Name {
    absl::Time due = absl::InfinitePast();      // if it is not queued or being looked up
    bool idle = true;                           // it is neither
    absl::Time began = absl::InfiniteFuture();  // of the look-up under way
    bool slow = false;                          // that, or the last one, has taken kSlow
    bool found = false;                         // once
  };

  void Schedule() EXCLUDES(mutex_);
  // Queues names that are due and finds look-ups that take long; returns when to look again.
  absl::Time LookAtNames(absl::Time now) REQUIRES(mutex_);
  void AddThreads() REQUIRES(mutex_);
  void Work() EXCLUDES(mutex_);
  // The next name to be looked up, taken from the queue; null once the watcher stops.
  const std::string* AwaitWork() EXCLUDES(mutex_);
  // That a look-up has ended and what it found; whether the name has other addresses now.
  bool NoteEnd(const std::string& name, absl::StatusOr<Addresses> found) EXCLUDES(mutex_);
  bool NoteAddresses(const std::string& name, Addresses found) REQUIRES(mutex_);
  void LogNotFound(const std::string& name, const absl::Status& status);
  void Tell() EXCLUDES(tell_mutex_, mutex_);

  const Membership members_;
  const absl::Duration interval_;
  Clock* const clock_;
  const Resolve resolve_;
  const Changed changed_ GUARDED_BY(tell_mutex_);
  LogLimiter log_limiter_;

  Mutex mutex_;
  CondVar due_;     // wakes the scheduler
  CondVar queued_;  // wakes the workers
  // The keys are always the same, and read by anybody who has got one.
  std::map<std::string, Name> names_ GUARDED_BY(mutex_);
  std::deque<const std::string*> queue_ GUARDED_BY(mutex_);  // of names that are due
  std::map<std::string, Addresses> known_ GUARDED_BY(mutex_);
  size_t slow_under_way_ GUARDED_BY(mutex_) = 0;  // look-ups of names that are slow
  bool news_ GUARDED_BY(mutex_) = false;          // known_ has changed since it was told last
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::vector<std::thread> workers_;  // the scheduler's

  Mutex tell_mutex_;       // taken before mutex_
  std::thread scheduler_;  // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_
