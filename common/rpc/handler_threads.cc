#include "common/rpc/handler_threads.h"

#include <exception>
#include <thread>
#include <utility>

namespace sightline {
namespace {

// Threads that stay when they have nothing to do.
constexpr int kMostIdle = 8;

}  // namespace

HandlerThreads::~HandlerThreads() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
  while (threads_ > 0) ended_.Wait(mutex_);
}

bool HandlerThreads::Run(std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    // Those that are notified are idle until they have woken.
    if (static_cast<int>(work_.size()) < idle_) {
      work_.push_back(std::move(work));
      changed_.NotifyOne();
      return true;
    }
    if (threads_ >= most_) return false;
    ++threads_;
  }
  try {
    std::thread([this, work = std::move(work)]() mutable { Serve(std::move(work)); }).detach();
    return true;
  } catch (const std::exception&) {  // the system has none left, or no memory for it
    MutexLock lock(mutex_);
    --threads_;
    return false;
  }
}

void HandlerThreads::Serve(std::function<void()> work) {
  ReleasableMutexLock lock(mutex_);
  while (true) {
    lock.Unlock();
    work();
    work = nullptr;
    lock.Lock();
    if (work_.empty() && !stopping_ && idle_ < kMostIdle) {
      ++idle_;
      while (work_.empty() && !stopping_) changed_.Wait(mutex_);
      --idle_;
    }
    if (work_.empty()) break;
    work = std::move(work_.front());
    work_.pop_front();
  }
  --threads_;
  // With the lock, behind which this may be gone.
  ended_.NotifyAll();
}

}  // namespace sightline
