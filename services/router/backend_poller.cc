#include "services/router/backend_poller.h"

#include <algorithm>
#include <utility>

namespace sightline {
namespace {

constexpr double kJitter = 0.1;  // of the interval, to either side
// Of the interval: what is due within that is polled with what is due, so that thousands of
// backends do not wake the thread thousands of times.
constexpr double kSlack = 0.01;

}  // namespace

BackendPoller::State::State(BackendPollerOptions options, Clock* clock)
    : options(std::move(options)), clock(clock), random(this->options.seed) {}

BackendPoller::BackendPoller(const std::vector<std::string>& addresses,
                             BackendPollerOptions options, Clock* clock)
    : state_(std::make_shared<State>(std::move(options), clock)) {
  SetAddresses(addresses);
  thread_ = std::thread([state = state_] {
    for (auto due = state->AwaitDue(); !due.empty(); due = state->AwaitDue()) {
      for (const std::shared_ptr<Target>& target : due) state->Poll(state, target);
    }
  });
}

BackendPoller::~BackendPoller() {
  {
    // Polls that are out end by their deadline; their answers find nobody.
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->wake.NotifyAll();
  }
  thread_.join();
}

std::map<std::string, std::shared_ptr<BackendPoller::Target>> BackendPoller::MakeUnknown(
    const std::vector<std::string>& addresses) const {
  std::map<std::string, std::shared_ptr<Target>> made;
  {
    MutexLock lock(state_->mutex);
    for (const std::string& address : addresses) {
      if (state_->targets.count(address) == 0) made.emplace(address, nullptr);
    }
  }
  for (auto& [address, target] : made) {
    target = std::make_shared<Target>(Target{address, state_->options.make_client(address)});
  }
  return made;
}

void BackendPoller::SetAddresses(const std::vector<std::string>& addresses) {
  // Without the lock, which answers wait for: a client is a channel, and there may be thousands.
  std::map<std::string, std::shared_ptr<Target>> added = MakeUnknown(addresses);
  std::map<std::string, std::shared_ptr<Target>> targets;
  MutexLock lock(state_->mutex);
  const absl::Time now = state_->clock->Now();
  for (const std::string& address : addresses) {
    if (targets.count(address) > 0) continue;
    if (auto known = state_->targets.extract(address)) {
      targets.insert(std::move(known));
      continue;
    }
    const std::shared_ptr<Target>& target = added.at(address);
    targets.emplace(address, target);
    state_->due.emplace(now, target);
  }
  state_->targets.swap(targets);
  state_->wake.NotifyAll();
}

void BackendPoller::PollSoon(const std::string& address) {
  MutexLock lock(state_->mutex);
  const auto target = state_->targets.find(address);
  if (target == state_->targets.end()) return;
  const absl::Time now = state_->clock->Now();
  if (now < target->second->polled + kSoonest) return;
  auto& due = state_->due;
  const auto entry = std::find_if(due.begin(), due.end(),
                                  [&](const auto& next) { return next.second == target->second; });
  if (entry == due.end() || entry->first <= now) return;
  due.erase(entry);
  due.emplace(now, target->second);
  state_->wake.NotifyAll();
}

std::vector<std::shared_ptr<BackendPoller::Target>> BackendPoller::State::AwaitDue() {
  std::vector<std::shared_ptr<Target>> result;
  MutexLock lock(mutex);
  while (!stopping && result.empty()) {
    const absl::Time now = clock->Now();
    const absl::Time first = due.empty() ? absl::InfiniteFuture() : due.begin()->first;
    if (first > now) {
      clock->WaitUntil(wake, mutex, first);
      continue;
    }
    const auto end = due.upper_bound(now + kSlack * options.interval);
    for (auto it = due.begin(); it != end; ++it) {
      if (IsPolled(it->second)) result.push_back(std::move(it->second));
    }
    due.erase(due.begin(), end);
  }
  if (stopping) result.clear();
  return result;
}

bool BackendPoller::State::IsPolled(const std::shared_ptr<Target>& target) const {
  const auto found = targets.find(target->address);
  return found != targets.end() && found->second == target;
}

void BackendPoller::State::Poll(const std::shared_ptr<State>& self,
                                const std::shared_ptr<Target>& target) {
  StatusRequest request = options.request(target->address);
  const absl::Time sent = clock->Now();
  {
    MutexLock lock(mutex);
    target->polled = sent;
  }
  target->client->GetStatus(CallContext(clock, sent + options.timeout), std::move(request),
                            [self, target, sent](absl::StatusOr<ServerStatus> status) {
                              self->OnAnswer(target, sent, std::move(status));
                            });
}

void BackendPoller::State::OnAnswer(const std::shared_ptr<Target>& target, absl::Time sent,
                                    absl::StatusOr<ServerStatus> status) {
  MutexLock lock(mutex);
  if (stopping || !IsPolled(target)) return;
  options.report(target->address, std::move(status));
  std::uniform_real_distribution<double> jitter(1 - kJitter, 1 + kJitter);
  const absl::Time next = std::max(clock->Now(), sent + jitter(random) * options.interval);
  const auto added = due.emplace(next, target);
  if (added == due.begin()) wake.NotifyAll();
}

}  // namespace sightline
