#include "common/generations/janitor.h"

#include <malloc.h>

namespace sightline {

Janitor::Janitor() : work_(std::make_shared<Work>()), thread_([this] { Run(); }) {}

Janitor::~Janitor() {
  {
    std::lock_guard<std::mutex> lock(work_->mutex);
    work_->closed = true;
  }
  work_->changed.notify_all();
  thread_.join();
}

void Janitor::Leave(Work& work, std::function<void()> free) {
  {
    std::lock_guard<std::mutex> lock(work.mutex);
    if (!work.closed) {
      work.waiting.push_back(std::move(free));
      work.changed.notify_all();
      return;
    }
  }
  free();
}

void Janitor::Run() {
  std::unique_lock<std::mutex> lock(work_->mutex);
  for (;;) {
    work_->changed.wait(lock, [&] { return work_->closed || !work_->waiting.empty(); });
    if (work_->waiting.empty()) return;
    std::deque<std::function<void()>> batch;
    batch.swap(work_->waiting);
    work_->busy = true;
    lock.unlock();
    for (std::function<void()>& free : batch) free();
    batch.clear();
    // glibc keeps freed memory of other threads' arenas; after a model has gone that is a
    // lot, and it would grow from swap to swap.
    ::malloc_trim(0);
    lock.lock();
    work_->busy = false;
    work_->changed.notify_all();
  }
}

void Janitor::Flush() {
  std::unique_lock<std::mutex> lock(work_->mutex);
  work_->changed.wait(lock, [&] { return !work_->busy && work_->waiting.empty(); });
}

}  // namespace sightline
