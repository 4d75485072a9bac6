#include "common/base/call_context.h"

#include <map>

#include "common/base/mutex.h"

namespace sightline {

struct Cancellation::State {
  Mutex mutex;
  bool cancelled GUARDED_BY(mutex) = false;
  int64_t next_id GUARDED_BY(mutex) = 1;
  // In the order of registration.
  std::map<int64_t, std::function<void()>> callbacks GUARDED_BY(mutex);
};

Cancellation::Cancellation() : state_(std::make_shared<State>()) {}

void Cancellation::Cancel() {
  std::map<int64_t, std::function<void()>> callbacks;
  {
    MutexLock lock(state_->mutex);
    if (state_->cancelled) return;
    state_->cancelled = true;
    callbacks.swap(state_->callbacks);
  }
  for (const auto& [id, callback] : callbacks) callback();
}

bool Cancellation::cancelled() const {
  MutexLock lock(state_->mutex);
  return state_->cancelled;
}

int Cancellation::callbacks() const {
  MutexLock lock(state_->mutex);
  return static_cast<int>(state_->callbacks.size());
}

Cancellation::Registration Cancellation::OnCancel(std::function<void()> callback) {
  {
    MutexLock lock(state_->mutex);
    if (!state_->cancelled) {
      const int64_t id = state_->next_id++;
      state_->callbacks.emplace(id, std::move(callback));
      return Registration(state_, id);
    }
  }
  callback();
  return Registration();
}

std::shared_ptr<Cancellation> Cancellation::NewChild() {
  auto child = std::make_shared<Cancellation>();
  child->parent_ = OnCancel([weak = std::weak_ptr<Cancellation>(child)] {
    if (const auto alive = weak.lock()) alive->Cancel();
  });
  return child;
}

Cancellation::Registration& Cancellation::Registration::operator=(Registration&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  state_ = std::move(other.state_);
  id_ = std::exchange(other.id_, 0);
  return *this;
}

void Cancellation::Registration::Reset() {
  const std::shared_ptr<State> state = std::exchange(state_, {}).lock();
  if (state == nullptr) return;
  // Destroyed without the lock: what it owns may use the cancellation.
  std::function<void()> callback;
  MutexLock lock(state->mutex);
  const auto found = state->callbacks.find(id_);
  if (found == state->callbacks.end()) return;
  callback = std::move(found->second);
  state->callbacks.erase(found);
}

}  // namespace sightline
