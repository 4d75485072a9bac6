// The untyped half of BatchScheduler: queue, order, workers.  Use batch_scheduler.h.
#ifndef SIGHTLINE_COMMON_BATCHING_TASK_QUEUE_H_
#define SIGHTLINE_COMMON_BATCHING_TASK_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/batching/batch_metrics.h"
#include "common/batching/pending_tasks.h"

namespace sightline {

// A limit below one counts as one.
struct BatchSchedulerOptions {
  // Most cost in one batch.  Larger batches use the machine better and make everybody in
  // them wait longer.
  int64_t max_batch_cost = 4096;
  // Most tasks in one batch.
  int max_batch_size = 256;
  // Most cost waiting; beyond it Submit refuses: a bound of memory.  Never less than
  // max_batch_cost, which counts if it is larger.
  int64_t max_queue_cost = 65536;
  // A task that has waited this long goes before more urgent ones, so that nobody
  // starves.  Zero: first come, first served; infinite: by deadline alone.
  absl::Duration max_age = absl::Milliseconds(200);
  // Batches that are processed at a time, and threads that do it.
  int workers = 1;
  // Where the queue counts; by default nowhere.
  BatchMetrics metrics;
};

struct BatchSchedulerStats {
  int64_t queued_cost = 0;      // now
  int64_t queued_tasks = 0;     // now
  int64_t busy_workers = 0;     // now
  int64_t batches = 0;          // ever
  int64_t processed_tasks = 0;  // ever, those under way included
  int64_t dropped_tasks = 0;    // ever, after they had been accepted
  int64_t refused_tasks = 0;    // ever, by Submit
};

// The contract is BatchScheduler's.  Thread-safe.
class TaskQueue {
 public:
  using Process = std::function<void(std::vector<std::unique_ptr<QueuedTask>>)>;

  TaskQueue(const BatchSchedulerOptions& options, Clock* clock, Process process);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Who processes a task that an idle worker would take at once: it, or the caller in its place.
  enum class By { kWorker, kCaller };

  absl::Status Submit(std::unique_ptr<QueuedTask> task, BatchKey key, int64_t cost,
                      const CallContext& call, std::function<void(absl::Status)> dropped,
                      By by = By::kWorker);
  void Drain();
  BatchSchedulerStats stats() const;

 private:
  struct State;
  // Shared with the callbacks that wait in the Cancellations of calls (weakly).
  std::shared_ptr<State> state_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_TASK_QUEUE_H_
