#include "common/batching/pending_tasks.h"

#include <utility>

namespace sightline {
namespace {

// How many tasks that do not fit a cut looks past.  Without a bound one nearly full batch
// would walk through the whole queue while everybody waits for the lock.
constexpr int kMaxPassedOver = 64;

}  // namespace

void PendingTasks::Add(std::unique_ptr<PendingTask> task) {
  cost_ += task->cost;
  by_deadline_.insert(task.get());
  const uint64_t sequence = task->sequence;
  by_age_.emplace_hint(by_age_.end(), sequence, std::move(task));
}

PendingTask* PendingTasks::Find(uint64_t sequence) {
  const auto it = by_age_.find(sequence);
  return it == by_age_.end() ? nullptr : it->second.get();
}

std::unique_ptr<PendingTask> PendingTasks::Remove(uint64_t sequence) {
  const auto it = by_age_.find(sequence);
  if (it == by_age_.end()) return nullptr;
  std::unique_ptr<PendingTask> task = std::move(it->second);
  by_age_.erase(it);
  by_deadline_.erase(task.get());
  cost_ -= task->cost;
  return task;
}

PendingTaskList PendingTasks::TakeExpired(absl::Time now) {
  PendingTaskList expired;
  while (!empty() && earliest_deadline() <= now) {
    expired.push_back(Remove((*by_deadline_.begin())->sequence));
  }
  return expired;
}

PendingTaskList PendingTasks::CutBatch(absl::Time now) {
  PendingTaskList batch;
  int64_t room = limits_.max_cost;
  const auto full = [&] {
    return room == 0 || batch.size() >= static_cast<size_t>(limits_.max_size);
  };
  const auto take = [&](const PendingTask& task) {
    room -= task.cost;
    batch.push_back(Remove(task.sequence));
  };

  while (!empty() && !full()) {
    const PendingTask& oldest = *by_age_.begin()->second;
    if (oldest.submitted + limits_.max_age > now) break;  // nobody is overaged
    if (oldest.cost > room) return batch;
    take(oldest);
  }
  int passed_over = 0;
  for (auto it = by_deadline_.begin(); it != by_deadline_.end() && !full();) {
    const PendingTask& task = **it;
    ++it;  // before the task is taken out of the set
    if (task.cost <= room) {
      take(task);
    } else if (++passed_over == kMaxPassedOver) {
      break;
    }
  }
  return batch;
}

absl::Time PendingTasks::earliest_deadline() const {
  return empty() ? absl::InfiniteFuture() : (*by_deadline_.begin())->deadline;
}

}  // namespace sightline
