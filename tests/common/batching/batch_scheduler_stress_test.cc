// Many threads submit, cancel and let expire; every task that was accepted must be
// processed or dropped exactly once, with a true reason.
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "common/batching/batch_scheduler.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

constexpr int kSubmitters = 4;
constexpr int kTasksEach = 1500;

// What happened to one task.
struct Fate {
  absl::Time deadline;
  bool cancel = false;    // somebody may cancel it
  bool accepted = false;  // written by the submitter, read after joining it
  std::atomic<int> processed{0};
  std::atomic<int> expired{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> other{0};
};

struct Load {
  FakeClock clock;
  const char keys[2] = {};
  std::vector<Fate> fates = std::vector<Fate>(kSubmitters * kTasksEach);
  std::atomic<int64_t> batches{0};
  std::atomic<int64_t> oversized{0};
  std::atomic<int64_t> refused{0};
  std::atomic<bool> submitted{false};
};

void SubmitAll(Load& load, BatchScheduler<Fate*>& scheduler, int submitter) {
  std::mt19937 random(1000 + submitter);
  std::vector<std::shared_ptr<Cancellation>> to_cancel;
  for (int i = 0; i < kTasksEach; ++i) {
    Fate& fate = load.fates[submitter * kTasksEach + i];
    fate.cancel = random() % 4 == 0;
    // A full queue is met with patience, for a while.
    for (int attempt = 0; attempt < 100 && !fate.accepted; ++attempt) {
      fate.deadline = load.clock.Now() + absl::Microseconds(100 + random() % 10000);
      const CallContext call(&load.clock, fate.deadline);
      const absl::Status status = scheduler.Submit(
          &fate, &load.keys[random() % 2], 1 + random() % 8, call, [&fate](absl::Status reason) {
            ++(absl::IsDeadlineExceeded(reason) ? fate.expired
               : absl::IsCancelled(reason)      ? fate.cancelled
                                                : fate.other);
          });
      fate.accepted = status.ok();
      if (fate.accepted && fate.cancel) to_cancel.push_back(call.cancellation());
      if (!fate.accepted) ++load.refused;
      load.clock.Advance(absl::Microseconds(20));
      std::this_thread::yield();
    }
    // Sometimes at once, sometimes when it may be under way or long done.
    if (random() % 3 == 0) {
      for (auto& cancellation : to_cancel) cancellation->Cancel();
      to_cancel.clear();
    }
  }
}

TEST_CASE("every accepted task is processed or dropped, exactly once") {
  for (const int workers : {1, 3}) {
    Load load;
    BatchSchedulerOptions options;
    options.max_batch_cost = 16;
    options.max_batch_size = 5;
    options.max_queue_cost = 200;
    options.max_age = absl::Milliseconds(10);
    options.workers = workers;
    BatchScheduler<Fate*> scheduler(options, &load.clock, [&](std::vector<Fate*> batch) {
      if (batch.empty() || batch.size() > 5) ++load.oversized;
      for (Fate* fate : batch) ++fate->processed;
      // A batch takes its time, and about twice as much comes in as goes out.  Now and then one
      // takes so long that what was let in behind it expires.
      const int stall = ++load.batches % 32 == 0 ? 60 : 1;
      const absl::Time end = load.clock.Now() + stall * workers * absl::Microseconds(200);
      while (!load.submitted && load.clock.Now() < end) std::this_thread::yield();
    });

    std::vector<std::thread> submitters;
    for (int s = 0; s < kSubmitters; ++s) {
      submitters.emplace_back([&, s] { SubmitAll(load, scheduler, s); });
    }
    for (auto& submitter : submitters) submitter.join();
    load.submitted = true;
    scheduler.Drain();
    const absl::Time end = load.clock.Now();

    int64_t processed = 0, expired = 0, cancelled = 0;
    for (const Fate& fate : load.fates) {
      REQUIRE(fate.processed + fate.expired + fate.cancelled == (fate.accepted ? 1 : 0));
      REQUIRE(fate.other == 0);
      if (fate.cancelled > 0) REQUIRE(fate.cancel);
      if (fate.expired > 0) REQUIRE(fate.deadline <= end);
      processed += fate.processed;
      expired += fate.expired;
      cancelled += fate.cancelled;
    }
    REQUIRE(load.oversized == 0);
    // A load that does not come to all ends tests little.
    INFO("processed " << processed << ", expired " << expired << ", cancelled " << cancelled
                      << ", refused " << load.refused);
    REQUIRE(processed > 0);
    REQUIRE(expired > 0);
    REQUIRE(cancelled > 0);
    REQUIRE(load.refused > 0);
    const BatchSchedulerStats stats = scheduler.stats();
    REQUIRE(stats.processed_tasks == processed);
    REQUIRE(stats.dropped_tasks == expired + cancelled);
    REQUIRE(stats.refused_tasks == load.refused);
    REQUIRE(stats.queued_tasks == 0);
    REQUIRE(stats.queued_cost == 0);
  }
}

}  // namespace
}  // namespace sightline
