// Keeps the addresses behind names up to date.
#ifndef SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_
#define SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/log/log_limiter.h"
#include "services/router/membership.h"

namespace sightline {

class NameWatcher {
 public:
  using Resolve = std::function<absl::StatusOr<Addresses>(const std::string& name)>;
  using Changed = std::function<void(const Membership&)>;

  // Looks the names of `members` up by `resolve`, from now on and every `interval` (while
  // one has never been found, every second if that is sooner), on a thread of its own that
  // may block in it.  Calls `changed` on that thread, with every name replaced, as soon as
  // one has new addresses.  A name that cannot be looked up keeps the addresses it had.
  // Without names there is no thread, and `changed` is not called.
  NameWatcher(const Membership& members, absl::Duration interval, Clock* clock, Resolve resolve,
              Changed changed);

  // Waits for the one look-up that is under way.
  ~NameWatcher();
  NameWatcher(const NameWatcher&) = delete;
  NameWatcher& operator=(const NameWatcher&) = delete;

 private:
  void Loop();
  // Whether all names have been found, now or before.
  bool LookUpAll();
  bool stopping();

  const Membership members_;
  const std::vector<std::string> names_;
  const absl::Duration interval_;
  Clock* const clock_;
  const Resolve resolve_;
  const Changed changed_;
  LogLimiter log_limiter_;
  std::map<std::string, Addresses> known_;  // of the thread

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_NAME_WATCHER_H_
