#include "services/trainer/learn_config.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/training/recipe.h"
#include "common/training/training_options.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kPlaces[] = "start: model\nout: o\nstore: s\ncorpora: [\"regions:r\"]\n";

absl::StatusOr<LearnConfig> Read(const std::string& yaml, const LearnOverrides& overrides = {}) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(yaml, "recipe.yaml");
  REQUIRE(file.ok());
  return ReadLearnConfig(&*file, overrides);
}

std::string Problems(const std::string& yaml) {
  const absl::Status status = Read(yaml).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("a recipe is what its file says, and the command line before it") {
  const std::string yaml = std::string(kPlaces) + R"(
development: ["npz:dev"]
languages: [en, de]
captions_per_picture: 5
longest_caption: 60
seed: 3
order: in_turn
steps: 700
tasks:
  - objective: hinge
    margin: 0.2
    reduction: sum
    batch: 12
    unit: pictures
  - {objective: pairwise, candidates: 3, sides: in_turn, share: 2}
  - {objective: mlm, batch_rows: 4096, other_tower: add, word_table: text, co_mask: true,
     masked_words: left right}
  - {objective: mrfr, masked_share: 0.3, other_tower: multiply}
  - {objective: matching, wrong_share: 0.25, text_negatives: 0, wrong_tags: 0.5,
     alignment: 0.2}
  - {objective: mlm, masks_tags: true}
accumulation: 6
rate: {peak: 1.0e-4, warmup_steps: 7, decay: linear}
adamw: {beta2: 0.999, decays: by_name}
precision: bfloat16
nccl: false
)";
  const auto config = Read(yaml);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  REQUIRE(config->start == "model");
  REQUIRE(config->corpora.size() == 1);
  REQUIRE(config->corpora[0].kind == CorpusKind::kRegions);
  REQUIRE(config->corpora[0].root == "r");
  REQUIRE(config->development[0].kind == CorpusKind::kNpz);
  REQUIRE(config->development[0].languages == std::vector<std::string>{"en", "de"});
  REQUIRE(config->captions_per_picture == 5);
  REQUIRE(config->longest_caption == 60);
  REQUIRE_FALSE(config->nccl);
  const Recipe& recipe = config->recipe;
  REQUIRE(recipe.seed == 3);
  REQUIRE(recipe.order == TaskOrder::kInTurn);
  REQUIRE(recipe.steps == 700);
  REQUIRE(recipe.tasks.size() == 6);
  REQUIRE(recipe.tasks[0].margin == 0.2);
  REQUIRE(recipe.tasks[0].reduction == BatchReduction::kSum);
  REQUIRE(recipe.tasks[0].batch == 12);
  REQUIRE(recipe.tasks[0].unit == EpochUnit::kPictures);
  REQUIRE(recipe.tasks[1].objective == "pairwise");
  REQUIRE(recipe.tasks[1].candidates == 3);
  REQUIRE(recipe.tasks[1].sides == WrongSides::kInTurn);
  REQUIRE(recipe.tasks[1].share == 2);
  REQUIRE(recipe.tasks[2].batch_rows == 4096);
  REQUIRE(recipe.tasks[2].other_tower == GlobalVector::kAdd);
  REQUIRE(recipe.tasks[2].word_table == WordTable::kText);
  REQUIRE(recipe.tasks[2].co_mask);
  REQUIRE(recipe.tasks[2].masked_words == "left right");
  REQUIRE(recipe.tasks[3].masked_share == 0.3);
  REQUIRE(recipe.tasks[3].other_tower == GlobalVector::kMultiply);
  REQUIRE(recipe.tasks[4].wrong_share == 0.25);
  REQUIRE(recipe.tasks[4].wrong_tags == 0.5);
  REQUIRE(recipe.tasks[4].alignment == 0.2);
  REQUIRE(!recipe.tasks[2].masks_tags);
  REQUIRE(recipe.tasks[5].masks_tags);
  REQUIRE(recipe.accumulation == 6);
  REQUIRE(recipe.rate.warmup_steps == 7);
  REQUIRE(recipe.adamw.decays == DecayRule::kByName);
  REQUIRE(recipe.precision == Precision::kBfloat16);

  LearnOverrides overrides;
  overrides.start = "other";
  overrides.corpora = {"npz:a", "npz:b"};
  overrides.seed = 9;
  overrides.steps = 11;
  overrides.threads = 2;
  overrides.device = "cpu";
  const auto overridden = Read(yaml, overrides);
  REQUIRE(overridden.ok());
  REQUIRE(overridden->start == "other");
  REQUIRE(overridden->corpora.size() == 2);
  REQUIRE(overridden->recipe.seed == 9);
  REQUIRE(overridden->recipe.steps == 11);
  REQUIRE(overridden->threads == 2);
  REQUIRE(overridden->device == "cpu");
}

TEST_CASE("what wrong pairs are chosen by, and teachers, are what the file says") {
  const auto config = Read(std::string(kPlaces) + R"(
retriever: towers
mining: {kept: 7}
tasks:
  - {objective: sigmoid_hinge, candidates: 32, mined_from: 399, sides: by_problem}
  - {objective: pairwise, candidates: 9, nearest: 6}
  - {objective: distillation, teacher: folder, student: towers, candidates: 4}
)");
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  const Recipe& recipe = config->recipe;
  REQUIRE(recipe.retriever == "towers");
  REQUIRE(recipe.mining.kept == 7);
  REQUIRE(recipe.mining.every == 0);
  REQUIRE(recipe.tasks[0].mined_from == 399);
  REQUIRE(recipe.tasks[0].sides == WrongSides::kByProblem);
  REQUIRE(recipe.tasks[1].nearest == 6);
  REQUIRE(recipe.tasks[1].teacher.empty());
  REQUIRE(recipe.tasks[2].teacher == "folder");
  REQUIRE(recipe.tasks[2].student == Student::kTowers);
  REQUIRE(absl::StrContains(Problems(std::string(kPlaces) + "tasks: [{objective: distillation}]"),
                            "tasks.0.teacher is missing"));
}

TEST_CASE("a task is of all corpora, or of one that is there") {
  const std::string tasks = R"(
corpora: ["regions:a", "regions:b"]
tasks:
  - {objective: cmr}
  - {objective: mlm, corpus: 2}
)";
  const std::string places = "start: model\nout: o\nstore: s\n";
  const auto config = Read(places + tasks);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  REQUIRE(config->recipe.tasks[0].corpus == 0);
  REQUIRE(config->recipe.tasks[1].corpus == 2);
  REQUIRE(TaskName(config->recipe, 1) == "mlm of corpus 2");
  REQUIRE(absl::StrContains(Problems(places + tasks + "  - {objective: cmr, corpus: 3}\n"),
                            "tasks.2.corpus: is 3, and there are 2 corpora"));
}

TEST_CASE("every problem of a recipe is told at once") {
  const std::string problems = Problems(R"(
start: model
corpora: ["stamp:x"]
stepps: 7
tasks:
  - objective: crm
)");
  REQUIRE(absl::StrContains(problems, "out: is required"));
  REQUIRE(absl::StrContains(problems, "store: is required"));
  REQUIRE(absl::StrContains(problems, "stamp"));
  REQUIRE(absl::StrContains(problems, "stepps: unknown key; did you mean steps?"));
  REQUIRE(absl::StrContains(problems, "tasks.0.objective: "));
  REQUIRE(absl::StrContains(Problems(kPlaces), "tasks"));
}

TEST_CASE("what a flag has wrong is told of the flag, not of the file") {
  LearnOverrides overrides;
  overrides.corpora = {"made.regions", "npz:a"};
  overrides.development = {"karpathy:f,split=test"};
  const absl::Status status =
      Read("start: s\nout: o\nstore: s\ntasks: [{objective: cmr}]\n", overrides).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StartsWith(status.message(),
                           "--corpus made.regions: unknown corpus kind \"made.regions\""));
  REQUIRE(absl::StrContains(status.message(), "behind its kind, as regions:made.regions\n"));
  REQUIRE(absl::StrContains(status.message(), "\n--development karpathy:f,split=test: "));
  REQUIRE_FALSE(absl::StrContains(status.message(), "recipe.yaml"));
}

// One of services/trainer/recipes.
LearnConfig PaperConfig(const std::string& name) {
  INFO(name);
  auto file = ConfigFile::Load("services/trainer/recipes/" + name);
  REQUIRE(file.ok());
  LearnOverrides overrides;
  overrides.start = overrides.out = overrides.store = "x";
  overrides.corpora = {"regions:a", "regions:b", "regions:c", "regions:d"};
  const auto config = ReadLearnConfig(&*file, overrides);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  return *config;
}

Recipe PaperRecipe(const std::string& name) {
  return PaperConfig(name).recipe;
}

// What a paper, or where it is silent its released code, says of a run.
struct PaperNumbers {
  std::string recipe;
  std::string objectives;  // with shares where there are several
  int64_t steps, warmup_steps;
  double peak;
  double beta2, epsilon, weight_decay, clip_norm;
  int64_t batch, batch_rows, accumulation;
};

const PaperNumbers kPaperNumbers[] = {
    {"lightningdot.yaml", "cmr", 22656, 2266, 1e-5, 0.98, 1e-6, 0.01, 2, 96, 0, 1},
    {"lightningdot_pretrain.yaml",
     "cmr 16, mlm 8, mrfr 4, mrc_kl 4, cmr 16, mlm 12, mrfr 6, mrc_kl 6, "
     "cmr 16, mlm 12, mrfr 6, mrc_kl 6, cmr 16, mlm 8, mrfr 4, mrc_kl 4",
     300'000, 10'000, 5e-5, 0.98, 1e-6, 0.01, 5, 96, 10'240, 48},
    {"m3p.yaml", "pairwise", 100'000, 4000, 5e-5, 0.98, 1e-8, 0, 5, 24, 0, 4},
    {"oscar.yaml", "pairwise", 132'758, 0, 2e-5, 0.999, 1e-8, 0.05, 1, 128, 0, 1},
    {"oscar_pretrain.yaml", "mlm 1, matching 1", 2'000'000, 0, 5e-5, 0.999, 1e-8, 0.05, 10, 768, 0,
     1},
    {"retrieve_fast_bi.yaml", "hinge", 30'000, 0, 5e-5, 0.999, 1e-6, 0.05, 1, 128, 0, 1},
    {"retrieve_fast_cross.yaml", "pairwise", 100'000, 0, 2e-5, 0.999, 1e-6, 0.05, 1, 128, 0, 1},
    {"retrieve_fast_joint.yaml", "hinge 1, pairwise 1", 60'000, 0, 2e-5, 0.999, 1e-6, 0.05, 1, 128,
     0, 1},
    {"scene_text_pretrain.yaml", "msm 1, cmr 2, mlm 1, mrfr 0.5, mrc_kl 0.5", 300'000, 10'000, 5e-5,
     0.98, 1e-6, 0.01, 5, 96, 4096, 6},
    {"sgraf.yaml", "matrix_hinge", 45'320, 0, 2e-4, 0.999, 1e-8, 0, 2, 128, 0, 1},
    {"uniter.yaml", "sigmoid_hinge", 20'000, 2000, 5e-5, 0.98, 1e-6, 0.01, 2, 1280, 0, 1},
    {"uniter_hard.yaml", "sigmoid_hinge", 5000, 500, 5e-5, 0.98, 1e-6, 0.01, 2, 128, 0, 1},
    {"uniter_pretrain.yaml", "matching 16, mlm 8, mrfr 4, mrc_kl 4", 200'000, 10'000, 5e-5, 0.98,
     1e-6, 0.01, 5, 96, 10'240, 48},
    {"vldeformer.yaml", "decomposed", 22'126, 200, 5e-5, 0.999, 1e-8, 1e-4, 1, 1024, 0, 1},
};

TEST_CASE("every recipe of the folder has its paper's numbers") {
  std::vector<std::string> known;
  for (const PaperNumbers& paper : kPaperNumbers) {
    const Recipe recipe = PaperRecipe(paper.recipe);
    INFO(paper.recipe);
    known.push_back(paper.recipe);
    std::vector<std::string> objectives;
    for (const TaskRecipe& task : recipe.tasks) {
      objectives.push_back(recipe.tasks.size() == 1
                               ? task.objective
                               : absl::StrCat(task.objective, " ", task.share));
      REQUIRE(task.batch_rows == paper.batch_rows);
      if (paper.batch_rows == 0) REQUIRE(task.batch == paper.batch);
    }
    REQUIRE(absl::StrJoin(objectives, ", ") == paper.objectives);
    REQUIRE(recipe.steps == paper.steps);
    REQUIRE(recipe.accumulation == paper.accumulation);
    REQUIRE(recipe.rate.peak == paper.peak);
    REQUIRE(recipe.rate.warmup_steps == paper.warmup_steps);
    REQUIRE(recipe.rate.final_share == 0);
    REQUIRE(recipe.rate.decay == (paper.recipe == "sgraf.yaml"        ? DecayShape::kStep
                                  : paper.recipe == "m3p.yaml"        ? DecayShape::kInverseRoot
                                  : paper.recipe == "vldeformer.yaml" ? DecayShape::kCosine
                                                                      : DecayShape::kLinear));
    REQUIRE(recipe.adamw.beta1 == 0.9);
    REQUIRE(recipe.adamw.beta2 == paper.beta2);
    REQUIRE(recipe.adamw.epsilon == paper.epsilon);
    REQUIRE(recipe.adamw.weight_decay == paper.weight_decay);
    if (paper.weight_decay > 0) REQUIRE(recipe.adamw.decays == DecayRule::kByName);
    REQUIRE(recipe.adamw.clip_norm == paper.clip_norm);
    const bool sgraf = paper.recipe == "sgraf.yaml";
    REQUIRE(recipe.dropout == (sgraf ? -1 : 0.1));
  }
  auto names = ListDirectory("services/trainer/recipes");
  REQUIRE(names.ok());
  std::sort(names->begin(), names->end());
  REQUIRE(*names == known);
}

TEST_CASE("of wrong pairs a recipe has as many, and on the sides, that its paper has") {
  for (const char* name : {"oscar.yaml", "retrieve_fast_cross.yaml", "retrieve_fast_joint.yaml"}) {
    const TaskRecipe pairs = PaperRecipe(name).tasks.back();
    REQUIRE(pairs.candidates == 2);
    REQUIRE(pairs.sides == WrongSides::kOne);
    REQUIRE(pairs.text_negatives == 0.5);
  }
  const TaskRecipe plain = PaperRecipe("uniter.yaml").tasks[0];
  REQUIRE(plain.margin == 0.2);
  REQUIRE(plain.candidates == 3);
  REQUIRE(plain.sides == WrongSides::kInTurn);
  const TaskRecipe hard = PaperRecipe("uniter_hard.yaml").tasks[0];
  REQUIRE(hard.margin == 0.2);
  REQUIRE(hard.mined_from == 399);
  REQUIRE(hard.candidates == 32);
  REQUIRE(hard.sides == WrongSides::kByProblem);
  const TaskRecipe m3p = PaperRecipe("m3p.yaml").tasks[0];
  REQUIRE(m3p.candidates == 4);
  REQUIRE(m3p.sides == WrongSides::kByProblem);
  const TaskRecipe matching = PaperRecipe("uniter_pretrain.yaml").tasks[0];
  REQUIRE(matching.wrong_share == 0.5);
  REQUIRE(matching.text_negatives == 0);
  REQUIRE(matching.alignment == 0.1);
}

// The names of what it is shown.
class Names : public OptionVisitor {
 public:
  void Number(const std::string& name, double*, double, double) override { all.push_back(name); }
  void Count(const std::string& name, int64_t*, int64_t, int64_t) override { all.push_back(name); }
  void Flag(const std::string& name, bool*) override { all.push_back(name); }
  void Choice(const std::string& name, const std::vector<std::string>&, size_t*) override {
    all.push_back(name);
  }

  std::vector<std::string> all = {"objective", "teacher", "masked_words"};
};

TEST_CASE("the README tells every key of a task") {
  const auto readme = ReadFile("services/trainer/README.md");
  REQUIRE(readme.ok());
  const size_t begin = readme->find("### A task");
  REQUIRE(begin != std::string::npos);
  const std::string section = readme->substr(begin, readme->find("\n### ", begin + 1) - begin);
  Names names;
  TaskRecipe task;
  VisitTask("", &task, &names);
  REQUIRE(names.all.size() > 25);
  for (const std::string& name : names.all) {
    INFO(name);
    REQUIRE(absl::StrContains(section, absl::StrCat("`", name, "`")));
  }
}

TEST_CASE("a device is named as LibTorch does, here or as a flag") {
  for (const char* name : {"auto", "cpu", "cuda", "cuda:0", "cuda:12"}) {
    REQUIRE(Read(std::string(kPlaces) + "tasks: [{objective: cmr}]\ndevice: " + name)->device ==
            name);
  }
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"}) {
    const auto config =
        Read(std::string(kPlaces) + "tasks: [{objective: cmr}]\ndevice: '" + name + "'\n");
    INFO(name << ": " << config.status());
    REQUIRE(absl::StrContains(config.status().message(), "is none of auto, cpu, cuda and cuda:N"));
  }
}

TEST_CASE("tags are words to OSCAR, and what it makes pairs wrong by") {
  const Recipe oscar = PaperRecipe("oscar_pretrain.yaml");
  REQUIRE(oscar.tasks[0].masks_tags);
  REQUIRE(oscar.tasks[0].masked_share == 0.15);
  REQUIRE(oscar.tasks[1].wrong_share == 0.5);
  REQUIRE(oscar.tasks[1].wrong_tags == 1);
}

TEST_CASE("long captions are left out of what those learn from whose papers do so") {
  for (const PaperNumbers& paper : kPaperNumbers) {
    INFO(paper.recipe);
    const bool leaves_out = absl::StartsWith(paper.recipe, "lightningdot") ||
                            absl::StartsWith(paper.recipe, "uniter") ||
                            paper.recipe == "scene_text_pretrain.yaml";
    REQUIRE(PaperConfig(paper.recipe).longest_caption == (leaves_out ? 60 : 0));
  }
}

TEST_CASE("over a batch a recipe's losses are its paper's") {
  for (const char* name : {"retrieve_fast_bi.yaml", "retrieve_fast_joint.yaml"}) {
    REQUIRE(PaperRecipe(name).tasks[0].margin == 0.1);
    REQUIRE(PaperRecipe(name).tasks[0].reduction == BatchReduction::kMean);
    REQUIRE(!PaperRecipe(name).tasks[0].counts_relatives);
  }
  REQUIRE(PaperRecipe("retrieve_fast_joint.yaml").order == TaskOrder::kInTurn);
  REQUIRE(PaperRecipe("lightningdot.yaml").tasks[0].counts_relatives);
  const Recipe sgraf = PaperRecipe("sgraf.yaml");
  REQUIRE(sgraf.rate.drop_every == 33'990);
  REQUIRE(sgraf.rate.drop_factor == 0.1);
  REQUIRE(sgraf.tasks[0].margin == 0.2);
  REQUIRE(sgraf.tasks[0].wrong_pairs == WrongPairs::kHardest);
  REQUIRE(sgraf.tasks[0].counts_relatives);
  const TaskRecipe decomposed = PaperRecipe("vldeformer.yaml").tasks[0];
  REQUIRE(decomposed.temperature == 0.005);
  REQUIRE(decomposed.unit == EpochUnit::kPictures);
  REQUIRE(decomposed.counts_relatives);
  REQUIRE(decomposed.made_wrong == MadeWrong::kBoth);
  REQUIRE(decomposed.replaced_kinds == ReplacedKinds::kAll);
  REQUIRE(decomposed.replaced_words == 0.5);
  REQUIRE(decomposed.replaced_regions == 0.5);
}

TEST_CASE("what is hidden is told by the other tower, of each corpus by its own shares") {
  for (const char* name : {"lightningdot_pretrain.yaml", "scene_text_pretrain.yaml"}) {
    const bool scene_text = std::string(name) == "scene_text_pretrain.yaml";
    int64_t place = 0;
    for (const TaskRecipe& task : PaperRecipe(name).tasks) {
      INFO(name << " " << place);
      const bool retrieval = task.objective == "cmr";
      REQUIRE(task.counts_relatives == retrieval);
      REQUIRE(task.other_tower == (retrieval ? GlobalVector::kNone : GlobalVector::kAdd));
      REQUIRE(task.word_table == WordTable::kImage);
      REQUIRE(task.classes == ClassReduction::kSum);
      REQUIRE(task.masked_share == 0.15);
      REQUIRE(task.co_mask == (scene_text && task.objective == "mlm"));
      REQUIRE(task.corpus == (scene_text ? 0 : 1 + place / 4));
      ++place;
    }
  }
}

}  // namespace
}  // namespace sightline
