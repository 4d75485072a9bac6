#include "common/training/recipe_trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/model.h"
#include "common/models/network/autocast.h"
#include "common/models/network/weights.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("every family's loss falls by its paper's objective, and the bundle is served") {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"oscar", "pairwise"},        {"oscar", "hinge"},        {"uniter", "sigmoid_hinge"},
      {"lightningdot", "cmr"},      {"oscar", "contrastive"},  {"m3p", "pairwise"},
      {"vldeformer", "decomposed"}, {"sgraf", "matrix_hinge"}, {"oscar", "matrix_hinge"},
      {"sgraf", "pairwise"},
  };
  for (const auto& [family, objective] : ways) {
    INFO(family << " by " << objective);
    RecipeFixture of(family, {TaskOf(objective)});
    const RecipeResult result = of.MustRun();
    REQUIRE(of.notes.steps.size() == 6);
    REQUIRE(of.notes.steps.back().tasks[0].loss < of.notes.steps.front().tasks[0].loss);
    REQUIRE(of.notes.steps.back().step == 24);
    REQUIRE((of.notes.steps.back().temperature > 0) == (objective == "contrastive"));
    REQUIRE(result.bundle.id != of.start.id);
    REQUIRE(LoadModel(result.bundle, {}).ok());
  }
}

// A disk that fails at times.
class FailingCorpus : public MadeUpCorpus {
 public:
  FailingCorpus(int region_feature_size, const bool* fails)
      : MadeUpCorpus(region_feature_size), fails_(*fails) {}

  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t most) const override {
    if (fails_ && item.item_id == "p15") return absl::UnavailableError("Input/output error");
    return MadeUpCorpus::ReadRegions(item, most);
  }

 private:
  const bool& fails_;
};

absl::StatusOr<std::unique_ptr<PairCorpus>> CorpusOf(const TinyFamily& family, const bool* fails,
                                                     const std::string& first_caption) {
  const int width = TinyImage(family, 0).regions.feature_size;
  auto corpus = std::make_unique<FailingCorpus>(width, fails);
  for (int i = 0; i < 20; ++i) {
    const std::string& caption =
        i < 12 && !first_caption.empty() ? first_caption : TinyWords()[i % TinyWords().size()];
    corpus->Add(MadeUpItem("p" + std::to_string(10 + i), {caption}), TinyImage(family, i).regions);
  }
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  return PairCorpus::Open(std::move(corpora), {});
}

TEST_CASE("captions that the network cannot read are counted, and the first ones named") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  const bool fails = false;
  // It is to be seen, and BERT's tokenizers drop it.
  const auto pairs = CorpusOf(of.family, &fails, "\ufffd");
  REQUIRE(pairs.ok());
  of.job.learnt = pairs->get();
  const absl::Status refused = of.Run().status();
  REQUIRE(refused.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(refused.message(), "cannot read 12 of 20 captions; leave them out"));
  REQUIRE(absl::StrContains(refused.message(), "\"\ufffd\" of p19: "));
  REQUIRE_FALSE(absl::StrContains(refused.message(), "of p20: "));
}

TEST_CASE("what cannot be read just now is no fault of the picture, and makes no other corpus") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  bool fails = true;
  REQUIRE(absl::IsUnavailable(CorpusOf(of.family, &fails, "").status()));
  fails = false;
  const auto pairs = CorpusOf(of.family, &fails, "");
  REQUIRE(pairs.ok());
  of.job.learnt = pairs->get();
  fails = true;
  REQUIRE(absl::IsUnavailable(of.Run().status()));
  fails = false;
  REQUIRE(of.Run().ok());
}

TEST_CASE("rows into which no two pairs fit are refused, where a batch's pairs are compared") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  TaskRecipe& task = of.job.recipe.tasks[0];
  task.batch = TaskRecipe().batch;
  task.batch_rows = 1;
  REQUIRE(absl::StrContains(of.Run().status().message(), "batch_rows is 1, into which no two"));
  task.batch_rows = 4096;
  REQUIRE(of.Run().ok());
}

TEST_CASE("a run that was stopped ends in the same weights as one that was not") {
  for (const std::string family : {"oscar", "sgraf"}) {
    INFO(family);
    std::vector<TaskRecipe> tasks = {TaskOf("matrix_hinge", 5)};
    if (family == "oscar") tasks = {TaskOf("hinge"), TaskOf("pairwise", 4)};
    RecipeFixture whole(family, tasks);
    whole.job.recipe.dropout = 0.1;
    whole.job.checkpoint_directory = whole.checkpoints.path();
    const std::string expected = whole.WeightsOf(whole.MustRun());

    RecipeFixture stopped(family, tasks);
    stopped.job.recipe.dropout = 0.1;
    stopped.job.checkpoint_directory = stopped.checkpoints.path();
    stopped.job.report_every = 1;
    for (const int64_t stop : {1, 9, 16}) {
      const CallContext call = CallContext::Unbounded();
      RecipeNotes notes;
      notes.on_step = [&](const RecipeStepReport& report) {
        if (report.step == stop) call.cancellation()->Cancel();
      };
      const auto result = TrainByRecipe(stopped.job, &notes, call);
      REQUIRE(result.status().code() == absl::StatusCode::kCancelled);
      REQUIRE(notes.checkpoints == std::vector<int64_t>{stop});
    }
    REQUIRE(stopped.WeightsOf(stopped.MustRun()) == expected);
    // To the bit: weights, moments, running statistics and the best weights, in float32.
    constexpr char kLast[] = "checkpoint-000000024.safetensors";
    REQUIRE(*ReadFile(stopped.checkpoints.File(kLast)) == *ReadFile(whole.checkpoints.File(kLast)));
    // Also the look that it was stopped at.
    REQUIRE(stopped.notes.looks.size() == 2);
    REQUIRE(stopped.notes.looks[0].step == 16);
    REQUIRE(stopped.notes.notes == std::vector<std::string>{"continues behind step 16 of 24"});
    // And one that had ended is only written again.
    REQUIRE(stopped.WeightsOf(stopped.MustRun()) == expected);
    REQUIRE(stopped.notes.steps.empty());
  }
}

// A bundle of another family that reads the same pictures.
ModelBundle OtherBundle(const RecipeFixture& of, const std::string& family) {
  return MakeTinyBundle(of.store.path(), FamilyNamed(family), /*seed=*/5);
}

// Ways to choose wrong pairs by what a network makes of them, and a teacher.
struct Chosen {
  std::string what;
  std::string family, other;  // what learns; its teacher or retriever, if it has one
  TaskRecipe task;
  int64_t every = 0;
};

std::vector<Chosen> WaysToChoose() {
  std::vector<Chosen> ways(6);
  ways[0] = {"hardest of many", "uniter", "", TaskOf("sigmoid_hinge", 4)};
  ways[0].task.mined_from = 12;
  ways[0].task.candidates = 4;
  ways[0].task.sides = WrongSides::kByProblem;
  ways[1] = {"nearest beside a batch", "lightningdot", "", TaskOf("cmr"), /*every=*/8};
  ways[1].task.nearest = 2;
  ways[2] = {"nearest candidates", "oscar", "", TaskOf("pairwise", 4), /*every=*/8};
  ways[2].task.nearest = 2;
  ways[2].task.candidates = 4;
  ways[3] = {"what another retrieves", "uniter", "lightningdot", TaskOf("sigmoid_hinge", 4)};
  ways[3].task.nearest = 1;
  ways[4] = {"a cross-encoder's teacher", "uniter", "oscar", TaskOf("distillation", 6)};
  ways[4].task.candidates = 4;
  ways[4].task.teacher = "teacher";
  ways[5] = {"towers' teacher", "lightningdot", "uniter", TaskOf("distillation", 6)};
  ways[5].task.candidates = 4;
  ways[5].task.teacher = "teacher";
  ways[5].task.student = Student::kTowers;
  return ways;
}

// A job that does so, and what it needs.
struct ChosenFixture : RecipeFixture {
  explicit ChosenFixture(const Chosen& way) : RecipeFixture(way.family, {way.task}) {
    job.recipe.mining.every = way.every;
    job.recipe.dropout = 0.1;
    if (way.other.empty()) return;
    other = OtherBundle(*this, way.other);
    job.others["teacher"] = &other;
    if (way.task.teacher.empty()) job.recipe.retriever = "teacher";
  }
  ModelBundle other;
};

TEST_CASE("a loss falls whatever chooses wrong pairs, and by a teacher") {
  for (const Chosen& way : WaysToChoose()) {
    INFO(way.what);
    ChosenFixture of(way);
    of.job.recipe.steps = 96;
    of.job.recipe.dropout = 0;
    const RecipeResult result = of.MustRun();
    REQUIRE(of.notes.steps.back().tasks[0].loss < of.notes.steps.front().tasks[0].loss);
    REQUIRE(result.development.findings.size() == 1);
    REQUIRE((result.development.findings[0].way == DevelopmentWay::kTowers) ==
            (way.family == "lightningdot"));
  }
}

TEST_CASE("a run that was stopped has the wrong pairs and the teacher of one that was not") {
  for (const Chosen& way : WaysToChoose()) {
    INFO(way.what);
    ChosenFixture whole(way);
    whole.job.checkpoint_directory = whole.checkpoints.path();
    whole.MustRun();
    ChosenFixture stopped(way);
    stopped.job.checkpoint_directory = stopped.checkpoints.path();
    stopped.job.report_every = 1;
    // In between, and where what is nearest is due to be mined anew.
    for (const int64_t stop : {11, 16}) {
      const CallContext call = CallContext::Unbounded();
      RecipeNotes notes;
      notes.on_step = [&](const RecipeStepReport& report) {
        if (report.step == stop) call.cancellation()->Cancel();
      };
      REQUIRE(TrainByRecipe(stopped.job, &notes, call).status().code() ==
              absl::StatusCode::kCancelled);
    }
    stopped.MustRun();
    constexpr char kLast[] = "checkpoint-000000024.safetensors";
    REQUIRE(*ReadFile(stopped.checkpoints.File(kLast)) == *ReadFile(whole.checkpoints.File(kLast)));
  }
}

TEST_CASE("which of two sums a loss is, the recipe says") {
  const auto first_loss = [](const Chosen& way) {
    ChosenFixture of(way);
    of.job.recipe.steps = 1;
    of.job.recipe.dropout = 0;
    of.job.development = nullptr;
    of.MustRun();
    return of.notes.steps[0].tasks[0].loss;
  };
  Chosen taught = WaysToChoose()[4];
  const double sum = first_loss(taught);
  taught.task.classes = ClassReduction::kMean;
  // Of four candidates.
  REQUIRE(first_loss(taught) == Approx(sum / 4).epsilon(1e-4));

  Chosen matrix = {"a matrix", "sgraf", "", TaskOf("matrix_hinge", 5)};
  const double hardest = first_loss(matrix);
  matrix.task.wrong_pairs = WrongPairs::kAll;
  REQUIRE(first_loss(matrix) > 1.5 * hardest);
}

TEST_CASE("what is mined anew is what is learnt from") {
  const Chosen way = WaysToChoose()[1];
  ChosenFixture anew(way), once(way), never(way);
  once.job.recipe.mining.every = 0;
  never.job.recipe.mining.every = 0;
  never.job.recipe.tasks[0].nearest = 0;
  anew.MustRun();
  once.MustRun();
  never.MustRun();
  const auto loss = [](const RecipeFixture& of, size_t report) {
    return of.notes.steps[report].tasks[0].loss;
  };
  // The first eight steps have the same pictures, and more wrong ones make a larger loss.
  REQUIRE(loss(anew, 1) == loss(once, 1));
  REQUIRE(loss(anew, 2) != loss(once, 2));
  REQUIRE(loss(once, 0) > loss(never, 0));
}

TEST_CASE("a student that is its teacher has nothing to learn") {
  for (const std::string family : {"uniter", "oscar"}) {
    INFO(family);
    Chosen way = WaysToChoose()[4];
    way.family = family;
    way.other.clear();
    ChosenFixture of(way);
    of.job.others["teacher"] = &of.start;
    of.job.recipe.dropout = 0;
    of.job.recipe.rate.peak = 1e-9;
    of.job.recipe.steps = 2;
    of.MustRun();
    REQUIRE(std::abs(of.notes.steps[0].tasks[0].loss) < 1e-5);
  }
}

TEST_CASE("a student comes to rank as its teacher does") {
  ChosenFixture of(WaysToChoose()[4]);
  of.job.recipe.steps = 200;
  of.job.recipe.develop_every = 0;
  of.job.development = nullptr;
  of.job.report_every = 40;
  of.MustRun();
  // One in four by guessing.
  REQUIRE(of.notes.steps.back().tasks[0].first > 0.5);
  REQUIRE(of.notes.steps.front().tasks[0].first < of.notes.steps.back().tasks[0].first);
}

TEST_CASE("a bundle that cannot teach or retrieve is refused, and named") {
  const auto message = [](const Chosen& way) {
    ChosenFixture of(way);
    const absl::Status status = of.Run().status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(of.notes.steps.empty());
    return std::string(status.message());
  };
  std::vector<Chosen> ways = WaysToChoose();
  ways[4].other = "lightningdot";
  REQUIRE(absl::StrContains(message(ways[4]), "the teacher teacher: it scores no pairs"));
  ways[3].other = "uniter";
  REQUIRE(absl::StrContains(message(ways[3]), "the retriever teacher: it embeds nothing"));
  ways[3].other.clear();
  REQUIRE(absl::StrContains(message(ways[3]), "name a retriever"));
  ways[5].other.clear();
  REQUIRE(absl::StrContains(message(ways[5]), "the teacher teacher: the recipe names it"));
  // Reads five regions, and pictures have one to nine.
  ways[4].other = "sgraf";
  REQUIRE(absl::StrContains(message(ways[4]), "the teacher teacher: the network cannot read"));
  ways[0].family = "lightningdot";
  REQUIRE(absl::StrContains(message(ways[0]), "a network that scores pairs"));
}

TEST_CASE("a checkpoint that was taught by another bundle is refused") {
  ChosenFixture of(WaysToChoose()[4]);
  of.job.checkpoint_directory = of.checkpoints.path();
  of.MustRun();
  const ModelBundle another = MakeTinyBundle(of.store.path(), FamilyNamed("uniter"), /*seed=*/6);
  of.job.others["teacher"] = &another;
  REQUIRE(absl::StrContains(of.Run().status().message(), "tasks.0.teacher: " + of.other.id));
}

TEST_CASE("what scores best on development pictures is what is written") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  // Falls apart in its second half.
  of.job.recipe.rate.peak = 0.5;
  of.job.recipe.rate.warmup_steps = 20;
  const RecipeResult result = of.MustRun();
  REQUIRE(of.notes.looks.size() == 3);
  double best = -1;
  for (const DevelopmentReport& look : of.notes.looks) best = std::max(best, look.score);
  REQUIRE(result.development.score == best);
  REQUIRE(result.development.step == of.notes.best_step);
  REQUIRE(of.notes.best_step < 24);
  of.job.development = nullptr;
  REQUIRE(of.WeightsOf(of.MustRun()) != of.WeightsOf(result));
}

TEST_CASE("tasks in turn share the steps, and a task's step leaves alone what it does not teach") {
  std::vector<TaskRecipe> tasks = {TaskOf("hinge"), TaskOf("pairwise", 4)};
  RecipeFixture of("oscar", tasks);
  of.job.recipe.order = TaskOrder::kInTurn;
  of.MustRun();
  for (const RecipeStepReport& report : of.notes.steps) {
    REQUIRE(report.tasks.size() == 2);
    REQUIRE(report.tasks[0].steps == 2);
  }
  // Without pair steps the head stays as it was, decay included.
  of.job.recipe.tasks = {TaskOf("hinge")};
  of.job.recipe.adamw.weight_decay = 10;
  of.job.recipe.adamw.decays = DecayRule::kAll;
  const std::string learnt_bytes = of.WeightsOf(of.MustRun());
  const std::string bytes_before = *ReadFile(of.start.FilePath(kWeightsFile));
  const auto learnt = *Safetensors::FromBytes(learnt_bytes);
  const auto before = *Safetensors::FromBytes(bytes_before);
  const auto first = [](const Safetensors& file, const std::string& name) {
    return (*ToTorch(file.tensors().at(name))).flatten()[0].item<float>();
  };
  REQUIRE(first(*learnt, "classifier.weight") ==
          Approx(first(*before, "classifier.weight")).epsilon(1e-3));
  REQUIRE(first(*learnt, "bert.img_embedding.weight") !=
          Approx(first(*before, "bert.img_embedding.weight")).epsilon(1e-3));
}

TEST_CASE("tasks are drawn by their shares") {
  std::vector<TaskRecipe> tasks = {TaskOf("cmr"), TaskOf("contrastive")};
  tasks[0].share = 3;
  RecipeFixture of("oscar", tasks);
  of.job.recipe.steps = 100;
  of.job.recipe.develop_every = 0;
  of.job.report_every = 100;
  of.MustRun();
  REQUIRE(of.notes.steps[0].tasks[0].steps > 60);
  REQUIRE(of.notes.steps[0].tasks[0].steps < 90);
}

TEST_CASE("a checkpoint of another job is refused with what differs") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  of.job.checkpoint_directory = of.checkpoints.path();
  of.MustRun();
  of.job.recipe.tasks[0].batch = 4;
  const absl::Status status = of.Run().status();
  REQUIRE(status.code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "tasks.0.batch: 8 then, 4 now"));
}

TEST_CASE("weights are chosen by what the tasks teach") {
  const auto ways = [](const std::string& family, const std::vector<TaskRecipe>& tasks) {
    RecipeFixture of(family, tasks);
    of.job.recipe.steps = 2;
    std::vector<DevelopmentWay> used;
    for (const DevelopmentFinding& finding : of.MustRun().development.findings) {
      used.push_back(finding.way);
    }
    return used;
  };
  using Ways = std::vector<DevelopmentWay>;
  // In brackets: glog would print a list, and cannot print these.
  REQUIRE((ways("oscar", {TaskOf("hinge")}) == Ways{DevelopmentWay::kTowers}));
  REQUIRE((ways("oscar", {TaskOf("pairwise", 4)}) == Ways{DevelopmentWay::kPairs}));
  REQUIRE((ways("oscar", {TaskOf("hinge"), TaskOf("pairwise", 4)}) ==
           Ways{DevelopmentWay::kTowers, DevelopmentWay::kPairs}));
}

TEST_CASE("pictures that the network cannot read end a run before its first step, by name") {
  RecipeFixture of("sgraf", {TaskOf("matrix_hinge", 5)});
  // Of another family: one to nine regions instead of five.
  const auto other = MadeUpPairs(FamilyNamed("lightningdot"), 40);
  of.job.learnt = other.get();
  const absl::Status status = of.Run().status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "of 40 pictures"));
  REQUIRE(absl::StrContains(status.message(), "made/1000"));
  REQUIRE(of.notes.steps.empty());
}

TEST_CASE("pictures that their corpus has not whole are not told as the network's affair") {
  RecipeFixture of("lightningdot", {TaskOf("cmr", 2)});
  auto corpus = std::make_unique<MadeUpCorpus>(10);
  for (int i = 0; i < 6; ++i) {
    const RegionSet none;
    corpus->Add(MadeUpItem(absl::StrCat("made/", i), {TinyText(i)}),
                i == 4 ? none : TinyImage(of.family, i).regions);
  }
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  const std::unique_ptr<PairCorpus> pairs = *PairCorpus::Open(std::move(corpora), {});
  of.job.learnt = pairs.get();
  const absl::Status status = of.Run().status();
  INFO(status);
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "1 of 6 pictures cannot be had from their corpus"));
  REQUIRE(absl::StrContains(status.message(), "no regions"));
}

TEST_CASE("a checkpoint of other pictures is refused") {
  RecipeFixture of("lightningdot", {TaskOf("cmr")});
  of.job.checkpoint_directory = of.checkpoints.path();
  of.MustRun();
  const auto fewer = MadeUpPairs(of.family, 39);
  of.job.development = fewer.get();
  REQUIRE(absl::StrContains(of.Run().status().message(), "development: "));
}

TEST_CASE("in bfloat16 a loss falls, another way than in float32, where a machine computes in it") {
  const absl::Status can = ProbeBfloat16(at::kCPU);
  for (const auto& [family, objective] : std::vector<std::pair<std::string, std::string>>{
           {"lightningdot", "cmr"}, {"uniter", "sigmoid_hinge"}, {"oscar", "mlm"}}) {
    INFO(family << " by " << objective);
    RecipeFixture rounded(family, {TaskOf(objective)}), exact(family, {TaskOf(objective)});
    rounded.job.recipe.precision = Precision::kBfloat16;
    const auto result = rounded.Run();
    REQUIRE(result.status().code() == can.code());
    if (!can.ok()) continue;
    const auto loss = [](const RecipeStepReport& of) { return of.tasks[0].loss; };
    REQUIRE(loss(rounded.notes.steps.back()) < loss(rounded.notes.steps.front()));
    exact.MustRun();
    REQUIRE(loss(rounded.notes.steps.front()) != loss(exact.notes.steps.front()));
    REQUIRE(loss(rounded.notes.steps.front()) ==
            Approx(loss(exact.notes.steps.front())).epsilon(0.05));
  }
}

TEST_CASE("a recipe that the network cannot learn by is refused, and says why") {
  const auto message = [](const std::string& family, const std::string& objective) {
    RecipeFixture of(family, {TaskOf(objective)});
    const absl::Status status = of.Run().status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  REQUIRE(absl::StrContains(message("lightningdot", "pairwise"), "a network that scores pairs"));
  REQUIRE(absl::StrContains(message("uniter", "cmr"), "a network that embeds"));
  REQUIRE(absl::StrContains(message("lightningdot", "hinge"), "compared by cosine"));
  REQUIRE(absl::StrContains(message("uniter", "crm"), "crm"));
  REQUIRE(absl::StrContains(message("ensemble", "matrix_hinge"), "ensemble"));
  RecipeFixture of("sgraf", {TaskOf("matrix_hinge", 5)});
  of.job.recipe.precision = Precision::kBfloat16;
  REQUIRE(absl::StrContains(of.Run().status().message(), "the family sgraf has none"));
}

}  // namespace
}  // namespace sightline
