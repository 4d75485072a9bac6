#include "common/batching/task_queue.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/batching/batch_times.h"

namespace sightline {
namespace {

// Of a task's time, how much the work before it may take.  The rest is for its own batch, for
// what its caller does with the result, and for the estimate being one.
constexpr double kMostWaiting = 0.75;
// Of how many keys it is remembered how long their batches take: of models and shards that
// were loaded and have gone, few are worth it.
constexpr size_t kMostPaces = 64;

BatchSchedulerOptions WithSaneLimits(BatchSchedulerOptions options) {
  options.max_batch_cost = std::max<int64_t>(options.max_batch_cost, 1);
  options.max_batch_size = std::max(options.max_batch_size, 1);
  // Else an admissible task could find even the empty queue too small.
  options.max_queue_cost = std::max(options.max_queue_cost, options.max_batch_cost);
  options.workers = std::max(options.workers, 1);
  return options;
}

}  // namespace

// Workers cut batches and process them, or callers in their place.  One more thread, the reaper,
// waits for the earliest deadline and runs every `dropped`.  Whatever is handed to user code, or
// destroyed and so may run user code, has left the lock before.
struct TaskQueue::State {
  State(const BatchSchedulerOptions& o, Clock* c, Process p)
      : options(WithSaneLimits(o)),
        clock(c),
        process(std::move(p)),
        pending({options.max_batch_cost, options.max_batch_size, options.max_age}),
        free_places(options.workers) {}

  struct Drop {
    std::unique_ptr<PendingTask> task;
    absl::Status reason;
  };

  const BatchSchedulerOptions options;
  Clock* const clock;
  const Process process;

  Mutex mutex;
  CondVar work;  // workers wait for tasks and a place, or for draining; Drain for all places
  CondVar reap;  // the reaper waits for drops, earlier deadlines, the end
  PendingTasks pending GUARDED_BY(mutex);
  // Out of `pending`, on their way to the reaper.
  std::vector<Drop> drops GUARDED_BY(mutex);
  uint64_t next_sequence GUARDED_BY(mutex) = 0;
  // Of `options.workers`, batches that may be begun now; by whom does not matter.
  int free_places GUARDED_BY(mutex);
  struct Pace {
    BatchTimes times;
    int64_t last_batch = 0;  // number of it
  };
  std::map<BatchKey, Pace> paces GUARDED_BY(mutex);
  // When the reaper wakes by itself; in the past while it is awake and will look again.
  absl::Time reaper_alarm GUARDED_BY(mutex) = absl::InfinitePast();
  bool draining GUARDED_BY(mutex) = false;  // nothing comes in any more
  bool finished GUARDED_BY(mutex) = false;  // nothing is left either
  BatchSchedulerStats stats GUARDED_BY(mutex);

  Mutex drain_mutex;
  std::vector<std::thread> workers GUARDED_BY(drain_mutex);
  std::thread reaper GUARDED_BY(drain_mutex);

  struct Admitted {
    uint64_t sequence = 0;
    PendingTaskList batch;  // that the caller is to process, in a place that is his: his task alone
  };
  absl::StatusOr<Admitted> Admit(std::unique_ptr<PendingTask> task, By by) EXCLUDES(mutex);
  void Keep(uint64_t sequence, Cancellation::Registration on_cancel) EXCLUDES(mutex);
  void Cancel(uint64_t sequence) EXCLUDES(mutex);
  void Work() EXCLUDES(mutex);
  // Processes a batch in a place that is taken, and gives the place back.  An exception ends the
  // process, whoever's thread it is: places, and outcomes that others wait for, would be lost.
  void ProcessBatch(PendingTaskList batch) noexcept EXCLUDES(mutex);
  void Reap() EXCLUDES(mutex);

  PendingTaskList NextBatch() REQUIRES(mutex);
  void ObserveBatch(const PendingTaskList& batch) REQUIRES(mutex);
  void DropExpired() REQUIRES(mutex);
  void DropTask(std::unique_ptr<PendingTask> task, absl::Status reason) REQUIRES(mutex);
  void WakeReaperForEarlierDeadline() REQUIRES(mutex);
  absl::Status CheckWait(absl::Time deadline) const REQUIRES(mutex);
  absl::Duration TimeOf(const PendingTasks::Load& load) const REQUIRES(mutex);
  void Learn(BatchKey key, int64_t cost, absl::Duration elapsed) REQUIRES(mutex);
};

absl::StatusOr<TaskQueue::State::Admitted> TaskQueue::State::Admit(
    std::unique_ptr<PendingTask> task, By by) {
  // Younger than `task`, so it is released before a refused one is destroyed.
  MutexLock lock(mutex);
  if (draining) {
    return absl::UnavailableError("batch queue: shutting down; ask another replica");
  }
  const int64_t room = options.max_queue_cost - task->cost;
  if (pending.cost() > room) DropExpired();
  if (pending.cost() > room) {
    return MakeError(reasons::kQueueFull,
                     absl::StrCat("batch queue: full, work of cost ", pending.cost(),
                                  " is waiting and ", task->cost, " more would exceed ",
                                  options.max_queue_cost, "; try again later"));
  }
  RETURN_IF_ERROR(CheckWait(task->deadline));
  Admitted admitted;
  admitted.sequence = next_sequence++;
  task->sequence = admitted.sequence;
  task->submitted = clock->Now();
  const bool waits_alone = pending.empty();
  pending.Add(std::move(task));
  options.metrics.queued_cost.Set(static_cast<double>(pending.cost()));
  if (free_places == 0) {
    WakeReaperForEarlierDeadline();
  } else if (by == By::kCaller && waits_alone) {
    // Of others' work a caller does none: it might take longer than he has.
    admitted.batch = NextBatch();
    if (!admitted.batch.empty()) --free_places;
  } else {
    work.NotifyOne();  // and whatever that one leaves over, it tells the reaper of
  }
  return admitted;
}

// Without this, a queue under lasting overload is as long as the deadline, and every task comes
// too late: all work is wasted.  Refused at once, one part is late for nobody and the other
// is done in time.
absl::Status TaskQueue::State::CheckWait(absl::Time deadline) const {
  const absl::Duration left = deadline - clock->Now();
  // Time has gone on since the call was checked.
  if (left <= absl::ZeroDuration()) {
    return absl::DeadlineExceededError("batch queue: the deadline passed on the way in");
  }
  absl::Duration wait;
  for (const PendingTasks::Load& load : pending.loads()) wait += TimeOf(load) / options.workers;
  if (wait <= kMostWaiting * left) return absl::OkStatus();
  return MakeError(
      reasons::kQueueTooLong,
      absl::StrCat("batch queue: too long, the work that is waiting takes about ",
                   absl::FormatDuration(absl::Trunc(wait, absl::Milliseconds(1))), " and ",
                   absl::FormatDuration(absl::Trunc(left, absl::Milliseconds(1))),
                   " are left; try again later, or give more time"));
}

// Of as many batches as tasks of their mean cost fill.
absl::Duration TaskQueue::State::TimeOf(const PendingTasks::Load& load) const {
  const auto pace = paces.find(load.key);
  if (pace == paces.end()) return absl::ZeroDuration();
  const int64_t fit =
      std::min<int64_t>(options.max_batch_cost * load.tasks / load.cost, options.max_batch_size);
  const int64_t batches = 1 + (load.tasks - 1) / std::max<int64_t>(fit, 1);
  return batches *
         pace->second.times.Estimate(static_cast<double>(load.cost) / static_cast<double>(batches));
}

void TaskQueue::State::Learn(BatchKey key, int64_t cost, absl::Duration elapsed) {
  Pace& pace = paces[key];
  pace.times.Learn(cost, elapsed);
  pace.last_batch = stats.batches;
  if (paces.size() <= kMostPaces) return;
  paces.erase(std::min_element(paces.begin(), paces.end(), [](const auto& a, const auto& b) {
    return a.second.last_batch < b.second.last_batch;
  }));
}

// For as long as the task waits; of one that does not any more, it goes at once.
void TaskQueue::State::Keep(uint64_t sequence, Cancellation::Registration on_cancel) {
  MutexLock lock(mutex);
  if (PendingTask* const task = pending.Find(sequence)) task->on_cancel = std::move(on_cancel);
}

void TaskQueue::State::Cancel(uint64_t sequence) {
  MutexLock lock(mutex);
  std::unique_ptr<PendingTask> task = pending.Remove(sequence);
  if (task == nullptr) return;  // processed or dropped long since
  DropTask(std::move(task), absl::CancelledError("batch queue: the caller went away"));
}

void TaskQueue::State::Work() {
  ReleasableMutexLock lock(mutex);
  for (;;) {
    while (pending.empty() ? !draining : free_places == 0) work.Wait(mutex);
    if (pending.empty()) return;
    PendingTaskList batch = NextBatch();
    if (!batch.empty()) --free_places;
    if (!pending.empty()) {
      if (free_places > 0) work.NotifyOne();
      WakeReaperForEarlierDeadline();
    }
    if (batch.empty()) continue;  // all of them had been cancelled
    lock.Unlock();
    ProcessBatch(std::move(batch));
    lock.Lock();
  }
}

void TaskQueue::State::ProcessBatch(PendingTaskList batch) noexcept {
  std::vector<std::unique_ptr<QueuedTask>> tasks;
  tasks.reserve(batch.size());
  const BatchKey key = batch.front()->key;
  int64_t cost = 0;
  for (auto& pending_task : batch) {
    cost += pending_task->cost;
    tasks.push_back(std::move(pending_task->task));
  }
  batch.clear();  // what `dropped` had captured need not outlast the work
  const absl::Time begin = clock->Now();
  process(std::move(tasks));
  const absl::Duration elapsed = clock->Now() - begin;
  options.metrics.process_seconds.Observe(elapsed);
  MutexLock lock(mutex);
  Learn(key, cost, elapsed);
  ++free_places;
  if (draining) {
    work.NotifyAll();
  } else if (!pending.empty()) {
    work.NotifyOne();
  }
}

PendingTaskList TaskQueue::State::NextBatch() {
  DropExpired();
  PendingTaskList batch = pending.CutBatch(clock->Now());
  // Cancel() removes the cancelled; this is for those it has not yet come to.
  const auto alive = [](const std::unique_ptr<PendingTask>& task) {
    return !task->cancellation->cancelled();
  };
  const auto dead = std::stable_partition(batch.begin(), batch.end(), alive);
  for (auto it = dead; it != batch.end(); ++it) {
    DropTask(std::move(*it), absl::CancelledError("batch queue: the caller went away"));
  }
  batch.erase(dead, batch.end());
  if (!batch.empty()) {
    ++stats.batches;
    stats.processed_tasks += static_cast<int64_t>(batch.size());
    ObserveBatch(batch);
  }
  return batch;
}

void TaskQueue::State::ObserveBatch(const PendingTaskList& batch) {
  const absl::Time now = clock->Now();
  int64_t cost = 0;
  for (const std::unique_ptr<PendingTask>& task : batch) {
    cost += task->cost;
    options.metrics.wait_seconds.Observe(now - task->submitted);
  }
  options.metrics.batch_tasks.Observe(static_cast<double>(batch.size()));
  options.metrics.batch_cost.Observe(static_cast<double>(cost));
  options.metrics.queued_cost.Set(static_cast<double>(pending.cost()));
}

void TaskQueue::State::Reap() {
  ReleasableMutexLock lock(mutex);
  for (;;) {
    DropExpired();
    if (!drops.empty()) {
      std::vector<Drop> batch;
      batch.swap(drops);
      lock.Unlock();
      for (Drop& drop : batch) {
        if (drop.task->dropped) drop.task->dropped(std::move(drop.reason));
      }
      batch.clear();
      lock.Lock();
      continue;
    }
    if (finished) return;
    reaper_alarm = pending.earliest_deadline();
    clock->WaitUntil(reap, mutex, reaper_alarm);
    reaper_alarm = absl::InfinitePast();
  }
}

void TaskQueue::State::DropExpired() {
  for (auto& task : pending.TakeExpired(clock->Now())) {
    DropTask(std::move(task), absl::DeadlineExceededError(
                                  "batch queue: the deadline passed before a worker was free"));
  }
}

void TaskQueue::State::DropTask(std::unique_ptr<PendingTask> task, absl::Status reason) {
  ++stats.dropped_tasks;
  options.metrics.dropped.Increment();
  options.metrics.queued_cost.Set(static_cast<double>(pending.cost()));
  drops.push_back({std::move(task), std::move(reason)});
  reap.NotifyOne();
}

void TaskQueue::State::WakeReaperForEarlierDeadline() {
  if (pending.earliest_deadline() < reaper_alarm) reap.NotifyOne();
}

TaskQueue::TaskQueue(const BatchSchedulerOptions& options, Clock* clock, Process process)
    : state_(std::make_shared<State>(options, clock, std::move(process))) {
  State* const state = state_.get();  // outlives the threads: Drain joins them
  MutexLock lock(state->drain_mutex);
  for (int i = 0; i < state->options.workers; ++i) {
    state->workers.emplace_back([state] { state->Work(); });
  }
  state->reaper = std::thread([state] { state->Reap(); });
}

TaskQueue::~TaskQueue() {
  Drain();
}

absl::Status TaskQueue::Submit(std::unique_ptr<QueuedTask> task, BatchKey key, int64_t cost,
                               const CallContext& call, std::function<void(absl::Status)> dropped,
                               By by) {
  const auto admit = [&]() -> absl::StatusOr<State::Admitted> {
    const int64_t max_cost = state_->options.max_batch_cost;
    if (cost < 1 || cost > max_cost) {
      return absl::InvalidArgumentError(absl::StrCat("batch queue: a task of cost ", cost,
                                                     " fits into no batch; costs go from 1 to ",
                                                     max_cost));
    }
    RETURN_IF_ERROR(call.Check("batch queue"));
    auto pending = std::make_unique<PendingTask>();
    pending->task = std::move(task);
    pending->key = key;
    pending->cost = cost;
    pending->deadline = call.deadline();
    pending->cancellation = call.cancellation();
    pending->dropped = std::move(dropped);
    return state_->Admit(std::move(pending), by);
  };
  absl::StatusOr<State::Admitted> admitted = admit();
  if (!admitted.ok()) {
    MutexLock lock(state_->mutex);
    ++state_->stats.refused_tasks;
    state_->options.metrics.refused.Increment();
    return admitted.status();
  }
  if (!admitted->batch.empty()) {
    // Whoever drains and destroys the queue meanwhile waits for the place, not for this thread.
    const std::shared_ptr<State> state = state_;
    state->ProcessBatch(std::move(admitted->batch));
    return absl::OkStatus();
  }
  // Last, because it may call back at once.
  state_->Keep(admitted->sequence,
               call.cancellation()->OnCancel(
                   [weak = std::weak_ptr<State>(state_), sequence = admitted->sequence] {
                     if (const std::shared_ptr<State> state = weak.lock()) state->Cancel(sequence);
                   }));
  return absl::OkStatus();
}

void TaskQueue::Drain() {
  State& state = *state_;
  MutexLock drain_lock(state.drain_mutex);
  {
    MutexLock lock(state.mutex);
    state.draining = true;
  }
  state.work.NotifyAll();
  for (std::thread& worker : state.workers) worker.join();
  state.workers.clear();
  {
    MutexLock lock(state.mutex);
    // Callers may still process what they have taken.
    while (state.free_places < state.options.workers) state.work.Wait(state.mutex);
    state.finished = true;
  }
  state.reap.NotifyOne();
  if (state.reaper.joinable()) state.reaper.join();
}

BatchSchedulerStats TaskQueue::stats() const {
  MutexLock lock(state_->mutex);
  BatchSchedulerStats stats = state_->stats;
  stats.queued_cost = state_->pending.cost();
  stats.queued_tasks = state_->pending.size();
  stats.busy_workers = state_->options.workers - state_->free_places;
  return stats;
}

}  // namespace sightline
