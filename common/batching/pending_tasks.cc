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
  Group& group = groups_[task->key];
  group.by_age.insert(task.get());
  group.by_deadline.insert(task.get());
  group.cost += task->cost;
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
  const auto group = groups_.find(task->key);
  group->second.by_age.erase(task.get());
  group->second.by_deadline.erase(task.get());
  group->second.cost -= task->cost;
  if (group->second.by_age.empty()) groups_.erase(group);
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
  if (empty()) return batch;
  const PendingTask& oldest = *by_age_.begin()->second;
  const PendingTask& first = Overaged(oldest, now) ? oldest : **by_deadline_.begin();
  for (const PendingTask* task : Choose(groups_.at(first.key), now)) {
    batch.push_back(Remove(task->sequence));
  }
  return batch;
}

std::vector<const PendingTask*> PendingTasks::Choose(const Group& group, absl::Time now) const {
  std::vector<const PendingTask*> chosen;
  int64_t room = limits_.max_cost;
  const auto full = [&] {
    return room == 0 || chosen.size() >= static_cast<size_t>(limits_.max_size);
  };
  const auto take = [&](const PendingTask* task) {
    room -= task->cost;
    chosen.push_back(task);
  };

  for (const PendingTask* task : group.by_age) {
    if (full() || !Overaged(*task, now)) break;
    if (task->cost > room) return chosen;
    take(task);
  }
  int passed_over = 0;
  for (const PendingTask* task : group.by_deadline) {
    if (full()) break;
    if (Overaged(*task, now)) continue;  // and so taken
    if (task->cost <= room) {
      take(task);
    } else if (++passed_over == kMaxPassedOver) {
      break;
    }
  }
  return chosen;
}

std::vector<PendingTasks::Load> PendingTasks::loads() const {
  std::vector<Load> loads;
  for (const auto& [key, group] : groups_) {
    loads.push_back({key, static_cast<int64_t>(group.by_age.size()), group.cost});
  }
  return loads;
}

absl::Time PendingTasks::earliest_deadline() const {
  return empty() ? absl::InfiniteFuture() : (*by_deadline_.begin())->deadline;
}

}  // namespace sightline
