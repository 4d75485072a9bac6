#include "services/router/name_watcher.h"

#include <utility>

#include "common/log/log.h"

namespace sightline {
namespace {

constexpr absl::Duration kImpatience = absl::Seconds(1);

}  // namespace

NameWatcher::NameWatcher(const Membership& members, absl::Duration interval, Clock* clock,
                         Resolve resolve, Changed changed)
    : members_(members),
      interval_(interval),
      clock_(clock),
      resolve_(std::move(resolve)),
      changed_(std::move(changed)),
      log_limiter_(clock, absl::Minutes(1)) {
  for (const std::string& name : NamesOf(members)) names_[name];
  if (names_.empty()) return;
  for (size_t i = 0; i < ThreadCount(); ++i) workers_.emplace_back([this] { Work(); });
  scheduler_ = std::thread([this] { Schedule(); });
}

NameWatcher::~NameWatcher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    due_.notify_all();
    queued_.notify_all();
  }
  if (scheduler_.joinable()) scheduler_.join();
  for (std::thread& worker : workers_) worker.join();
}

void NameWatcher::Schedule() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const absl::Time now = clock_->Now();
    absl::Time next = absl::InfiniteFuture();
    for (auto& [name, state] : names_) {
      if (!state.idle) continue;
      if (state.due > now) {
        next = std::min(next, state.due);
        continue;
      }
      state.idle = false;
      queue_.push_back(&name);
      queued_.notify_one();
    }
    clock_->WaitUntil(due_, lock, next);
  }
}

void NameWatcher::Work() {
  bool slow = false;
  while (const std::string* const name = AwaitWork(&slow)) {
    const absl::Time began = clock_->Now();
    absl::StatusOr<Addresses> found = resolve_(*name);
    const bool took_long = clock_->Now() - began > kSlow;
    if (NoteAddresses(*name, std::move(found))) Tell();
    std::lock_guard<std::mutex> lock(mutex_);
    if (slow) {
      --slow_under_way_;
      queued_.notify_one();  // for one that waits for that
    }
    Name& state = names_.at(*name);
    state.slow = took_long;
    state.due = began + (state.found ? interval_ : std::min(interval_, kImpatience));
    state.idle = true;
    due_.notify_one();
  }
}

const std::string* NameWatcher::AwaitWork(bool* slow) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const bool room_for_slow = slow_under_way_ < std::max<size_t>(1, ThreadCount() / 2);
    const auto next = std::find_if(queue_.begin(), queue_.end(), [&](const std::string* name) {
      return room_for_slow || !names_.at(*name).slow;
    });
    if (next == queue_.end()) {
      queued_.wait(lock);
      continue;
    }
    const std::string* const name = *next;
    queue_.erase(next);
    *slow = names_.at(*name).slow;
    if (*slow) ++slow_under_way_;
    return name;
  }
  return nullptr;
}

bool NameWatcher::NoteAddresses(const std::string& name, absl::StatusOr<Addresses> found) {
  if (!found.ok()) {
    int64_t suppressed = 0;
    if (log_limiter_.Allow(name, &suppressed)) {
      Log(Severity::kWarning, "name not found",
          {{"name", name}, {"error", found.status()}, {"suppressed", suppressed}});
    }
    return false;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  names_.at(name).found = true;
  Addresses& known = known_[name];
  if (known == *found) return false;
  Log(Severity::kInfo, "name resolved", {{"name", name}, {"addresses", found->size()}});
  known = *std::move(found);
  news_ = true;
  return true;
}

// What other threads find meanwhile is told together by the next of them.
void NameWatcher::Tell() {
  std::lock_guard<std::mutex> telling(tell_mutex_);
  std::map<std::string, Addresses> known;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(news_, false)) return;
    known = known_;
  }
  changed_(Expand(members_, known));
}

}  // namespace sightline
