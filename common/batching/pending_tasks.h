// Which of the waiting tasks go next: the order behind BatchScheduler, without its
// threads.
//
// THE RULE.  First are the overaged tasks (those that have waited max_age), oldest first,
// then the others, earliest deadline first.  A batch is of one key, that of the first of
// all; it takes the tasks of that key, in that order, until its cost or size is full.  A
// task that does not fit into what is left
//   - and is not overaged is passed over, so that smaller ones fill the batch;
//   - and is overaged closes the batch: nobody overtakes it.
// So a task can be overtaken during its first max_age only, but by younger ones of another
// key that fill the batch of an older one.  From then on each batch begins with an older one
// or with itself, and the oldest always fits into an empty batch: nobody starves.
#ifndef SIGHTLINE_COMMON_BATCHING_PENDING_TASKS_H_
#define SIGHTLINE_COMMON_BATCHING_PENDING_TASKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"

namespace sightline {

struct QueuedTask {
  virtual ~QueuedTask() = default;
};

// What computes a task: tasks of equal keys go into one pass, and only their costs can be
// compared.  Never followed.
using BatchKey = const void*;

struct PendingTask {
  std::unique_ptr<QueuedTask> task;
  BatchKey key = nullptr;
  int64_t cost = 1;       // 1 to BatchLimits::max_cost
  uint64_t sequence = 0;  // unique, in the order of submission
  absl::Time submitted;   // never before that of a smaller sequence
  absl::Time deadline;
  std::shared_ptr<Cancellation> cancellation;
  Cancellation::Registration on_cancel;  // takes it out of the queue
  std::function<void(absl::Status)> dropped;
};

using PendingTaskList = std::vector<std::unique_ptr<PendingTask>>;

struct BatchLimits {
  int64_t max_cost;
  int max_size;
  absl::Duration max_age;
};

// Not thread-safe.
class PendingTasks {
 public:
  explicit PendingTasks(const BatchLimits& limits) : limits_(limits) {}

  void Add(std::unique_ptr<PendingTask> task);

  // Null if no such task is waiting.
  PendingTask* Find(uint64_t sequence);
  std::unique_ptr<PendingTask> Remove(uint64_t sequence);

  // Removes all whose deadline has come, earliest first.
  PendingTaskList TakeExpired(absl::Time now);

  // Removes the next batch, in the order of the rule above; empty only if nothing waits.
  PendingTaskList CutBatch(absl::Time now);

  // What waits of each key, none of them empty.
  struct Load {
    BatchKey key = nullptr;
    int64_t tasks = 0;
    int64_t cost = 0;
  };
  std::vector<Load> loads() const;

  bool empty() const { return by_age_.empty(); }
  int64_t size() const { return static_cast<int64_t>(by_age_.size()); }
  int64_t cost() const { return cost_; }
  // InfiniteFuture if nothing waits.
  absl::Time earliest_deadline() const;

 private:
  struct MoreUrgent {
    bool operator()(const PendingTask* a, const PendingTask* b) const {
      return a->deadline != b->deadline ? a->deadline < b->deadline : a->sequence < b->sequence;
    }
  };

  struct Older {
    bool operator()(const PendingTask* a, const PendingTask* b) const {
      return a->sequence < b->sequence;
    }
  };

  // The tasks of one key.
  struct Group {
    std::set<const PendingTask*, Older> by_age;
    std::set<const PendingTask*, MoreUrgent> by_deadline;
    int64_t cost = 0;
  };

  bool Overaged(const PendingTask& task, absl::Time now) const {
    return task.submitted + limits_.max_age <= now;
  }
  std::vector<const PendingTask*> Choose(const Group& group, absl::Time now) const;

  BatchLimits limits_;
  // All three hold the same tasks.  Age is the order of submission.
  std::map<uint64_t, std::unique_ptr<PendingTask>> by_age_;
  std::set<const PendingTask*, MoreUrgent> by_deadline_;
  std::map<BatchKey, Group> groups_;  // none is empty
  int64_t cost_ = 0;                  // of all of them
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_PENDING_TASKS_H_
