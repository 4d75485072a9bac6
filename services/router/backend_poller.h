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
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/admin_client.h"

namespace sightline {

struct BackendPollerOptions {
  // Between two rounds, and how long a backend may take to answer.
  absl::Duration interval = absl::Milliseconds(500);
  absl::Duration timeout = absl::Milliseconds(500);
  // Makes the client of an address, never null.
  std::function<std::shared_ptr<AdminClient>(const std::string& address)> make_client;
  // What the backend of that address is asked.
  std::function<StatusRequest(const std::string& address)> request;
  // Takes what it answered.  Runs on any thread until the poller is gone; does not call
  // the poller.
  std::function<void(const std::string& address, absl::StatusOr<ServerStatus>)> report;
};

// Thread-safe.
class BackendPoller {
 public:
  // Polls from now on, one round every interval, all backends at once.
  BackendPoller(const std::vector<std::string>& addresses, BackendPollerOptions options,
                Clock* clock);
  ~BackendPoller();
  BackendPoller(const BackendPoller&) = delete;
  BackendPoller& operator=(const BackendPoller&) = delete;

  // From now on these are polled; the new ones begin with a round at once.  What others
  // still answer is dropped.
  void SetAddresses(const std::vector<std::string>& addresses);

 private:
  // Shared with calls that are still out when the poller goes.
  struct Sink {
    std::mutex mutex;
    // Guarded by mutex; empty once the poller is gone.
    std::function<void(const std::string&, absl::StatusOr<ServerStatus>)> report;
    // Of each address that is polled.  Rounds may overtake each other; an answer older than
    // the last one is dropped.  Guarded by mutex.
    std::map<std::string, int64_t> newest_round;
  };

  void Loop();
  void PollAll();

  const BackendPollerOptions options_;
  Clock* const clock_;
  const std::shared_ptr<Sink> sink_;
  int64_t round_ = 0;  // of the polling thread

  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<AdminClient>> clients_;  // guarded by mutex_, as are
  bool at_once_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_BACKEND_POLLER_H_
