#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/outcome.h"
#include "common/batching/batch_scheduler.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

// A task that says who has processed it, and may hold him until it is let go.
struct Task {
  CallContext call;
  std::shared_ptr<Outcome<std::thread::id>> outcome = std::make_shared<Outcome<std::thread::id>>();
  std::shared_ptr<Gate> entered = nullptr, release = nullptr;
};

class Bench {
 public:
  explicit Bench(int workers = 1) : scheduler(Options(workers), &clock, Process) {}

  Task Make() { return Task{CallContext(&clock, clock.Now() + absl::Seconds(10))}; }
  Task MakeHeld() {
    Task task = Make();
    task.entered = std::make_shared<Gate>();
    task.release = std::make_shared<Gate>();
    return task;
  }

  FakeClock clock;
  BatchScheduler<Task> scheduler;

 private:
  static BatchSchedulerOptions Options(int workers) {
    BatchSchedulerOptions options;
    options.workers = workers;
    return options;
  }
  static void Process(std::vector<Task> batch) {
    for (Task& task : batch) {
      if (task.entered != nullptr) {
        task.entered->Open();
        task.release->Wait();
      }
      task.outcome->Set(std::this_thread::get_id());
    }
  }
};

std::thread::id Await(const Task& task) {
  return *task.outcome->Await(CallContext::Unbounded(), "task");
}

TEST_CASE("where a worker is idle the caller does its work, and returns when it is done") {
  Bench bench;
  for (int i = 0; i < 3; ++i) {
    const Task task = bench.Make();
    REQUIRE(bench.scheduler.SubmitOrProcess(task, nullptr, 1).ok());
    REQUIRE(Await(task) == std::this_thread::get_id());
  }
  const BatchSchedulerStats stats = bench.scheduler.stats();
  REQUIRE(stats.batches == 3);
  REQUIRE(stats.processed_tasks == 3);
  REQUIRE(stats.busy_workers == 0);
}

TEST_CASE("where all are busy it waits for a worker, and its caller does not") {
  Bench bench;
  const Task first = bench.MakeHeld();
  REQUIRE(bench.scheduler.SubmitAwaited(first, nullptr, 1).ok());
  first.entered->Wait();
  const Task second = bench.Make();
  REQUIRE(bench.scheduler.SubmitOrProcess(second, nullptr, 1).ok());
  REQUIRE(bench.scheduler.stats().queued_tasks == 1);
  first.release->Open();
  REQUIRE(Await(second) != std::this_thread::get_id());
}

TEST_CASE("a caller at work counts as a worker; what came meanwhile is a worker's afterwards") {
  Bench bench;
  const Task held = bench.MakeHeld();
  absl::Status sent;
  std::thread caller([&] { sent = bench.scheduler.SubmitOrProcess(held, nullptr, 1); });
  held.entered->Wait();
  REQUIRE(bench.scheduler.stats().busy_workers == 1);
  const Task others[] = {bench.Make(), bench.Make()};
  REQUIRE(bench.scheduler.SubmitAwaited(others[0], nullptr, 1).ok());
  REQUIRE(bench.scheduler.SubmitOrProcess(others[1], nullptr, 1).ok());
  REQUIRE(bench.scheduler.stats().queued_tasks == 2);
  REQUIRE(bench.scheduler.stats().batches == 1);
  const std::thread::id callers = caller.get_id();
  held.release->Open();
  caller.join();
  REQUIRE(sent.ok());
  for (const Task& other : others) {
    const std::thread::id by = Await(other);
    REQUIRE(by != callers);
    REQUIRE(by != std::this_thread::get_id());
  }
}

TEST_CASE("draining waits for callers at work") {
  Bench bench(/*workers=*/2);
  const Task held = bench.MakeHeld();
  absl::Status sent;
  std::thread caller([&] { sent = bench.scheduler.SubmitOrProcess(held, nullptr, 1); });
  held.entered->Wait();
  std::atomic<bool> released{false};
  bool was_released = false;
  std::thread drainer([&] {
    bench.scheduler.Drain();
    was_released = released;
  });
  while (bench.scheduler.SubmitOrProcess(bench.Make(), nullptr, 1).ok()) std::this_thread::yield();
  // By now it drains, and would have ended if it did not wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  released = true;
  held.release->Open();
  drainer.join();
  caller.join();
  REQUIRE(sent.ok());
  REQUIRE(was_released);
  REQUIRE(bench.scheduler.stats().busy_workers == 0);
}

TEST_CASE("a task whose caller has gone is not begun") {
  Bench bench;
  const Task task = bench.Make();
  task.call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(bench.scheduler.SubmitOrProcess(task, nullptr, 1)));
  REQUIRE(bench.scheduler.stats().batches == 0);
}

TEST_CASE("callers and workers process or drop everything once, in no more places") {
  constexpr int kWorkers = 2, kCallers = 6, kTasks = 500;
  const char keys[2] = {};
  struct Counted {
    CallContext call;
    std::shared_ptr<Outcome<int>> outcome = std::make_shared<Outcome<int>>();
  };
  std::atomic<int> at_work{0}, most{0}, processed{0};
  BatchSchedulerOptions options;
  options.workers = kWorkers;
  options.max_batch_size = 3;
  BatchScheduler<Counted> scheduler(options, Clock::Real(), [&](std::vector<Counted> batch) {
    const int now = at_work.fetch_add(1) + 1;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    processed += static_cast<int>(batch.size());
    std::this_thread::yield();
    at_work.fetch_sub(1);
    for (Counted& task : batch) task.outcome->Set(1);
  });
  std::vector<std::thread> callers;
  std::atomic<int> accepted{0}, answered{0}, dropped{0};
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      for (int t = 0; t < kTasks; ++t) {
        const absl::Time soon = Clock::Real()->Now() + absl::Microseconds(20 + 40 * (t % 50));
        const Counted task{CallContext(Clock::Real(), t % 4 == 0 ? soon : absl::InfiniteFuture())};
        const BatchKey key = &keys[t % 2];
        const bool by_worker = (i + t) % 3 == 0;
        const absl::Status sent = by_worker ? scheduler.SubmitAwaited(task, key, 1)
                                            : scheduler.SubmitOrProcess(task, key, 1);
        if (!sent.ok()) continue;
        ++accepted;
        if (by_worker && t % 5 == 0) task.call.cancellation()->Cancel();
        // What becomes of it, not whether its call still waits.
        ++(task.outcome->Await(CallContext::Unbounded(), "task").ok() ? answered : dropped);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  scheduler.Drain();
  REQUIRE(answered + dropped == accepted);
  REQUIRE(processed == answered);
  REQUIRE(answered > 0);
  REQUIRE(most <= kWorkers);
  const BatchSchedulerStats stats = scheduler.stats();
  REQUIRE(stats.processed_tasks == answered);
  REQUIRE(stats.dropped_tasks == dropped);
  REQUIRE(stats.busy_workers == 0);
}

}  // namespace
}  // namespace sightline
