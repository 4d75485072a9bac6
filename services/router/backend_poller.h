// Asks every backend for its status, again and again, and puts the answers on the board.
#ifndef SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_
#define SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/admin_client.h"

namespace sightline {

// Thread-safe.
class BackendPoller {
 public:
  // Takes a status of the backend of that address.
  using Report = std::function<void(const std::string& address, absl::StatusOr<ServerStatus>)>;

  // `clients`: address -> client.  Polls from now on, one round every `interval`, all
  // backends at once; `report` runs on any thread until the destructor returns.
  BackendPoller(std::map<std::string, std::shared_ptr<AdminClient>> clients,
                absl::Duration interval, absl::Duration timeout, Clock* clock, Report report);
  ~BackendPoller();
  BackendPoller(const BackendPoller&) = delete;
  BackendPoller& operator=(const BackendPoller&) = delete;

 private:
  // Shared with calls that are still out when the poller goes.
  struct Sink {
    std::mutex mutex;
    Report report;  // guarded by mutex; empty once the poller is gone
    // Rounds may overtake each other; an answer older than the last one is dropped.
    std::map<std::string, int64_t> newest_round;  // guarded by mutex
  };

  void Loop();
  void PollAll();

  const std::map<std::string, std::shared_ptr<AdminClient>> clients_;
  const absl::Duration interval_;
  const absl::Duration timeout_;
  Clock* const clock_;
  std::shared_ptr<Sink> sink_;
  int64_t round_ = 0;  // of the polling thread

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_
