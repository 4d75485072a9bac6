#include "common/generations/janitor.h"

#include <malloc.h>

namespace sightline {

Janitor::Janitor() : work_(std::make_shared<Work>()), thread_([this] { Run(); }) {}

Janitor::~Janitor() {
  {
    MutexLock lock(work_->mutex);
    work_->closed = true;
  }
  work_->changed.NotifyAll();
  thread_.join();
}

void Janitor::Leave(Work& work, std::function<void()> free) {
  {
    MutexLock lock(work.mutex);
    if (!work.closed) {
      work.waiting.push_back(std::move(free));
      work.changed.NotifyAll();
      return;
    }
  }
  free();
}

void Janitor::Run() {
  ReleasableMutexLock lock(work_->mutex);
  for (;;) {
    while (work_->waiting.empty() && !work_->closed) work_->changed.Wait(work_->mutex);
    if (work_->waiting.empty()) return;
    std::deque<std::function<void()>> batch;
    batch.swap(work_->waiting);
    work_->busy = true;
    lock.Unlock();
    for (std::function<void()>& free : batch) free();
    batch.clear();
    // glibc keeps freed memory of other threads' arenas; after a model has gone that is a
    // lot, and it would grow from swap to swap.
    ::malloc_trim(0);
    lock.Lock();
    work_->busy = false;
    work_->changed.NotifyAll();
  }
}

void Janitor::Flush() {
  MutexLock lock(work_->mutex);
  while (work_->busy || !work_->waiting.empty()) work_->changed.Wait(work_->mutex);
}

}  // namespace sightline
