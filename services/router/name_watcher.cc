#include "services/router/name_watcher.h"

#include <algorithm>
#include <system_error>
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
  scheduler_ = std::thread([this] { Schedule(); });
}

NameWatcher::~NameWatcher() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    due_.NotifyAll();
    queued_.NotifyAll();
  }
  if (scheduler_.joinable()) scheduler_.join();
  for (std::thread& worker : workers_) worker.join();
}

void NameWatcher::Schedule() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const absl::Time next = LookAtNames(clock_->Now());
    AddThreads();
    clock_->WaitUntil(due_, mutex_, next);
  }
}

absl::Time NameWatcher::LookAtNames(absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  for (auto& [name, state] : names_) {
    if (state.idle && state.due <= now) {
      state.idle = false;
      queue_.push_back(&name);
      queued_.NotifyOne();
    }
    if (!state.slow && now - state.began >= kSlow) {
      state.slow = true;
      ++slow_under_way_;
    }
    if (state.idle) {
      next = std::min(next, state.due);
    } else if (!state.slow) {
      next = std::min(next, std::min(state.began, now) + kSlow);  // of those queued: at the soonest
    }
  }
  return next;
}

void NameWatcher::AddThreads() {
  const size_t wanted = std::min({names_.size(), kThreads + slow_under_way_, kMostThreads});
  try {
    while (workers_.size() < wanted) workers_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    int64_t suppressed = 0;
    if (!log_limiter_.Allow("", &suppressed)) return;
    Log(Severity::kWarning, "no thread for looking names up",
        {{"threads", workers_.size()}, {"error", error.what()}, {"suppressed", suppressed}});
  }
}

void NameWatcher::Work() {
  while (const std::string* const name = AwaitWork()) {
    if (NoteEnd(*name, resolve_(*name))) Tell();
  }
}

const std::string* NameWatcher::AwaitWork() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto may_begin = [this](const std::string* name) REQUIRES(mutex_) {
      return slow_under_way_ < kAtOnceSlow || !names_.at(*name).slow;
    };
    const auto next = std::find_if(queue_.begin(), queue_.end(), may_begin);
    if (next == queue_.end()) {
      queued_.Wait(mutex_);
      continue;
    }
    const std::string* const name = *next;
    queue_.erase(next);
    Name& state = names_.at(*name);
    state.began = clock_->Now();
    if (state.slow) ++slow_under_way_;
    return name;
  }
  return nullptr;
}

bool NameWatcher::NoteEnd(const std::string& name, absl::StatusOr<Addresses> found) {
  if (!found.ok()) LogNotFound(name, found.status());
  MutexLock lock(mutex_);
  // At once with the end: another thread may tell of these addresses as soon as they are known.
  const bool news = found.ok() && NoteAddresses(name, *std::move(found));
  Name& state = names_.at(name);
  if (state.slow) {
    --slow_under_way_;
    queued_.NotifyOne();  // for one that waits for that
  }
  state.slow = clock_->Now() - state.began >= kSlow;
  state.due = state.began + (state.found ? interval_ : std::min(interval_, kImpatience));
  state.began = absl::InfiniteFuture();
  state.idle = true;
  due_.NotifyOne();
  return news;
}

void NameWatcher::LogNotFound(const std::string& name, const absl::Status& status) {
  int64_t suppressed = 0;
  if (!log_limiter_.Allow(name, &suppressed)) return;
  Log(Severity::kWarning, "name not found",
      {{"name", name}, {"error", status}, {"suppressed", suppressed}});
}

bool NameWatcher::NoteAddresses(const std::string& name, Addresses found) {
  names_.at(name).found = true;
  Addresses& known = known_[name];
  if (known == found) return false;
  Log(Severity::kInfo, "name resolved", {{"name", name}, {"addresses", found.size()}});
  known = std::move(found);
  news_ = true;
  return true;
}

// What other threads find meanwhile is told together by the next of them.
void NameWatcher::Tell() {
  MutexLock telling(tell_mutex_);
  std::map<std::string, Addresses> known;
  {
    MutexLock lock(mutex_);
    if (!std::exchange(news_, false)) return;
    known = known_;
  }
  changed_(Expand(members_, known));
}

}  // namespace sightline
