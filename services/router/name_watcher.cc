#include "services/router/name_watcher.h"

#include <algorithm>
#include <utility>

#include "common/log/log.h"

namespace sightline {
namespace {

constexpr absl::Duration kImpatience = absl::Seconds(1);

}  // namespace

NameWatcher::NameWatcher(const Membership& members, absl::Duration interval, Clock* clock,
                         Resolve resolve, Changed changed)
    : members_(members),
      names_(NamesOf(members)),
      interval_(interval),
      clock_(clock),
      resolve_(std::move(resolve)),
      changed_(std::move(changed)),
      log_limiter_(clock, absl::Minutes(1)) {
  if (!names_.empty()) thread_ = std::thread([this] { Loop(); });
}

NameWatcher::~NameWatcher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void NameWatcher::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const bool complete = LookUpAll();
    lock.lock();
    const absl::Time next =
        clock_->Now() + (complete ? interval_ : std::min(interval_, kImpatience));
    while (!stopping_ && clock_->Now() < next) clock_->WaitUntil(wake_, lock, next);
  }
}

bool NameWatcher::LookUpAll() {
  for (const std::string& name : names_) {
    // A look-up may take long; nobody waits for more than one to end.
    if (stopping()) return false;
    absl::StatusOr<Addresses> found = resolve_(name);
    if (!found.ok()) {
      int64_t suppressed = 0;
      if (log_limiter_.Allow(name, &suppressed)) {
        Log(Severity::kWarning, "name not found",
            {{"name", name}, {"error", found.status()}, {"suppressed", suppressed}});
      }
      continue;
    }
    Addresses& known = known_[name];
    if (known == *found) continue;
    Log(Severity::kInfo, "name resolved", {{"name", name}, {"addresses", found->size()}});
    known = *std::move(found);
    changed_(Expand(members_, known_));
  }
  return known_.size() == names_.size();
}

bool NameWatcher::stopping() {
  std::lock_guard<std::mutex> lock(mutex_);
  return stopping_;
}

}  // namespace sightline
