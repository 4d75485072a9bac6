// A BatchScheduler gathers the work of many requests into batches for one worker.
//
// Every task has a cost (tokens, pairs, rows), a deadline, an age, and a key: what computes
// it (a model, a shard).  A batch leaves as soon as a worker is free: an idle worker never
// waits for company.  While workers are busy, tasks queue up, and the next batch takes the
// most urgent ones of one key until its cost is full.  Tasks whose caller has gone, or whose
// deadline has passed, are dropped before they cost anything.  README.md tells how to tune it.
//
//   BatchScheduler<Task> scheduler(options, clock, [](std::vector<Task> batch) {...});
//   RETURN_IF_ERROR(scheduler.Submit(std::move(task), model, cost, call, on_dropped));
#ifndef SIGHTLINE_COMMON_BATCHING_BATCH_SCHEDULER_H_
#define SIGHTLINE_COMMON_BATCHING_BATCH_SCHEDULER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/batching/task_queue.h"

namespace sightline {

// Thread-safe.  `Task` is movable.
template <typename Task>
class BatchScheduler {
 public:
  // Runs on a worker's thread, or in SubmitOrProcess, with at least one task, most urgent first,
  // all of one key.  Must not throw, nor call Drain.
  using Process = std::function<void(std::vector<Task> batch)>;

  BatchScheduler(const BatchSchedulerOptions& options, Clock* clock, Process process)
      : process_(std::move(process)),
        queue_(options, clock, [this](std::vector<std::unique_ptr<QueuedTask>> batch) {
          std::vector<Task> tasks;
          tasks.reserve(batch.size());
          for (auto& queued : batch) tasks.push_back(std::move(static_cast<Holder&>(*queued).task));
          process_(std::move(tasks));
        }) {}

  // Hands the task over.  `key` is compared, not followed; null where one thing computes all.
  // It must be of one thing for as long as a task of it waits or is processed; one that comes
  // to stand for another is for some batches taken to be as fast.  ResourceExhausted: the queue is
  // full (QUEUE_FULL), or what is waiting already takes the workers longer than the task has time
  // (QUEUE_TOO_LONG; as they worked lately); InvalidArgument: the cost is not positive or larger
  // than any batch may be; DeadlineExceeded or Cancelled: the call is over; Unavailable: the
  // scheduler is shutting down.  After OK exactly one of these happens: the task is processed, or
  // `dropped` runs with the reason (DeadlineExceeded, Cancelled), at its deadline or
  // cancellation even while all workers are busy.  A task that has reached a worker is no
  // longer dropped.
  //
  // `dropped` runs on a thread of the scheduler, never inside Submit or Cancel, with no
  // lock held; all share that thread, so it should be brief.  It must not call Drain.
  absl::Status Submit(Task task, BatchKey key, int64_t cost, const CallContext& call,
                      std::function<void(absl::Status)> dropped) {
    return queue_.Submit(std::make_unique<Holder>(std::move(task)), key, cost, call,
                         std::move(dropped));
  }

  // The same for a task that somebody awaits: one with its `call`, and an `outcome` (a shared
  // Outcome) that is told if the task is dropped.
  absl::Status SubmitAwaited(Task task, BatchKey key, int64_t cost) {
    return SubmitAwaited(std::move(task), key, cost, TaskQueue::By::kWorker);
  }

  // The same for whoever only waits from then on: where nothing else waits and a worker is idle,
  // the task is processed here, in its place, and is done when this returns.  That spares two
  // threads a wake-up, which is much of what a task of a fraction of a millisecond takes; but the
  // end of its call lets the caller go no sooner than `process` does.
  absl::Status SubmitOrProcess(Task task, BatchKey key, int64_t cost) {
    return SubmitAwaited(std::move(task), key, cost, TaskQueue::By::kCaller);
  }

  // Refuses new tasks, finishes those under way and queued (or drops them when their time
  // is up), joins the threads; afterwards nothing of the scheduler's runs any more.
  // Idempotent; the destructor does it too.
  void Drain() { queue_.Drain(); }

  BatchSchedulerStats stats() const { return queue_.stats(); }

 private:
  struct Holder : QueuedTask {
    explicit Holder(Task t) : task(std::move(t)) {}
    Task task;
  };

  absl::Status SubmitAwaited(Task task, BatchKey key, int64_t cost, TaskQueue::By by) {
    const CallContext call = task.call;
    auto dropped = [outcome = task.outcome](absl::Status why) { outcome->Set(std::move(why)); };
    return queue_.Submit(std::make_unique<Holder>(std::move(task)), key, cost, call,
                         std::move(dropped), by);
  }

  Process process_;
  TaskQueue queue_;
};

// The call that a batch of tasks with a `call` each is computed for: it lives as long as any of
// them.
template <typename Task>
CallContext CallOfBatch(const std::vector<Task>& batch) {
  absl::Time latest = absl::InfinitePast();
  for (const Task& task : batch) latest = std::max(latest, task.call.deadline());
  return CallContext(batch.front().call.clock(), latest);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_BATCH_SCHEDULER_H_
