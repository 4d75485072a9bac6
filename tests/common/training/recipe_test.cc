#include "common/training/recipe.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Recipe Sound() {
  Recipe recipe;
  recipe.tasks.resize(2);
  recipe.tasks[0].objective = "hinge";
  recipe.tasks[1].objective = "pairwise";
  return recipe;
}

std::string Problems(const Recipe& recipe) {
  const absl::Status status = CheckRecipe(recipe);
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("a sound recipe passes") {
  REQUIRE(CheckRecipe(Sound()).ok());
}

TEST_CASE("all problems of a recipe are told at once, with where and what") {
  Recipe recipe = Sound();
  recipe.steps = 0;
  recipe.rate.peak = -1;
  recipe.tasks[0].batch = 0;
  recipe.tasks[1].objective = "pairwize";
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "steps is 0, not 1 to "));
  REQUIRE(absl::StrContains(problems, "rate.peak is -1"));
  REQUIRE(absl::StrContains(problems, "tasks.0.batch is 0, not 1 to "));
  REQUIRE(absl::StrContains(problems, "tasks.1.objective: "));
  REQUIRE(absl::StrContains(problems, "pairwise"));
}

TEST_CASE("a run that ends within its warm-up is refused") {
  Recipe recipe = Sound();
  recipe.steps = recipe.rate.warmup_steps = 1500;
  REQUIRE(absl::StrContains(Problems(recipe), "rate.warmup_steps is 1500, not fewer than steps"));
}

TEST_CASE("a recipe without tasks, or with one that reads something else, is refused") {
  REQUIRE(absl::StrContains(Problems(Recipe()), "tasks has none"));
  Recipe recipe = Sound();
  recipe.tasks[0].objective = "distillation";
  REQUIRE(absl::StrContains(Problems(recipe),
                            "tasks.0.teacher is missing: distillation learns from another"));
}

TEST_CASE("objectives of what is hidden have options of their own") {
  Recipe recipe = Sound();
  recipe.tasks.resize(6);
  recipe.tasks[5].objective = "mlm";
  recipe.tasks[5].masks_tags = true;
  recipe.tasks[0].objective = "mlm";
  recipe.tasks[0].other_tower = GlobalVector::kAdd;
  recipe.tasks[0].word_table = WordTable::kText;
  recipe.tasks[0].co_mask = true;
  recipe.tasks[0].masked_words = "left right";
  recipe.tasks[0].batch_rows = 4096;
  recipe.tasks[1].objective = "msm";
  recipe.tasks[1].masked_share = 0.3;
  recipe.tasks[2].objective = "mrfr";
  recipe.tasks[2].other_tower = GlobalVector::kMultiply;
  recipe.tasks[4].objective = "mrc_kl";
  recipe.tasks[4].other_tower = GlobalVector::kAdd;
  recipe.tasks[3].objective = "matching";
  recipe.tasks[3].wrong_share = 0.25;
  recipe.tasks[3].text_negatives = 0;
  recipe.tasks[3].wrong_tags = 0.5;
  recipe.tasks[3].alignment = 0.1;
  INFO(CheckRecipe(recipe).ToString());
  REQUIRE(CheckRecipe(recipe).ok());

  recipe.tasks[3].wrong_share = 0;
  REQUIRE(absl::StrContains(Problems(recipe), "tasks.3.wrong_share is 0: wrong_tags has no pairs"));
  recipe.tasks[3].wrong_share = 0.25;
  recipe.tasks[3].nearest = 2;
  REQUIRE(absl::StrContains(Problems(recipe), "tasks.3.nearest is set, but matching does not"));
  recipe.tasks[3].nearest = 0;
  recipe.tasks[3].wrong_tags = 1;
  REQUIRE(
      absl::StrContains(Problems(recipe), "tasks.3.text_negatives is set, but with wrong_tags"));
  recipe.tasks[1].co_mask = true;
  recipe.tasks[1].masks_tags = true;
  recipe.tasks[0].wrong_tags = 1;
  recipe.tasks[0].alignment = 0.1;
  recipe.tasks[2].word_table = WordTable::kText;
  recipe.tasks[2].counts_relatives = true;
  recipe.tasks[2].masked_words = "left";
  recipe.tasks[3].masked_share = 0.3;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.1.co_mask is set, but msm does not"));
  REQUIRE(absl::StrContains(problems, "tasks.1.masks_tags is set, but msm does not"));
  REQUIRE(absl::StrContains(problems, "tasks.0.wrong_tags is set, but mlm does not"));
  REQUIRE(absl::StrContains(problems, "tasks.0.alignment is set, but mlm does not"));
  REQUIRE(absl::StrContains(problems, "tasks.2.word_table is set, but mrfr does not"));
  REQUIRE(absl::StrContains(problems, "tasks.2.counts_relatives is set, but mrfr does not"));
  REQUIRE(absl::StrContains(problems, "tasks.2.masked_words is set, but mrfr does not"));
  REQUIRE(absl::StrContains(problems, "tasks.3.masked_share is set, but matching does not"));

  recipe = Sound();
  recipe.tasks[0].other_tower = GlobalVector::kAdd;
  recipe.tasks[1].wrong_share = 0.3;
  REQUIRE(absl::StrContains(Problems(recipe), "tasks.0.other_tower is set, but hinge does not"));
  REQUIRE(absl::StrContains(Problems(recipe), "tasks.1.wrong_share is set, but pairwise does not"));
}

TEST_CASE("a recipe drops nothing or some, and has a rate") {
  Recipe recipe = Sound();
  recipe.dropout = -0.1;
  recipe.rate.peak = 0;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "dropout is -0.1, not 0 to 0.9"));
  REQUIRE(absl::StrContains(problems, "rate.peak is 0"));
  for (const double dropout : {-1.0, 0.0, 0.9}) {
    recipe = Sound();
    recipe.dropout = dropout;
    REQUIRE(CheckRecipe(recipe).ok());
  }
}

TEST_CASE("what an objective does not look at is told once") {
  Recipe recipe = Sound();
  recipe.tasks[0].objective = "cmr";
  recipe.tasks[0].reduction = BatchReduction::kSum;
  const std::string problems = Problems(recipe);
  const size_t told = problems.find("reduction");
  REQUIRE(told != std::string::npos);
  REQUIRE(problems.find("reduction", told + 1) == std::string::npos);
}

TEST_CASE("only a decay that ends at a share of the peak is told one") {
  Recipe recipe = Sound();
  recipe.rate = {1e-4, 10, DecayShape::kInverseRoot, 0.3};
  REQUIRE(absl::StrContains(Problems(recipe), "rate.final_share is 0.3, but only decays cosine"));
  recipe.rate.final_share = Recipe().rate.final_share;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.rate = {1e-4, 10, DecayShape::kLinear, 0.3};
  REQUIRE(CheckRecipe(recipe).ok());
}

TEST_CASE("a batch is of a number of pairs or of a number of rows, and of problems of a number") {
  Recipe recipe = Sound();
  recipe.tasks[0].batch_rows = 4096;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[0].batch = 12;
  recipe.tasks[1].batch_rows = 4096;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.0.batch is set, but batch_rows says"));
  REQUIRE(absl::StrContains(problems, "tasks.1.batch_rows is set, but pairwise does not"));
  recipe = Sound();
  recipe.accumulation = 0;
  REQUIRE(absl::StrContains(Problems(recipe), "accumulation is 0, not 1 to"));
}

TEST_CASE("an option that an objective does not look at is refused") {
  Recipe recipe = Sound();
  recipe.tasks[0].margin = 0.2;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[1].margin = 0.2;
  recipe.tasks[0].temperature = 0.5;
  REQUIRE(absl::StrContains(Problems(recipe),
                            "tasks.1.margin is set, but pairwise does not look at it"));
  REQUIRE(absl::StrContains(Problems(recipe),
                            "tasks.0.temperature is set, but hinge does not look at it"));
}

TEST_CASE("a batch in which nothing can be wrong is refused where its loss compares") {
  Recipe recipe = Sound();
  for (const char* objective : {"cmr", "contrastive", "hinge", "decomposed", "matrix_hinge"}) {
    recipe.tasks[0].objective = objective;
    recipe.tasks[0].batch = 1;
    REQUIRE(absl::StrContains(Problems(recipe), "tasks.0.batch is 1: "));
    recipe.tasks[0].batch = 2;
    REQUIRE(CheckRecipe(recipe).ok());
  }
  // Problems bring their wrong ones, and what is hidden needs none.
  recipe.tasks[1].batch = 1;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[1].objective = "mlm";
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[0].objective = "hinge";
  recipe.tasks[0].batch = 1;
  recipe.tasks[0].nearest = 2;
  REQUIRE(CheckRecipe(recipe).ok());
}

TEST_CASE("which of two sums a loss is may be said where the objective knows both") {
  Recipe recipe = Sound();
  recipe.tasks[0].objective = "matrix_hinge";
  recipe.tasks[0].wrong_pairs = WrongPairs::kAll;
  recipe.tasks[1].objective = "mrc_kl";
  recipe.tasks[1].classes = ClassReduction::kMean;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[1].objective = "distillation";
  recipe.tasks[1].teacher = "bundle";
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[0].classes = ClassReduction::kMean;
  recipe.tasks[0].reduction = BatchReduction::kSum;
  recipe.tasks[1].wrong_pairs = WrongPairs::kAll;
  const std::string problems = Problems(recipe);
  REQUIRE(
      absl::StrContains(problems, "tasks.0.classes is set, but matrix_hinge does not look at it"));
  REQUIRE(absl::StrContains(problems,
                            "tasks.1.wrong_pairs is set, but distillation does not look at it"));
  // Of those over a matrix the sum is all that there is.
  REQUIRE(absl::StrContains(problems,
                            "tasks.0.reduction is set, but matrix_hinge does not look at it"));
  recipe = Sound();
  recipe.tasks[0].reduction = BatchReduction::kSum;
  REQUIRE(CheckRecipe(recipe).ok());
}

TEST_CASE("what only other kinds of objectives look at is refused") {
  Recipe recipe = Sound();
  recipe.tasks[0].candidates = 3;
  recipe.tasks[1].counts_relatives = true;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.0.candidates is set, but hinge does not"));
  REQUIRE(absl::StrContains(problems, "tasks.1.counts_relatives is set, but pairwise does not"));
}

TEST_CASE("an objective's own limits are known before a run, and so is a batch that is too large") {
  Recipe recipe = Sound();
  recipe.tasks[0].objective = "decomposed";
  recipe.tasks[0].temperature = 1e-5;
  recipe.tasks[1].batch = 65536;
  recipe.tasks[1].candidates = 4096;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.0.objective: "));
  REQUIRE(absl::StrContains(problems, "temperature"));
  REQUIRE(absl::StrContains(problems, "batch times candidates is 268435456"));
}

TEST_CASE("what chooses wrong pairs must be able to") {
  Recipe recipe = Sound();
  TaskRecipe& task = recipe.tasks[1];
  task.mined_from = 399;
  task.candidates = 32;
  task.sides = WrongSides::kByProblem;
  REQUIRE(CheckRecipe(recipe).ok());
  task.mined_from = 31;
  task.sides = WrongSides::kInTurn;
  task.nearest = 40;
  recipe.tasks[0].mined_from = 5;
  recipe.tasks[0].nearest = 51;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.1.mined_from is 31, not more than the 31 wrong"));
  REQUIRE(absl::StrContains(problems, "tasks.1.mined_from compares wrong ones of one side"));
  REQUIRE(absl::StrContains(problems, "tasks.1.mined_from and nearest are two ways"));
  REQUIRE(absl::StrContains(problems, "tasks.1.nearest is 40, more than the 31 wrong candidates"));
  REQUIRE(absl::StrContains(problems, "tasks.0.mined_from is set, but hinge does not look at it"));
  REQUIRE(absl::StrContains(problems, "tasks.0.nearest is 51, more than mining.kept, 50"));
  recipe = Sound();
  recipe.tasks[1].batch = 65536;
  recipe.tasks[1].mined_from = 4096;
  REQUIRE(absl::StrContains(Problems(recipe), "batch times mined_from is 268435456"));
}

TEST_CASE("what is made wrong is looked at, and words are known by a WordNet") {
  Recipe recipe = Sound();
  recipe.tasks[0].made_wrong = MadeWrong::kBoth;
  REQUIRE(absl::StrContains(Problems(recipe), "wordnet is missing"));
  recipe.wordnet = "/usr/share/wordnet";
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[0].made_wrong = MadeWrong::kImages;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.wordnet.clear();
  REQUIRE(CheckRecipe(recipe).ok());
  recipe = Sound();
  recipe.wordnet = "/usr/share/wordnet";
  recipe.tasks[0].replaced_words = 0.3;
  recipe.tasks[1].made_wrong = MadeWrong::kTexts;
  std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.1.made_wrong is set, but pairwise does not"));
  REQUIRE(absl::StrContains(problems, "tasks.0.replaced_words or replaced_regions is set, but"));
  recipe.tasks[1].made_wrong = MadeWrong::kNone;
  REQUIRE(absl::StrContains(Problems(recipe), "wordnet is set, but no task has made_wrong"));
  recipe = Sound();
  recipe.wordnet = "/usr/share/wordnet";
  recipe.tasks[0].made_wrong = MadeWrong::kTexts;
  recipe.tasks[0].replaced_kinds = ReplacedKinds::kNouns;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[0].made_wrong = MadeWrong::kImages;
  REQUIRE(absl::StrContains(Problems(recipe),
                            "tasks.0.replaced_kinds is set, but made_wrong makes no texts"));
}

TEST_CASE("a scale that nothing learns is refused") {
  Recipe recipe = Sound();
  recipe.initial_temperature = 0.05;
  REQUIRE(absl::StrContains(Problems(recipe), "initial_temperature is set, but no task"));
  recipe.tasks[0].objective = "contrastive";
  REQUIRE(CheckRecipe(recipe).ok());
}

TEST_CASE("mining is of use to a task, and a retriever is asked once") {
  Recipe recipe = Sound();
  recipe.mining.every = 100;
  recipe.retriever = "bundle";
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "mining is set, but no task has nearest"));
  REQUIRE(absl::StrContains(problems, "retriever is set, but no task has nearest"));
  REQUIRE(absl::StrContains(problems, "mining.every is set, but a retriever does not change"));
  recipe.tasks[0].nearest = 2;
  recipe.retriever.clear();
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.retriever = "bundle";
  recipe.mining.every = 0;
  REQUIRE(CheckRecipe(recipe).ok());
}

TEST_CASE("distillation has a teacher, and nothing else has one") {
  Recipe recipe = Sound();
  recipe.tasks[0].objective = "distillation";
  REQUIRE(absl::StrContains(Problems(recipe), "tasks.0.teacher is missing"));
  recipe.tasks[0].teacher = "bundle";
  recipe.tasks[0].student = Student::kTowers;
  recipe.tasks[0].candidates = 4;
  REQUIRE(CheckRecipe(recipe).ok());
  recipe.tasks[1].teacher = "bundle";
  recipe.tasks[1].student = Student::kTowers;
  const std::string problems = Problems(recipe);
  REQUIRE(absl::StrContains(problems, "tasks.1.teacher is set, but pairwise does not look at it"));
  REQUIRE(absl::StrContains(problems, "tasks.1.student is set, but pairwise does not look at it"));
}

TEST_CASE("tasks of one objective are told apart in reports, whichever had steps") {
  Recipe recipe;
  recipe.tasks.resize(4);
  for (TaskRecipe& task : recipe.tasks) task.objective = "listwise";
  recipe.tasks[1].corpus = 2;
  std::vector<std::string> names;
  for (size_t i = 0; i < recipe.tasks.size(); ++i) names.push_back(TaskName(recipe, i));
  REQUIRE(names == std::vector<std::string>{"listwise", "listwise of corpus 2", "listwise (2)",
                                            "listwise (3)"});
}

TEST_CASE("a description tells every number, and differs where a recipe does") {
  const std::string text = DescribeRecipe(Sound());
  REQUIRE(absl::StrContains(text, "seed=1\n"));
  REQUIRE(absl::StrContains(text, "tasks.1.objective=pairwise\n"));
  REQUIRE(absl::StrContains(text, "tasks.0.batch=96\n"));
  REQUIRE(absl::StrContains(text, "adamw.weight_decay="));
  Recipe other = Sound();
  other.tasks[1].text_negatives = 0.25;
  REQUIRE(DescribeRecipe(other) != text);
  for (const auto& change : std::vector<void (*)(Recipe*)>{
           [](Recipe* r) { r->tasks[1].mined_from = 9; },
           [](Recipe* r) { r->tasks[1].nearest = 1; },
           [](Recipe* r) { r->tasks[0].wrong_pairs = WrongPairs::kAll; },
           [](Recipe* r) { r->tasks[0].classes = ClassReduction::kMean; },
           [](Recipe* r) { r->tasks[0].replaced_kinds = ReplacedKinds::kNouns; },
           [](Recipe* r) { r->tasks[0].masked_words = "left"; },
           [](Recipe* r) { r->tasks[0].corpus = 2; },
           [](Recipe* r) { r->tasks[1].student = Student::kTowers; },
           [](Recipe* r) { r->mining.every = 9; }, [](Recipe* r) { r->mining.kept = 9; }}) {
    other = Sound();
    change(&other);
    REQUIRE(DescribeRecipe(other) != text);
  }
  other = Sound();
  other.accumulation = 2;
  REQUIRE(DescribeRecipe(other) != text);
  other = Sound();
  other.tasks[0].batch_rows = 4096;
  REQUIRE(DescribeRecipe(other) != text);
  other = Sound();
  other.seed = 2;
  REQUIRE(DescribeRecipe(other) != text);
}

}  // namespace
}  // namespace sightline
