#include "services/router/backend_poller.h"

#include <utility>

namespace sightline {

BackendPoller::BackendPoller(std::map<std::string, std::shared_ptr<AdminClient>> clients,
                             absl::Duration interval, absl::Duration timeout, Clock* clock,
                             Report report)
    : clients_(std::move(clients)),
      interval_(interval),
      timeout_(timeout),
      clock_(clock),
      sink_(std::make_shared<Sink>()) {
  sink_->report = std::move(report);
  thread_ = std::thread([this] { Loop(); });
}

BackendPoller::~BackendPoller() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  // Calls that are out end by their deadline; their answers find nobody.
  std::lock_guard<std::mutex> lock(sink_->mutex);
  sink_->report = nullptr;
}

void BackendPoller::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    PollAll();
    lock.lock();
    const absl::Time next = clock_->Now() + interval_;
    while (!stopping_ && clock_->Now() < next) clock_->WaitUntil(wake_, lock, next);
  }
}

void BackendPoller::PollAll() {
  const CallContext call(clock_, clock_->Now() + timeout_);
  ++round_;
  for (const auto& [address, client] : clients_) {
    client->GetStatus(
        call, {},
        [sink = sink_, address = address, round = round_](absl::StatusOr<ServerStatus> status) {
          std::lock_guard<std::mutex> lock(sink->mutex);
          int64_t& newest = sink->newest_round[address];
          if (sink->report == nullptr || round < newest) return;
          newest = round;
          sink->report(address, std::move(status));
        });
  }
}

}  // namespace sightline
