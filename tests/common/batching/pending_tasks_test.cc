#include "common/batching/pending_tasks.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
absl::Time At(int64_t ms) {
  return kStart + absl::Milliseconds(ms);
}

struct Spec {
  uint64_t sequence;
  int64_t cost;
  int64_t submitted_ms;
  int64_t deadline_ms;
  int key = 0;
};

// Addresses of nothing in particular.
constexpr char kKeys[3] = {};

std::unique_ptr<PendingTask> Make(const Spec& spec) {
  auto task = std::make_unique<PendingTask>();
  task->key = &kKeys[spec.key];
  task->cost = spec.cost;
  task->sequence = spec.sequence;
  task->submitted = At(spec.submitted_ms);
  task->deadline = At(spec.deadline_ms);
  return task;
}

PendingTasks Filled(const BatchLimits& limits, const std::vector<Spec>& specs) {
  PendingTasks tasks(limits);
  for (const Spec& spec : specs) tasks.Add(Make(spec));
  return tasks;
}

using Sequences = std::vector<uint64_t>;

Sequences Of(const PendingTaskList& list) {
  Sequences sequences;
  for (const auto& task : list) sequences.push_back(task->sequence);
  return sequences;
}

constexpr BatchLimits kLimits = {/*max_cost=*/10, /*max_size=*/4, absl::Milliseconds(100)};

TEST_CASE("young tasks go by deadline, equal deadlines by submission") {
  PendingTasks tasks = Filled(
      kLimits, {{0, 1, 0, 900}, {1, 1, 0, 300}, {2, 1, 0, 500}, {3, 1, 0, 300}, {4, 1, 0, 999}});
  REQUIRE(tasks.earliest_deadline() == At(300));
  REQUIRE(Of(tasks.CutBatch(At(1))) == Sequences{1, 3, 2, 0});
  REQUIRE(Of(tasks.CutBatch(At(1))) == Sequences{4});
  REQUIRE(tasks.CutBatch(At(1)).empty());
  REQUIRE(tasks.cost() == 0);
}

TEST_CASE("overaged tasks go first, oldest first, from the very moment of max_age") {
  PendingTasks tasks = Filled(kLimits, {{0, 1, 0, 900}, {1, 1, 5, 800}, {2, 1, 6, 200}});
  REQUIRE(Of(tasks.CutBatch(At(105))) == Sequences{0, 1, 2});
  tasks = Filled(kLimits, {{0, 1, 0, 900}, {1, 1, 5, 800}, {2, 1, 6, 200}});
  REQUIRE(Of(tasks.CutBatch(At(104))) == Sequences{0, 2, 1});
  tasks = Filled(kLimits, {{0, 1, 0, 900}, {1, 1, 5, 800}, {2, 1, 6, 200}});
  REQUIRE(Of(tasks.CutBatch(At(99))) == Sequences{2, 1, 0});
}

TEST_CASE("a young task that does not fit is passed over for smaller ones") {
  PendingTasks tasks =
      Filled(kLimits, {{0, 6, 0, 100}, {1, 5, 0, 200}, {2, 3, 0, 300}, {3, 1, 0, 400}});
  REQUIRE(Of(tasks.CutBatch(At(1))) == Sequences{0, 2, 3});
  REQUIRE(Of(tasks.CutBatch(At(1))) == Sequences{1});
}

TEST_CASE("an overaged task that does not fit closes the batch") {
  PendingTasks tasks =
      Filled(kLimits, {{0, 6, 0, 900}, {1, 5, 0, 900}, {2, 3, 0, 900}, {3, 1, 99, 400}});
  REQUIRE(Of(tasks.CutBatch(At(100))) == Sequences{0});
  REQUIRE(Of(tasks.CutBatch(At(100))) == Sequences{1, 2, 3});
}

TEST_CASE("a batch is of one key, that of the task that is first") {
  const std::vector<Spec> specs = {{0, 1, 0, 900, 0},
                                   {1, 1, 0, 300, 1},
                                   {2, 1, 1, 800, 1},
                                   {3, 1, 2, 400, 0},
                                   {4, 1, 3, 999, 1}};
  PendingTasks young = Filled(kLimits, specs);
  REQUIRE(Of(young.CutBatch(At(3))) == Sequences{1, 2, 4});
  REQUIRE(Of(young.CutBatch(At(3))) == Sequences{3, 0});
  // Once overaged, the oldest is first, and a younger one of its key comes along.
  PendingTasks old = Filled(kLimits, specs);
  REQUIRE(Of(old.CutBatch(At(101))) == Sequences{0, 3});
  REQUIRE(Of(old.CutBatch(At(101))) == Sequences{1, 2, 4});
}

TEST_CASE("what waits is told by key") {
  PendingTasks tasks =
      Filled(kLimits, {{0, 2, 0, 30, 0}, {1, 3, 0, 10, 1}, {2, 4, 0, 20, 1}, {3, 1, 0, 5, 2}});
  const auto load_of = [&](int key) {
    for (const PendingTasks::Load& load : tasks.loads()) {
      if (load.key == &kKeys[key]) return std::make_pair(load.tasks, load.cost);
    }
    return std::make_pair(int64_t{0}, int64_t{0});
  };
  REQUIRE(load_of(0) == std::make_pair(int64_t{1}, int64_t{2}));
  REQUIRE(load_of(1) == std::make_pair(int64_t{2}, int64_t{7}));
  REQUIRE(tasks.TakeExpired(At(10)).size() == 2);
  REQUIRE(load_of(1) == std::make_pair(int64_t{1}, int64_t{4}));
  REQUIRE(tasks.loads().size() == 2);
  tasks.CutBatch(At(10));
  tasks.CutBatch(At(10));
  REQUIRE(tasks.loads().empty());
}

TEST_CASE("a large task is not starved by an endless stream of small urgent ones") {
  PendingTasks tasks(kLimits);
  tasks.Add(Make({0, 10, 0, 100000}));
  uint64_t sequence = 1;
  for (int64_t now = 0; now <= 100; now += 5) {
    tasks.Add(Make({sequence++, 5, now, now + 10}));
    tasks.Add(Make({sequence++, 5, now, now + 10}));
    const Sequences batch = Of(tasks.CutBatch(At(now)));
    REQUIRE((batch == Sequences{0}) == (now == 100));
  }
}

TEST_CASE("without max_age the order is that of arrival, with an infinite one of deadlines") {
  const std::vector<Spec> specs = {{0, 1, 0, 900}, {1, 1, 1, 300}, {2, 1, 2, 500}};
  PendingTasks arrival = Filled({10, 4, absl::ZeroDuration()}, specs);
  REQUIRE(Of(arrival.CutBatch(At(2))) == Sequences{0, 1, 2});
  PendingTasks deadline = Filled({10, 4, absl::InfiniteDuration()}, specs);
  REQUIRE(Of(deadline.CutBatch(At(1 << 20))) == Sequences{1, 2, 0});
}

TEST_CASE("expired tasks come out by deadline and the rest stays") {
  PendingTasks tasks = Filled(kLimits, {{0, 2, 0, 30}, {1, 3, 0, 10}, {2, 4, 0, 31}});
  REQUIRE(tasks.TakeExpired(At(9)).empty());
  REQUIRE(Of(tasks.TakeExpired(At(30))) == Sequences{1, 0});
  REQUIRE(tasks.cost() == 4);
  REQUIRE(tasks.size() == 1);
  REQUIRE(tasks.earliest_deadline() == At(31));
  REQUIRE(Of(tasks.TakeExpired(At(31))) == Sequences{2});
  REQUIRE(tasks.earliest_deadline() == absl::InfiniteFuture());
}

TEST_CASE("a task can be removed once") {
  PendingTasks tasks = Filled(kLimits, {{0, 2, 0, 30}, {7, 3, 0, 10}});
  REQUIRE(tasks.Remove(3) == nullptr);
  REQUIRE(tasks.Remove(7)->cost == 3);
  REQUIRE(tasks.Remove(7) == nullptr);
  REQUIRE(tasks.earliest_deadline() == At(30));
  REQUIRE(Of(tasks.CutBatch(At(0))) == Sequences{0});
}

TEST_CASE("the search for a task that still fits is bounded") {
  // Nine of ten is taken; the only task of cost one hides behind a thousand of cost two.
  PendingTasks tasks({10, 100, absl::InfiniteDuration()});
  tasks.Add(Make({0, 9, 0, 1}));
  for (uint64_t i = 1; i <= 1000; ++i) tasks.Add(Make({i, 2, 0, 10}));
  tasks.Add(Make({1001, 1, 0, 20}));
  REQUIRE(Of(tasks.CutBatch(At(0))) == Sequences{0});
  REQUIRE(tasks.size() == 1001);
}

// The referee: the rule of the header, word by word, over a plain list.
Sequences CutSlowly(std::vector<Spec>& waiting, const BatchLimits& limits, int64_t now) {
  const auto overaged = [&](const Spec& spec) {
    return At(now) - At(spec.submitted_ms) >= limits.max_age;
  };
  std::sort(waiting.begin(), waiting.end(), [&](const Spec& a, const Spec& b) {
    if (overaged(a) != overaged(b)) return overaged(a);
    if (!overaged(a) && a.deadline_ms != b.deadline_ms) return a.deadline_ms < b.deadline_ms;
    return a.sequence < b.sequence;
  });
  Sequences batch;
  std::vector<Spec> rest;
  int64_t cost = 0;
  bool closed = false;
  const int key = waiting.empty() ? 0 : waiting.front().key;
  for (const Spec& spec : waiting) {
    if (spec.key != key) {
      rest.push_back(spec);
      continue;
    }
    const bool fits =
        cost + spec.cost <= limits.max_cost && batch.size() < static_cast<size_t>(limits.max_size);
    closed = closed || (!fits && overaged(spec));
    if (closed || !fits) {
      rest.push_back(spec);
      continue;
    }
    cost += spec.cost;
    batch.push_back(spec.sequence);
  }
  waiting = rest;
  return batch;
}

TEST_CASE("batches equal those of the rule applied naively, on random loads") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const BatchLimits limits = {1 + static_cast<int64_t>(random() % 30),
                                1 + static_cast<int>(random() % 8),
                                absl::Milliseconds(random() % 60)};
    PendingTasks tasks(limits);
    std::vector<Spec> waiting;
    uint64_t sequence = 0;
    for (int64_t now = 0; now < 100; ++now) {
      // At most 60 wait, so that the bound on passing over does not come into play.
      for (int n = random() % 4; n > 0 && waiting.size() < 60; --n) {
        const int64_t cost = 1 + static_cast<int64_t>(random() % limits.max_cost);
        const int64_t deadline = now + 1 + static_cast<int64_t>(random() % 50);
        const Spec spec = {sequence++, cost, now, deadline, static_cast<int>(random() % 3)};
        waiting.push_back(spec);
        tasks.Add(Make(spec));
      }
      Sequences expired = Of(tasks.TakeExpired(At(now)));
      for (const uint64_t gone : expired) {
        const auto it = std::find_if(waiting.begin(), waiting.end(),
                                     [&](const Spec& spec) { return spec.sequence == gone; });
        REQUIRE(it != waiting.end());
        REQUIRE(it->deadline_ms <= now);
        waiting.erase(it);
      }
      for (const Spec& spec : waiting) REQUIRE(spec.deadline_ms > now);
      if (random() % 3 != 0)
        REQUIRE(Of(tasks.CutBatch(At(now))) == CutSlowly(waiting, limits, now));
      int64_t cost = 0;
      for (const Spec& spec : waiting) cost += spec.cost;
      REQUIRE(tasks.cost() == cost);
      REQUIRE(tasks.size() == static_cast<int64_t>(waiting.size()));
      REQUIRE(tasks.empty() == waiting.empty());
      int64_t tasks_of_loads = 0;
      for (const PendingTasks::Load& load : tasks.loads()) tasks_of_loads += load.tasks;
      REQUIRE(tasks_of_loads == tasks.size());
    }
  }
}

}  // namespace
}  // namespace sightline
