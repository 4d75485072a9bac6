#include "common/batching/batch_scheduler.h"
#include "common/base/mutex.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

using Batch = std::vector<std::string>;

// A process function driven by hand: each batch is shown to the test and held until the
// test releases it.  Also collects what was dropped.
class Puppet {
 public:
  void Process(Batch batch) {
    MutexLock lock(mutex_);
    batches_.push_back(std::move(batch));
    changed_.NotifyAll();
    while (permits_ == 0) changed_.Wait(mutex_);
    --permits_;
    ++finished_;
  }

  void Release(int batches = 1) {
    MutexLock lock(mutex_);
    permits_ += batches;
    changed_.NotifyAll();
  }

  // The n-th batch ever, once it has begun.
  Batch Await(size_t n) {
    MutexLock lock(mutex_);
    while (batches_.size() <= n) changed_.Wait(mutex_);
    return batches_[n];
  }

  std::function<void(absl::Status)> OnDropped(const std::string& task) {
    return [this, task](absl::Status status) {
      MutexLock lock(mutex_);
      dropped_[task].push_back(std::move(status));
      changed_.NotifyAll();
    };
  }

  absl::Status AwaitDropped(const std::string& task) {
    MutexLock lock(mutex_);
    while (dropped_[task].empty()) changed_.Wait(mutex_);
    return dropped_[task].front();
  }

  size_t finished() {
    MutexLock lock(mutex_);
    return finished_;
  }
  size_t begun() {
    MutexLock lock(mutex_);
    return batches_.size();
  }
  size_t drops() {
    MutexLock lock(mutex_);
    size_t sum = 0;
    for (const auto& [task, statuses] : dropped_) sum += statuses.size();
    return sum;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Batch> batches_ GUARDED_BY(mutex_);
  std::map<std::string, std::vector<absl::Status>> dropped_ GUARDED_BY(mutex_);
  int permits_ GUARDED_BY(mutex_) = 0;
  size_t finished_ GUARDED_BY(mutex_) = 0;
};

class Bench {
 public:
  explicit Bench(const BatchSchedulerOptions& options)
      : scheduler(options, &clock, [this](Batch batch) { puppet.Process(std::move(batch)); }) {}
  ~Bench() { puppet.Release(1 << 20); }

  CallContext Call(int64_t ms) { return CallContext(&clock, clock.Now() + absl::Milliseconds(ms)); }

  absl::Status Submit(const std::string& task, int64_t cost, const CallContext& call,
                      BatchKey key = nullptr) {
    return scheduler.Submit(task, key, cost, call, puppet.OnDropped(task));
  }
  absl::Status Submit(const std::string& task, int64_t cost = 1, int64_t deadline_ms = 10000) {
    return Submit(task, cost, Call(deadline_ms));
  }

  // Gives each worker a batch to chew on.
  void Occupy(int workers = 1) {
    for (int i = 0; i < workers; ++i) {
      REQUIRE(Submit("occupier").ok());
      REQUIRE(puppet.Await(i) == Batch{"occupier"});
    }
  }

  FakeClock clock;
  Puppet puppet;
  BatchScheduler<std::string> scheduler;
};

BatchSchedulerOptions Small() {
  BatchSchedulerOptions options;
  options.max_batch_cost = 10;
  options.max_batch_size = 4;
  options.max_queue_cost = 20;
  options.max_age = absl::Milliseconds(100);
  return options;
}

TEST_CASE("an idle worker takes a lone task at once; time need not pass") {
  Bench bench(Small());
  REQUIRE(bench.Submit("a").ok());
  REQUIRE(bench.puppet.Await(0) == Batch{"a"});
  bench.puppet.Release();
  REQUIRE(bench.Submit("b").ok());
  REQUIRE(bench.puppet.Await(1) == Batch{"b"});
}

TEST_CASE("a batch forms while the worker is busy") {
  Bench bench(Small());
  bench.Occupy();
  for (const char* task : {"a", "b", "c"}) REQUIRE(bench.Submit(task).ok());
  REQUIRE(bench.scheduler.stats().queued_tasks == 3);
  REQUIRE(bench.puppet.begun() == 1);
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"a", "b", "c"});
}

TEST_CASE("several workers process at the same time") {
  BatchSchedulerOptions options = Small();
  options.workers = 3;
  Bench bench(options);
  bench.Occupy(3);  // returns only if the third began while the others were held
  REQUIRE(bench.Submit("next").ok());
  REQUIRE(bench.scheduler.stats().queued_tasks == 1);
}

TEST_CASE("the most urgent go first") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("late", 5, 900).ok());
  REQUIRE(bench.Submit("soon", 5, 300).ok());
  REQUIRE(bench.Submit("middle", 5, 600).ok());
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"soon", "middle"});
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(2) == Batch{"late"});
}

TEST_CASE("a task that has waited max_age goes before more urgent ones") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("old", 10, 9000).ok());
  bench.clock.Advance(absl::Milliseconds(100));
  REQUIRE(bench.Submit("urgent", 10, 50).ok());
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"old"});
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(2) == Batch{"urgent"});
}

TEST_CASE("a batch keeps to its cost and its size") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("six", 6, 100).ok());
  REQUIRE(bench.Submit("five", 5, 200).ok());
  REQUIRE(bench.Submit("four", 4, 300).ok());
  for (const char* task : {"a", "b", "c"}) REQUIRE(bench.Submit(task, 1, 400).ok());
  bench.puppet.Release(3);
  REQUIRE(bench.puppet.Await(1) == Batch{"six", "four"});
  REQUIRE(bench.puppet.Await(2) == Batch{"five", "a", "b", "c"});
}

TEST_CASE("a full queue refuses, and takes more once there is room") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("a", 10).ok());
  REQUIRE(bench.Submit("b", 9).ok());
  const absl::Status refused = bench.Submit("c", 2);
  REQUIRE(refused.code() == absl::StatusCode::kResourceExhausted);
  REQUIRE(HasReason(refused, reasons::kQueueFull));
  REQUIRE(std::string(refused.message()).find("cost 19 is waiting") != std::string::npos);
  REQUIRE(bench.Submit("d", 1).ok());
  REQUIRE(bench.scheduler.stats().queued_cost == 20);
  REQUIRE(bench.scheduler.stats().refused_tasks == 1);
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"a"});
  REQUIRE(bench.Submit("c", 2).ok());
  REQUIRE(bench.puppet.drops() == 0);
}

TEST_CASE("the queue always has room for one batch") {
  BatchSchedulerOptions options = Small();
  options.max_queue_cost = 1;
  Bench bench(options);
  bench.Occupy();
  REQUIRE(bench.Submit("a", 10).ok());
}

TEST_CASE("expired tasks make room in a full queue") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("a", 10, 50).ok());
  REQUIRE(bench.Submit("b", 10, 500).ok());
  bench.clock.Advance(absl::Milliseconds(50));
  REQUIRE(bench.Submit("c", 10).ok());
  REQUIRE(bench.puppet.AwaitDropped("a").code() == absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("impossible costs and calls that are over are refused, and never dropped") {
  Bench bench(Small());
  bench.Occupy();
  for (const int64_t cost : {int64_t{-1}, int64_t{0}, int64_t{11}}) {
    REQUIRE(bench.Submit("a", cost).code() == absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(bench.Submit("a", 1, 0).code() == absl::StatusCode::kDeadlineExceeded);
  const CallContext gone = bench.Call(100);
  gone.cancellation()->Cancel();
  REQUIRE(bench.Submit("a", 1, gone).code() == absl::StatusCode::kCancelled);
  REQUIRE(bench.scheduler.stats().refused_tasks == 5);
  bench.puppet.Release();
  bench.scheduler.Drain();
  REQUIRE(bench.puppet.drops() == 0);
  REQUIRE(bench.puppet.begun() == 1);
}

TEST_CASE("a task is dropped at its deadline even while all workers are busy") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("patient", 1, 1000).ok());
  bench.clock.AwaitSleepers(1);
  // Earlier than what the reaper waits for at that moment.
  REQUIRE(bench.Submit("hasty", 1, 20).ok());
  bench.clock.Advance(absl::Milliseconds(20));
  REQUIRE(bench.puppet.AwaitDropped("hasty").code() == absl::StatusCode::kDeadlineExceeded);
  REQUIRE(bench.scheduler.stats().queued_tasks == 1);
  REQUIRE(bench.scheduler.stats().dropped_tasks == 1);
  REQUIRE(bench.puppet.finished() == 0);
  bench.clock.Advance(absl::Milliseconds(980));
  REQUIRE(bench.puppet.AwaitDropped("patient").code() == absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("what a batch leaves over is dropped at its deadline, too") {
  // When both tasks come before the idle worker has woken, it is up to the worker to tell
  // the reaper of the second; in most rounds they do.
  for (int round = 0; round < 100; ++round) {
    Bench bench(Small());  // that does not know yet for how long a batch will take
    const std::string left = "left";
    const CallContext sooner = bench.Call(30), later = bench.Call(31);
    const auto on_dropped = bench.puppet.OnDropped(left);
    const absl::Status first = bench.scheduler.Submit("taken", nullptr, 10, sooner, nullptr);
    const absl::Status second = bench.scheduler.Submit(left, nullptr, 10, later, on_dropped);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    REQUIRE(bench.puppet.Await(0) == Batch{"taken"});
    bench.clock.AwaitSleepers(1);
    bench.clock.Advance(absl::Milliseconds(40));
    REQUIRE(bench.puppet.AwaitDropped(left).code() == absl::StatusCode::kDeadlineExceeded);
    bench.puppet.Release();
  }
}

TEST_CASE("a task is dropped when its caller goes, even while all workers are busy") {
  Bench bench(Small());
  bench.Occupy();
  const CallContext call = bench.Call(1000);
  REQUIRE(bench.Submit("a", 3, call).ok());
  REQUIRE(bench.Submit("b", 4, call).ok());
  REQUIRE(bench.Submit("c", 5).ok());
  call.cancellation()->Cancel();
  REQUIRE(bench.puppet.AwaitDropped("a").code() == absl::StatusCode::kCancelled);
  REQUIRE(bench.puppet.AwaitDropped("b").code() == absl::StatusCode::kCancelled);
  REQUIRE(bench.scheduler.stats().queued_cost == 5);
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"c"});
}

TEST_CASE("tasks that have left the queue leave nothing in the call") {
  Bench bench(Small());
  const CallContext call = bench.Call(1000);
  bench.Occupy();
  REQUIRE(bench.Submit("a", 1, call).ok());
  REQUIRE(bench.Submit("b", 1, call).ok());
  REQUIRE(call.cancellation()->callbacks() == 2);
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"a", "b"});
  REQUIRE(call.cancellation()->callbacks() == 0);
}

TEST_CASE("a task that a worker has taken is not dropped any more") {
  Bench bench(Small());
  const CallContext call = bench.Call(50);
  REQUIRE(bench.Submit("a", 1, call).ok());
  bench.puppet.Await(0);
  call.cancellation()->Cancel();
  bench.clock.Advance(absl::Milliseconds(60));
  bench.puppet.Release();
  bench.scheduler.Drain();
  REQUIRE(bench.puppet.finished() == 1);
  REQUIRE(bench.puppet.drops() == 0);
}

TEST_CASE("dropped runs without a lock: it may use the scheduler") {
  Bench bench(Small());
  bench.Occupy();
  const CallContext call = bench.Call(1000);
  Gate resubmitted;
  REQUIRE(bench.scheduler
              .Submit("first", nullptr, 1, call,
                      [&](absl::Status) {
                        if (bench.scheduler.stats().queued_tasks == 0 &&
                            bench.Submit("second").ok()) {
                          resubmitted.Open();
                        }
                      })
              .ok());
  call.cancellation()->Cancel();
  resubmitted.Wait();
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(1) == Batch{"second"});
}

TEST_CASE("the caller may hold a lock in Cancel that dropped takes") {
  Bench bench(Small());
  bench.Occupy();
  const CallContext call = bench.Call(1000);
  Mutex mutex;
  Gate ran;
  REQUIRE(bench.scheduler
              .Submit("a", nullptr, 1, call,
                      [&](absl::Status) {
                        MutexLock lock(mutex);
                        ran.Open();
                      })
              .ok());
  {
    MutexLock lock(mutex);
    call.cancellation()->Cancel();
  }
  ran.Wait();
}

TEST_CASE("a drop needs no callback") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.scheduler.Submit("a", nullptr, 1, bench.Call(10), nullptr).ok());
  bench.clock.Advance(absl::Milliseconds(10));
  bench.puppet.Release();
  bench.scheduler.Drain();
  REQUIRE(bench.scheduler.stats().dropped_tasks == 1);
}

TEST_CASE("draining processes what is queued and refuses what is new") {
  Bench bench(Small());
  bench.Occupy();
  REQUIRE(bench.Submit("a", 10).ok());
  REQUIRE(bench.Submit("b", 10).ok());
  std::thread drainer([&] { bench.scheduler.Drain(); });
  while (bench.Submit("late", 1).code() != absl::StatusCode::kUnavailable) {
    std::this_thread::yield();  // the queue is full until draining has begun
  }
  REQUIRE(bench.puppet.finished() == 0);
  bench.puppet.Release(3);
  drainer.join();
  bench.scheduler.Drain();
  REQUIRE(bench.puppet.finished() == 3);
  REQUIRE(bench.puppet.Await(1) == Batch{"a"});
  REQUIRE(bench.puppet.Await(2) == Batch{"b"});
  REQUIRE(bench.Submit("later").code() == absl::StatusCode::kUnavailable);
  const BatchSchedulerStats stats = bench.scheduler.stats();
  REQUIRE(stats.batches == 3);
  REQUIRE(stats.processed_tasks == 3);
  REQUIRE(stats.queued_tasks == 0);
  REQUIRE(stats.dropped_tasks == 0);
}

TEST_CASE("tasks expire and are cancelled while the scheduler drains") {
  Bench bench(Small());
  bench.Occupy();
  const CallContext call = bench.Call(1000);
  REQUIRE(bench.Submit("expires", 10, 50).ok());
  REQUIRE(bench.Submit("cancelled", 10, call).ok());
  std::thread drainer([&] { bench.scheduler.Drain(); });
  bench.clock.Advance(absl::Milliseconds(50));
  call.cancellation()->Cancel();
  REQUIRE(bench.puppet.AwaitDropped("expires").code() == absl::StatusCode::kDeadlineExceeded);
  REQUIRE(bench.puppet.AwaitDropped("cancelled").code() == absl::StatusCode::kCancelled);
  bench.puppet.Release();
  drainer.join();
  REQUIRE(bench.puppet.begun() == 1);
}

TEST_CASE("a call may be cancelled long after its scheduler is gone") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  {
    BatchScheduler<std::string> scheduler({}, &clock, [](Batch) {});
    REQUIRE(scheduler.Submit("a", nullptr, 1, call, nullptr).ok());
  }
  call.cancellation()->Cancel();
}

TEST_CASE("tasks need only be movable") {
  FakeClock clock;
  Gate done;
  int sum = 0;
  BatchScheduler<std::unique_ptr<int>> scheduler({}, &clock,
                                                 [&](std::vector<std::unique_ptr<int>> batch) {
                                                   for (const auto& task : batch) sum += *task;
                                                   done.Open();
                                                 });
  REQUIRE(scheduler
              .Submit(std::make_unique<int>(7), nullptr, 1,
                      CallContext(&clock, absl::InfiniteFuture()), nullptr)
              .ok());
  done.Wait();
  REQUIRE(sum == 7);
}

// Lets batches go through the one worker, which is idle, and take the time that the test says.
class Teacher {
 public:
  explicit Teacher(Bench* bench) : bench_(*bench) {}

  void Batch(int64_t cost, int64_t ms, BatchKey key = nullptr) {
    REQUIRE(bench_.Submit("teacher", cost, bench_.Call(1 << 30), key).ok());
    bench_.puppet.Await(batches_++);
    bench_.clock.Advance(absl::Milliseconds(ms));
    bench_.puppet.Release();
    // Only then has it learnt.
    while (bench_.scheduler.stats().busy_workers > 0) std::this_thread::yield();
  }

  // From now on the worker is busy.
  void Occupy() {
    REQUIRE(bench_.Submit("occupier").ok());
    bench_.puppet.Await(batches_++);
  }

 private:
  Bench& bench_;
  size_t batches_ = 0;
};

TEST_CASE("a task that what is waiting leaves no time for is refused at once") {
  Bench bench({});
  Teacher teacher(&bench);
  teacher.Batch(1, 10);
  teacher.Batch(60, 600);
  teacher.Occupy();
  REQUIRE(bench.Submit("first", 60).ok());  // takes 600 ms; before it, nothing waits
  const absl::Status late = bench.Submit("late", 1, 799);
  REQUIRE(absl::IsResourceExhausted(late));
  REQUIRE(HasReason(late, reasons::kQueueTooLong));
  REQUIRE(bench.Submit("in time", 1, 801).ok());
  REQUIRE(bench.scheduler.stats().refused_tasks == 1);
}

TEST_CASE("a task that nothing waits before is taken, however short its time") {
  Bench bench({});
  Teacher teacher(&bench);
  teacher.Batch(1, 1000);
  teacher.Batch(100, 100'000);
  teacher.Occupy();
  REQUIRE(bench.Submit("long", 4000, 1).ok());
}

TEST_CASE("a call whose time ran out on the way in is over, and waited for nobody") {
  FakeClock callers;
  Bench bench({});
  bench.clock.Advance(absl::Seconds(1));
  // The caller's clock, which the call is checked by, is late.
  const CallContext call(&callers, bench.clock.Now() - absl::Milliseconds(4));
  REQUIRE(bench.Submit("late", 1, call).code() == absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("after lone queries a burst is let in that is one batch") {
  Bench bench({});
  Teacher teacher(&bench);
  for (int i = 0; i < 20; ++i) teacher.Batch(8 + i % 5, 10);
  teacher.Occupy();
  // One after another they would take 300 ms.
  for (int i = 0; i < 30; ++i) REQUIRE(bench.Submit(std::to_string(i), 10, 50).ok());
}

TEST_CASE("overhead is counted once for each batch that what is waiting fills") {
  BatchSchedulerOptions options;
  options.max_batch_cost = 100;
  options.max_batch_size = 50;
  Bench bench(options);
  Teacher teacher(&bench);
  teacher.Batch(10, 30);  // 20 ms, and 1 ms for each unit of cost
  teacher.Batch(100, 120);
  teacher.Occupy();
  // Two of cost 40 fit into a batch: 100 ms for the two, another 60 for the third.
  for (const char* task : {"a", "b", "c"}) REQUIRE(bench.Submit(task, 40).ok());
  REQUIRE_FALSE(bench.Submit("late", 1, 212).ok());
  REQUIRE(bench.Submit("in time", 1, 214).ok());
}

TEST_CASE("each key has its pace: a slow model's does not become a fast one's") {
  const char fast = 0, slow = 0;
  Bench bench({});
  Teacher teacher(&bench);
  for (const int64_t cost : {1, 100}) {
    teacher.Batch(cost, cost, &fast);
    teacher.Batch(cost, 50 * cost, &slow);
  }
  teacher.Occupy();
  REQUIRE(bench.Submit("fast", 100, bench.Call(10'000), &fast).ok());
  // 100 ms of the fast one's are waiting.
  REQUIRE(bench.Submit("in time", 1, bench.Call(140), &slow).ok());
  REQUIRE(bench.Submit("slow", 99, bench.Call(10'000), &slow).ok());
  // And 5 seconds of the slow one's.
  REQUIRE_FALSE(bench.Submit("late", 1, bench.Call(6'700), &fast).ok());
  REQUIRE(bench.Submit("patient", 1, bench.Call(6'900), &fast).ok());
  bench.puppet.Release();
  REQUIRE(bench.puppet.Await(5) == Batch{"in time", "slow"});
}

TEST_CASE("a batch that was stopped for a while does not make the queue shy") {
  Bench bench({});
  Teacher teacher(&bench);
  teacher.Batch(1, 10);
  teacher.Batch(60, 600);
  teacher.Batch(60, 600'000);
  teacher.Occupy();
  REQUIRE(bench.Submit("first", 60).ok());
  REQUIRE(bench.Submit("in time", 1, 801).ok());
}

}  // namespace
}  // namespace sightline
