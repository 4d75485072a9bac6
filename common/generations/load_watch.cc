#include "common/generations/load_watch.h"

#include <utility>

#include "common/bundle/publication.h"

namespace sightline {

LoadWatch::LoadWatch(const std::string& store, const std::string& index, absl::Duration interval,
                     Clock* clock, std::shared_ptr<Cancellation> load)
    : store_(store), index_(index), interval_(interval), clock_(clock), load_(std::move(load)) {
  const auto current = ReadCurrent(store_, index_);
  if (current.ok()) wanted_ = current->generation();
  thread_ = std::thread([this] { Run(); });
}

LoadWatch::~LoadWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LoadWatch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!done_) {
    clock_->WaitUntil(changed_, lock, clock_->Now() + interval_);
    const auto current = ReadCurrent(store_, index_);
    if (!current.ok() || current->generation() == wanted_) continue;
    load_->Cancel();
    return;
  }
}

}  // namespace sightline
