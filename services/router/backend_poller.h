// Asks every backend for its status, again and again, and hands on the answers.
//
// Each backend has a schedule and a deadline of its own: one that hangs, or thousands beside
// it, take nothing from the time that another has to answer.
#ifndef SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_
#define SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/clients/admin_client.h"

namespace sightline {

struct BackendPollerOptions {
  // Between the beginnings of two polls of one backend, give or take a tenth, drawn each time:
  // so that backends, and routers, which began together are not polled together for ever.
  absl::Duration interval = absl::Milliseconds(500);
  // How long a backend may take to answer.
  absl::Duration timeout = absl::Milliseconds(500);
  uint64_t seed = 0;  // of the draws
  // Makes the client of an address, never null.
  std::function<std::shared_ptr<AdminClient>(const std::string& address)> make_client;
  // What the backend of that address is asked.  Runs on the poller's thread.
  std::function<StatusRequest(const std::string& address)> request;
  // Takes what it answered.  Runs on any thread, one at a time, until the poller is gone; must
  // be quick, and does not call the poller.
  std::function<void(const std::string& address, absl::StatusOr<ServerStatus>)> report;
};

// Thread-safe.
class BackendPoller {
 public:
  // Polls from now on: each backend at once, then every interval, or when it has answered if
  // that is later.
  BackendPoller(const std::vector<std::string>& addresses, BackendPollerOptions options,
                Clock* clock);
  ~BackendPoller();
  BackendPoller(const BackendPoller&) = delete;
  BackendPoller& operator=(const BackendPoller&) = delete;

  // From now on these are polled, the new ones at once.  What others still answer is dropped.  From
  // one thread at a time.
  void SetAddresses(const std::vector<std::string>& addresses);

  // Something is known to have changed at `address`: it is polled now, unless it is being polled,
  // was within kSoonest, or is nobody's.
  void PollSoon(const std::string& address);

  static constexpr absl::Duration kSoonest = absl::Milliseconds(50);

 private:
  struct Target {
    const std::string address;
    const std::shared_ptr<AdminClient> client;
    absl::Time polled = absl::InfinitePast();  // the last time; of the state's mutex
  };

  // Shared with polls that are still out when the poller goes.
  struct State {
    State(BackendPollerOptions options, Clock* clock);

    // Those that are due, taken out of the schedule; waits until there are some.  None once
    // the poller stops.
    std::vector<std::shared_ptr<Target>> AwaitDue() EXCLUDES(mutex);
    void Poll(const std::shared_ptr<State>& self, const std::shared_ptr<Target>& target);
    void OnAnswer(const std::shared_ptr<Target>& target, absl::Time sent,
                  absl::StatusOr<ServerStatus> status) EXCLUDES(mutex);
    // Whether it is one of `targets`; another of the same address is not it.
    bool IsPolled(const std::shared_ptr<Target>& target) const REQUIRES(mutex);

    const BackendPollerOptions options;
    Clock* const clock;
    Mutex mutex;
    CondVar wake;
    std::map<std::string, std::shared_ptr<Target>> targets GUARDED_BY(mutex);  // by address
    // Those that are not asked now, some of them perhaps not in `targets` any more.
    std::multimap<absl::Time, std::shared_ptr<Target>> due GUARDED_BY(mutex);
    std::mt19937_64 random GUARDED_BY(mutex);
    bool stopping GUARDED_BY(mutex) = false;
  };

  // Targets of those addresses that are not polled yet.
  std::map<std::string, std::shared_ptr<Target>> MakeUnknown(
      const std::vector<std::string>& addresses) const;

  const std::shared_ptr<State> state_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_
