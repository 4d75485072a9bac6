#include "common/training/recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/training/objectives/registry.h"
#include "common/training/option_visitors.h"
#include "common/training/task_options.h"

namespace sightline {
namespace {

// Of a step: each is a pair of numbers and, if it is in one pass, a row of tensors.
constexpr int64_t kMostPairs = 1 << 22;
constexpr int64_t kMostCorpora = 1000;

std::string PrefixOf(size_t task) {
  return absl::StrCat("tasks.", task, ".");
}

bool PredictsWords(const Objective& objective) {
  return objective.predicted == Predicted::kTokens ||
         objective.predicted == Predicted::kSceneTokens;
}

bool IsMasked(const Objective& objective) {
  return PredictsWords(objective) || objective.predicted == Predicted::kRegionFeatures ||
         objective.predicted == Predicted::kRegionClasses;
}

// What an objective of this kind does not look at must be as it was.
void CheckUnread(const std::string& prefix, const Objective& objective, const TaskRecipe& task,
                 OptionChecker* checker) {
  const TaskRecipe usual;
  const auto require = [&](bool as_usual, absl::string_view name) {
    checker->Require(as_usual, absl::StrCat(prefix, name, " is set, but ", task.objective,
                                            " does not look at it"));
  };
  const bool of_problems = IsOfProblems(objective);
  const bool of_matches = objective.predicted == Predicted::kMatch;
  const bool masked = IsMasked(objective);
  require(!task.counts_relatives || !(of_problems || of_matches || masked), "counts_relatives");
  require(task.batch_rows == usual.batch_rows || !of_problems, "batch_rows");
  // Wrong ones of problems are drawn from all corpora.
  require(task.corpus == 0 || !(of_problems || of_matches), "corpus");
  require(task.candidates == usual.candidates || of_problems, "candidates");
  require(task.sides == usual.sides || of_problems, "sides");
  require(task.text_negatives == usual.text_negatives || of_problems || of_matches,
          "text_negatives");
  require(task.mined_from == 0 || objective.reads == ObjectiveReads::kPairLogits, "mined_from");
  require(task.nearest == 0 || !(of_matches || masked), "nearest");
  require(task.teacher.empty() || objective.reads_teacher, "teacher");
  require(task.student == usual.student || objective.reads_teacher, "student");
  require(task.wrong_share == usual.wrong_share || of_matches, "wrong_share");
  require(task.wrong_tags == 0 || of_matches, "wrong_tags");
  checker->Require(task.wrong_share > 0 || (task.wrong_tags == 0 && task.alignment == 0),
                   absl::StrCat(prefix,
                                "wrong_share is 0: wrong_tags has no pairs to make wrong, "
                                "and alignment none to keep apart"));
  checker->Require(task.wrong_tags < 1 || task.text_negatives == usual.text_negatives,
                   absl::StrCat(prefix,
                                "text_negatives is set, but with wrong_tags 1 all wrong "
                                "pairs have their own caption and picture"));
  require(task.alignment == 0 || of_matches, "alignment");
  require(task.masked_share == usual.masked_share || masked, "masked_share");
  require(task.other_tower == usual.other_tower || masked, "other_tower");
  require(task.word_table == usual.word_table || objective.predicted == Predicted::kTokens,
          "word_table");
  const bool makes = task.made_wrong != MadeWrong::kNone;
  require(!makes || objective.takes_hard, "made_wrong");
  checker->Require(
      makes || (task.replaced_words == usual.replaced_words &&
                task.replaced_regions == usual.replaced_regions),
      absl::StrCat(prefix, "replaced_words or replaced_regions is set, but made_wrong is none"));
  checker->Require(
      MakesTexts(task.made_wrong) || task.replaced_kinds == usual.replaced_kinds,
      absl::StrCat(prefix, "replaced_kinds is set, but made_wrong makes no texts of other words"));
  require(task.masked_words.empty() || objective.predicted == Predicted::kTokens ||
              objective.predicted == Predicted::kSceneTokens,
          "masked_words");
  require(!task.co_mask || objective.predicted == Predicted::kTokens, "co_mask");
  require(!task.masks_tags || objective.predicted == Predicted::kTokens, "masks_tags");
  require(task.wrong_pairs == usual.wrong_pairs || objective.reads_wrong_pairs, "wrong_pairs");
  require(task.classes == usual.classes || objective.reads_classes, "classes");
  require(task.reduction == usual.reduction || objective.reads_reduction, "reduction");
  require(task.margin < 0 || objective.reads_margin, "margin");
  require(task.temperature < 0 || objective.reads_temperature, "temperature");
}

// What a batch's loss compares must be wrong for something.
void CheckBatch(const std::string& prefix, const Objective& objective, const TaskRecipe& task,
                OptionChecker* checker) {
  checker->Require(task.batch_rows == 0 || task.batch == TaskRecipe().batch,
                   absl::StrCat(prefix, "batch is set, but batch_rows says how much is shown"));
  const bool within = objective.reads == ObjectiveReads::kTowerRows ||
                      objective.reads == ObjectiveReads::kScaledTowerRows ||
                      objective.reads == ObjectiveReads::kScoreMatrix;
  const bool alone = task.batch == 1 && task.batch_rows == 0;
  const bool adds = task.nearest > 0 || task.made_wrong != MadeWrong::kNone;
  checker->Require(!within || IsOfProblems(objective) || !alone || adds,
                   absl::StrCat(prefix, "batch is 1: ", task.objective,
                                " compares a caption with the other pictures of its batch, and "
                                "would learn nothing; make it 2 at least"));
}

// What wrong ones are chosen by.
void CheckNegatives(const std::string& prefix, const Objective& objective, const TaskRecipe& task,
                    const MiningOptions& mining, OptionChecker* checker) {
  const int64_t wrong = task.candidates - 1;
  checker->Require(task.mined_from == 0 || task.mined_from > wrong,
                   absl::StrCat(prefix, "mined_from is ", task.mined_from, ", not more than the ",
                                wrong, " wrong candidates that are to be found among them"));
  checker->Require(task.mined_from == 0 || task.sides != WrongSides::kInTurn,
                   absl::StrCat(prefix,
                                "mined_from compares wrong ones of one side; set sides to one or "
                                "by_problem"));
  checker->Require(task.mined_from == 0 || task.nearest == 0,
                   absl::StrCat(prefix,
                                "mined_from and nearest are two ways to choose wrong ones; "
                                "set one of them"));
  checker->Require(task.nearest == 0 || task.corpus == 0,
                   absl::StrCat(prefix,
                                "nearest ones are found in all corpora, and corpus names one; "
                                "leave one of the two out"));
  checker->Require(!IsOfProblems(objective) || task.nearest <= wrong,
                   absl::StrCat(prefix, "nearest is ", task.nearest, ", more than the ", wrong,
                                " wrong candidates"));
  checker->Require(
      task.nearest <= mining.kept,
      absl::StrCat(prefix, "nearest is ", task.nearest, ", more than mining.kept, ", mining.kept));
}

// What a recipe says of mining must be of use, and used.
void CheckMining(const Recipe& recipe, OptionChecker* checker) {
  const MiningOptions usual;
  checker->Require(recipe.retriever.empty() || recipe.mining.every == 0,
                   "mining.every is set, but a retriever does not change: it is asked once");
  if (MinesNearest(recipe)) return;
  checker->Require(recipe.mining.every == usual.every && recipe.mining.kept == usual.kept,
                   "mining is set, but no task has nearest");
  checker->Require(recipe.retriever.empty(), "retriever is set, but no task has nearest");
}

// A scale that is learnt is one objective's.
void CheckTemperature(const Recipe& recipe, OptionChecker* checker) {
  const bool learns =
      std::any_of(recipe.tasks.begin(), recipe.tasks.end(), [](const TaskRecipe& task) {
        const absl::StatusOr<const Objective*> objective = FindObjective(task.objective);
        return objective.ok() && (*objective)->reads == ObjectiveReads::kScaledTowerRows;
      });
  checker->Require(learns || recipe.initial_temperature == Recipe().initial_temperature,
                   "initial_temperature is set, but no task is contrastive; other objectives have "
                   "a temperature of their own");
}

// Words are known by a WordNet, which is of use for nothing else.
void CheckWordNet(const Recipe& recipe, OptionChecker* checker) {
  const auto makes = [&](bool (*made)(MadeWrong)) {
    return std::any_of(recipe.tasks.begin(), recipe.tasks.end(),
                       [made](const TaskRecipe& task) { return made(task.made_wrong); });
  };
  const bool texts = makes(&MakesTexts);
  checker->Require(!texts || !recipe.wordnet.empty(),
                   "wordnet is missing: captions are made wrong by its words; it is the folder of "
                   "index.noun and the like, /usr/share/wordnet of Debian's package wordnet-base");
  checker->Require(texts || makes(&MakesImages) || recipe.wordnet.empty(),
                   "wordnet is set, but no task has made_wrong");
}

void CheckTask(const std::string& prefix, const TaskRecipe& task, const MiningOptions& mining,
               OptionChecker* checker) {
  const absl::StatusOr<const Objective*> objective = FindObjective(task.objective);
  if (!objective.ok()) {
    checker->Require(false, absl::StrCat(prefix, "objective: ", objective.status().message()));
    return;
  }
  checker->Require(!(*objective)->reads_teacher || !task.teacher.empty(),
                   absl::StrCat(prefix, "teacher is missing: ", task.objective,
                                " learns from another bundle, a folder or the id of one in the "
                                "store"));
  CheckBatch(prefix, **objective, task, checker);
  CheckUnread(prefix, **objective, task, checker);
  CheckNegatives(prefix, **objective, task, mining, checker);
  const absl::Status options = CheckObjectiveOptions(**objective, OptionsOf(**objective, task));
  checker->Require(options.ok(), absl::StrCat(prefix, "objective: ", options.message()));
  checker->Require(task.batch * task.candidates <= kMostPairs,
                   absl::StrCat(prefix, "batch times candidates is ", task.batch * task.candidates,
                                ", more than ", kMostPairs));
  checker->Require(task.batch * task.mined_from <= kMostPairs,
                   absl::StrCat(prefix, "batch times mined_from is ", task.batch * task.mined_from,
                                ", more than ", kMostPairs));
  checker->Require(task.batch * task.nearest <= kMostPairs,
                   absl::StrCat(prefix, "batch times nearest is ", task.batch * task.nearest,
                                ", more than ", kMostPairs));
}

}  // namespace

ObjectiveOptions OptionsOf(const Objective& objective, const TaskRecipe& task) {
  ObjectiveOptions options = objective.defaults;
  if (objective.reads_margin && task.margin >= 0) options.margin = task.margin;
  if (objective.reads_temperature && task.temperature >= 0) options.temperature = task.temperature;
  if (objective.reads_wrong_pairs) options.wrong_pairs = task.wrong_pairs;
  if (objective.reads_classes) options.classes = task.classes;
  if (objective.reads_reduction) options.reduction = task.reduction;
  return options;
}

bool IsOfProblems(const Objective& objective) {
  return objective.reads == ObjectiveReads::kPairLogits || objective.reads_teacher;
}

bool TeachesTowers(const Objective& objective, const TaskRecipe& task) {
  if (objective.reads_teacher) return task.student == Student::kTowers;
  return objective.reads == ObjectiveReads::kTowerRows ||
         objective.reads == ObjectiveReads::kScaledTowerRows;
}

bool TeachesPairs(const Objective& objective, const TaskRecipe& task) {
  if (objective.reads_teacher) return task.student == Student::kPairs;
  return objective.reads == ObjectiveReads::kPairLogits ||
         objective.reads == ObjectiveReads::kScoreMatrix ||
         objective.predicted == Predicted::kMatch;
}

bool MinesNearest(const Recipe& recipe) {
  return std::any_of(recipe.tasks.begin(), recipe.tasks.end(),
                     [](const TaskRecipe& task) { return task.nearest > 0; });
}

void VisitTask(const std::string& prefix, TaskRecipe* task, OptionVisitor* v) {
  v->Number(prefix + "margin", &task->margin, -1, 2);
  v->Number(prefix + "temperature", &task->temperature, -1, 1000);
  VisitChoice(prefix + "wrong_pairs", {"hardest", "all"}, &task->wrong_pairs, v);
  VisitChoice(prefix + "classes", {"sum", "mean"}, &task->classes, v);
  VisitChoice(prefix + "reduction", {"mean", "sum"}, &task->reduction, v);
  v->Number(prefix + "share", &task->share, 1e-6, 1e6);
  v->Count(prefix + "corpus", &task->corpus, 0, kMostCorpora);
  // Of towers their square is a matrix.
  v->Count(prefix + "batch", &task->batch, 1, 1 << 16);
  v->Count(prefix + "batch_rows", &task->batch_rows, 0, 1 << 18);
  VisitChoice(prefix + "unit", {"captions", "pictures"}, &task->unit, v);
  v->Flag(prefix + "counts_relatives", &task->counts_relatives);
  v->Count(prefix + "candidates", &task->candidates, 2, 4096);
  VisitChoice(prefix + "sides", {"one", "in_turn", "by_problem"}, &task->sides, v);
  v->Number(prefix + "text_negatives", &task->text_negatives, 0, 1);
  v->Count(prefix + "mined_from", &task->mined_from, 0, 4096);
  v->Count(prefix + "nearest", &task->nearest, 0, 4096);
  VisitChoice(prefix + "student", {"pairs", "towers"}, &task->student, v);
  v->Number(prefix + "wrong_share", &task->wrong_share, 0, 1);
  v->Number(prefix + "wrong_tags", &task->wrong_tags, 0, 1);
  v->Number(prefix + "alignment", &task->alignment, 0, 100);
  VisitChoice(prefix + "made_wrong", {"none", "texts", "images", "both"}, &task->made_wrong, v);
  v->Number(prefix + "replaced_words", &task->replaced_words, 1e-3, 1);
  VisitChoice(prefix + "replaced_kinds", {"all", "nouns"}, &task->replaced_kinds, v);
  v->Number(prefix + "replaced_regions", &task->replaced_regions, 0, 1);
  v->Number(prefix + "masked_share", &task->masked_share, 1e-3, 1);
  VisitChoice(prefix + "other_tower", {"none", "add", "multiply"}, &task->other_tower, v);
  VisitChoice(prefix + "word_table", {"image", "text"}, &task->word_table, v);
  v->Flag(prefix + "co_mask", &task->co_mask);
  v->Flag(prefix + "masks_tags", &task->masks_tags);
}

void VisitRecipe(Recipe* recipe, OptionVisitor* v) {
  VisitChoice("order", {"drawn", "in_turn"}, &recipe->order, v);
  v->Count("steps", &recipe->steps, 1, kMostCount);
  v->Count("mining.every", &recipe->mining.every, 0, kMostCount);
  v->Count("mining.kept", &recipe->mining.kept, 1, 4096);
  VisitRate("rate", &recipe->rate, v);
  VisitAdamW("adamw", &recipe->adamw, v);
  v->Number("dropout", &recipe->dropout, -1, 0.9);
  VisitChoice("precision", {"float32", "bfloat16"}, &recipe->precision, v);
  v->Count("accumulation", &recipe->accumulation, 1, 1 << 16);
  v->Count("pass_rows", &recipe->pass_rows, 0, kMostCount);
  v->Number("initial_temperature", &recipe->initial_temperature, 0.01, 1);
  // By which looks are chosen among.
  v->Count("develop_every", &recipe->develop_every, 0, kMostCount);
  v->Count("develop_pictures", &recipe->develop_pictures, 0, kMostCount);
}

std::string TaskName(const Recipe& recipe, size_t i) {
  const TaskRecipe& task = recipe.tasks[i];
  const auto alike = [&task](const TaskRecipe& other) {
    return other.objective == task.objective && other.corpus == task.corpus;
  };
  std::string name = task.objective;
  if (task.corpus > 0) absl::StrAppend(&name, " of corpus ", task.corpus);
  const auto before = std::count_if(recipe.tasks.begin(), recipe.tasks.begin() + i, alike);
  if (before > 0) absl::StrAppend(&name, " (", before + 1, ")");
  return name;
}

absl::Status CheckRecipe(Recipe recipe) {
  OptionChecker checker("the recipe");
  VisitRecipe(&recipe, &checker);
  CheckRate("rate", recipe.rate, Recipe().rate, &checker);
  checker.Require(
      recipe.rate.warmup_steps < recipe.steps,
      absl::StrCat("rate.warmup_steps is ", recipe.rate.warmup_steps, ", not fewer than steps, ",
                   recipe.steps, ": the rate would never come to its peak"));
  checker.Require(!recipe.tasks.empty(), "tasks has none: there is nothing to learn");
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    VisitTask(PrefixOf(i), &recipe.tasks[i], &checker);
    CheckTask(PrefixOf(i), recipe.tasks[i], recipe.mining, &checker);
  }
  checker.Require(recipe.dropout >= 0 || recipe.dropout == Recipe().dropout,
                  absl::StrCat("dropout is ", recipe.dropout, ", not 0 to 0.9"));
  CheckMining(recipe, &checker);
  CheckTemperature(recipe, &checker);
  CheckWordNet(recipe, &checker);
  return checker.ToStatus();
}

std::string DescribeRecipe(Recipe recipe) {
  OptionDescriber describer;
  VisitRecipe(&recipe, &describer);
  std::string text = absl::StrCat("seed=", recipe.seed, "\n", std::move(describer).text());
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    OptionDescriber of_task;
    VisitTask(PrefixOf(i), &recipe.tasks[i], &of_task);
    absl::StrAppend(&text, PrefixOf(i), "objective=", recipe.tasks[i].objective, "\n", PrefixOf(i),
                    "masked_words=", recipe.tasks[i].masked_words, "\n", std::move(of_task).text());
  }
  return text;
}

}  // namespace sightline
