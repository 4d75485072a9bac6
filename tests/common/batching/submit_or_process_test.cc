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
  Gate drained;
  std::thread drainer([&] {
    bench.scheduler.Drain();
    drained.Open();
  });
  while (bench.scheduler.SubmitOrProcess(bench.Make(), nullptr, 1).ok()) std::this_thread::yield();
  REQUIRE_FALSE(drained.IsOpen());
  held.release->Open();
  drainer.join();
  caller.join();
  REQUIRE(sent.ok());
  REQUIRE(bench.scheduler.stats().busy_workers == 0);
}

TEST_CASE("a task whose caller has gone is not begun") {
  Bench bench;
  const Task task = bench.Make();
  task.call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(bench.scheduler.SubmitOrProcess(task, nullptr, 1)));
  REQUIRE(bench.scheduler.stats().batches == 0);
}

TEST_CASE(
    "callers and workers together process everything once, never more than there are places") {
  constexpr int kWorkers = 2, kCallers = 6, kTasks = 500;
  struct Counted {
    CallContext call;
    std::shared_ptr<Outcome<int>> outcome = std::make_shared<Outcome<int>>();
  };
  std::atomic<int> at_work{0}, most{0}, processed{0};
  BatchSchedulerOptions options;
  options.workers = kWorkers;
  BatchScheduler<Counted> scheduler(options, Clock::Real(), [&](std::vector<Counted> batch) {
    const int now = at_work.fetch_add(1) + 1;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    processed += static_cast<int>(batch.size());
    at_work.fetch_sub(1);
    for (Counted& task : batch) task.outcome->Set(1);
  });
  std::vector<std::thread> callers;
  std::atomic<int> answered{0};
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      for (int t = 0; t < kTasks; ++t) {
        const Counted task{CallContext::Unbounded()};
        const absl::Status sent = (i + t) % 3 == 0 ? scheduler.SubmitAwaited(task, nullptr, 1)
                                                   : scheduler.SubmitOrProcess(task, nullptr, 1);
        if (sent.ok()) answered += task.outcome->Await(task.call, "task").value_or(0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  REQUIRE(answered == kCallers * kTasks);
  REQUIRE(processed == kCallers * kTasks);
  REQUIRE(most <= kWorkers);
}

}  // namespace
}  // namespace sightline
