#include "common/training/taught_groups.h"

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/common/training/in_worlds.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Teaches some parameters, from one of its batches on.
class TeachingTask : public RecipeTask {
 public:
  TeachingTask(std::vector<at::Tensor> taught, int64_t first)
      : RecipeTask(*FindObjective("mlm")), taught_(std::move(taught)), first_(first) {}

  absl::StatusOr<TaskStep> AddGradients(int64_t number, const CallContext& call) override {
    if (absl::Status alive = call.Check("teach"); !alive.ok()) return alive;
    if (number >= first_) {
      for (at::Tensor& parameter : taught_) parameter.mutable_grad() = at::ones({});
    }
    return TaskStep();
  }

 private:
  std::vector<at::Tensor> taught_;
  const int64_t first_;
};

struct Taught {
  Taught() {
    for (const char* name : {"a", "b", "c"}) {
      parameters.push_back({name, at::zeros({}).set_requires_grad(true)});
    }
  }

  void Add(const std::vector<int>& taught, int64_t first = 0) {
    std::vector<at::Tensor> values;
    for (const int i : taught) values.push_back(parameters[i].value);
    tasks.push_back(std::make_unique<TeachingTask>(std::move(values), first));
  }
  absl::StatusOr<TaughtGroups> Find(TrainingWorld* world,
                                    const CallContext& call = CallContext::Unbounded()) const {
    return FindTaughtGroups(parameters, tasks, world, call);
  }

  std::vector<NamedParameter> parameters;
  std::vector<std::unique_ptr<RecipeTask>> tasks;
};

// The names of what a task teaches.
std::string NamesOf(const TaughtGroups& found, size_t task) {
  std::string names;
  for (const size_t group : found.of_task[task]) {
    for (const NamedParameter& member : found.groups[group]) names += member.name;
  }
  return names;
}

TEST_CASE("parameters are grouped by the tasks that teach them") {
  Taught of;
  of.Add({0, 1});
  of.Add({1});
  TrainingWorld alone;
  const auto found = of.Find(&alone);
  REQUIRE(found.ok());
  REQUIRE(found->groups.size() == 3);
  REQUIRE(NamesOf(*found, 0) == "ab");
  REQUIRE(NamesOf(*found, 1) == "b");
  for (const NamedParameter& parameter : of.parameters) {
    REQUIRE_FALSE(parameter.value.grad().defined());
  }
}

TEST_CASE("a task whose first batches teach nothing is known by the first that does") {
  Taught of;
  of.Add({0});
  of.Add({2}, /*first=*/7);
  TrainingWorld alone;
  const auto found = of.Find(&alone);
  REQUIRE(found.ok());
  REQUIRE(NamesOf(*found, 0) == "a");
  REQUIRE(NamesOf(*found, 1) == "c");
}

TEST_CASE("a task that teaches nothing for long is refused, by its number and name") {
  Taught of;
  of.Add({0});
  of.Add({1}, /*first=*/1'000'000);
  TrainingWorld alone;
  const absl::Status status = of.Find(&alone).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("tasks.1: mlm finds nothing to learn in its first 100 batches"));
}

TEST_CASE("a call that has ended ends the search") {
  Taught of;
  of.Add({0});
  TrainingWorld alone;
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(of.Find(&alone, call).status().code() == absl::StatusCode::kCancelled);
}

TEST_CASE("what one process is taught all are, and one that fails leaves none waiting") {
  std::vector<std::string> names(2);
  const auto ends = InWorlds(2, [&](TrainingWorld* world) -> absl::Status {
    Taught of;
    of.Add({world->is_first() ? 0 : 1}, /*first=*/world->is_first() ? 3 : 5);
    of.Add({2});
    const auto found = of.Find(world);
    if (!found.ok()) return found.status();
    names[world->rank()] = NamesOf(*found, 0) + "|" + NamesOf(*found, 1);
    const CallContext call = CallContext::Unbounded();
    if (!world->is_first()) call.cancellation()->Cancel();
    const absl::Status stopped = of.Find(world, call).status();
    return stopped.code() == absl::StatusCode::kCancelled ? absl::OkStatus()
                                                          : absl::UnknownError("went on");
  });
  REQUIRE(Failures(ends) == "");
  // By the batch in which the first one is taught something, and the second one not yet.
  REQUIRE(names == std::vector<std::string>{"a|c", "a|c"});
}

}  // namespace
}  // namespace sightline
