#include "common/training/recipe.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/training/objectives/registry.h"
#include "common/training/option_visitors.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

// Of a step: each is a pair of numbers and, if it is in one pass, a row of tensors.
constexpr int64_t kMostPairs = 1 << 22;

std::string PrefixOf(size_t task) {
  return absl::StrCat("tasks.", task, ".");
}

// What an objective of this kind does not look at must be as it was.
void CheckUnread(const std::string& prefix, const Objective& objective, const TaskRecipe& task,
                 OptionChecker* checker) {
  const TaskRecipe usual;
  const auto require = [&](bool as_usual, absl::string_view name) {
    checker->Require(as_usual, absl::StrCat(prefix, name, " is set, but ", task.objective,
                                            " does not look at it"));
  };
  if (objective.reads == ObjectiveReads::kPairLogits) {
    require(!task.counts_relatives, "counts_relatives");
  } else {
    require(task.candidates == usual.candidates, "candidates");
    require(task.sides == usual.sides, "sides");
    require(task.text_negatives == usual.text_negatives, "text_negatives");
  }
  require(task.margin < 0 || objective.reads_margin, "margin");
  require(task.temperature < 0 || objective.reads_temperature, "temperature");
}

void CheckTask(const std::string& prefix, const TaskRecipe& task, OptionChecker* checker) {
  const absl::StatusOr<const Objective*> objective = FindObjective(task.objective);
  if (!objective.ok()) {
    checker->Require(false, absl::StrCat(prefix, "objective: ", objective.status().message()));
    return;
  }
  checker->Require((*objective)->reads != ObjectiveReads::kPredictions,
                   absl::StrCat(prefix, "objective ", task.objective,
                                " is not one of texts and images as they are"));
  CheckUnread(prefix, **objective, task, checker);
  const absl::Status options = CheckObjectiveOptions(**objective, OptionsOf(**objective, task));
  checker->Require(options.ok(), absl::StrCat(prefix, "objective: ", options.message()));
  checker->Require(task.batch * task.candidates <= kMostPairs,
                   absl::StrCat(prefix, "batch times candidates is ", task.batch * task.candidates,
                                ", more than ", kMostPairs));
}

}  // namespace

ObjectiveOptions OptionsOf(const Objective& objective, const TaskRecipe& task) {
  ObjectiveOptions options = objective.defaults;
  if (task.margin >= 0) options.margin = task.margin;
  if (task.temperature >= 0) options.temperature = task.temperature;
  return options;
}

void VisitTask(const std::string& prefix, TaskRecipe* task, OptionVisitor* v) {
  v->Number(prefix + "margin", &task->margin, -1, 2);
  v->Number(prefix + "temperature", &task->temperature, -1, 1000);
  v->Number(prefix + "share", &task->share, 1e-6, 1e6);
  // Of towers their square is a matrix.
  v->Count(prefix + "batch", &task->batch, 1, 1 << 16);
  VisitChoice(prefix + "unit", {"captions", "pictures"}, &task->unit, v);
  v->Flag(prefix + "counts_relatives", &task->counts_relatives);
  v->Count(prefix + "candidates", &task->candidates, 2, 4096);
  VisitChoice(prefix + "sides", {"one", "in_turn"}, &task->sides, v);
  v->Number(prefix + "text_negatives", &task->text_negatives, 0, 1);
}

void VisitRecipe(Recipe* recipe, OptionVisitor* v) {
  VisitChoice("order", {"drawn", "in_turn"}, &recipe->order, v);
  v->Count("steps", &recipe->steps, 1, kMostCount);
  VisitRate("rate", &recipe->rate, v);
  VisitAdamW("adamw", &recipe->adamw, v);
  v->Number("dropout", &recipe->dropout, -1, 0.9);
  VisitChoice("precision", {"float32", "bfloat16"}, &recipe->precision, v);
  v->Count("pass_rows", &recipe->pass_rows, 0, kMostCount);
  v->Number("initial_temperature", &recipe->initial_temperature, 0.01, 1);
  // By which looks are chosen among.
  v->Count("develop_every", &recipe->develop_every, 0, kMostCount);
  v->Count("develop_pictures", &recipe->develop_pictures, 0, kMostCount);
}

absl::Status CheckRecipe(Recipe recipe) {
  OptionChecker checker("the recipe");
  VisitRecipe(&recipe, &checker);
  CheckRate("rate", recipe.rate, &checker);
  checker.Require(
      recipe.rate.warmup_steps < recipe.steps,
      absl::StrCat("rate.warmup_steps is ", recipe.rate.warmup_steps, ", not fewer than steps, ",
                   recipe.steps, ": the rate would never come to its peak"));
  checker.Require(!recipe.tasks.empty(), "tasks has none: there is nothing to learn");
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    VisitTask(PrefixOf(i), &recipe.tasks[i], &checker);
    CheckTask(PrefixOf(i), recipe.tasks[i], &checker);
  }
  return checker.ToStatus();
}

std::string DescribeRecipe(Recipe recipe) {
  OptionDescriber describer;
  VisitRecipe(&recipe, &describer);
  std::string text = absl::StrCat("seed=", recipe.seed, "\n", std::move(describer).text());
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    OptionDescriber of_task;
    VisitTask(PrefixOf(i), &recipe.tasks[i], &of_task);
    absl::StrAppend(&text, PrefixOf(i), "objective=", recipe.tasks[i].objective, "\n",
                    std::move(of_task).text());
  }
  return text;
}

}  // namespace sightline
