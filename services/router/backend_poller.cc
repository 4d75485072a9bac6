#include "services/router/backend_poller.h"

#include <utility>

namespace sightline {

BackendPoller::BackendPoller(const std::vector<std::string>& addresses,
                             BackendPollerOptions options, Clock* clock)
    : options_(std::move(options)), clock_(clock), sink_(std::make_shared<Sink>()) {
  sink_->report = options_.report;
  SetAddresses(addresses);
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

void BackendPoller::SetAddresses(const std::vector<std::string>& addresses) {
  std::map<std::string, std::shared_ptr<AdminClient>> clients;
  std::map<std::string, int64_t> newest_round;
  std::lock_guard<std::mutex> lock(mutex_);
  std::lock_guard<std::mutex> sink_lock(sink_->mutex);
  for (const std::string& address : addresses) {
    const auto known = clients_.find(address);
    clients[address] = known != clients_.end() ? known->second : options_.make_client(address);
    newest_round[address] = sink_->newest_round[address];
  }
  clients_.swap(clients);
  sink_->newest_round = std::move(newest_round);
  at_once_ = true;
  wake_.notify_all();
}

void BackendPoller::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    at_once_ = false;
    lock.unlock();
    PollAll();
    lock.lock();
    const absl::Time next = clock_->Now() + options_.interval;
    while (!stopping_ && !at_once_ && clock_->Now() < next) {
      clock_->WaitUntil(wake_, lock, next);
    }
  }
}

void BackendPoller::PollAll() {
  std::map<std::string, std::shared_ptr<AdminClient>> clients;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    clients = clients_;
  }
  const CallContext call(clock_, clock_->Now() + options_.timeout);
  ++round_;
  for (const auto& [address, client] : clients) {
    client->GetStatus(
        call, options_.request(address),
        [sink = sink_, address = address, round = round_](absl::StatusOr<ServerStatus> status) {
          std::lock_guard<std::mutex> lock(sink->mutex);
          const auto newest = sink->newest_round.find(address);
          if (sink->report == nullptr || newest == sink->newest_round.end() ||
              round < newest->second) {
            return;
          }
          newest->second = round;
          sink->report(address, std::move(status));
        });
  }
}

}  // namespace sightline
