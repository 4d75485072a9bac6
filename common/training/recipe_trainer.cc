#include "common/training/recipe_trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/network/autocast.h"
#include "common/models/network/masked_network.h"
#include "common/models/network/weights.h"
#include "common/models/trainable.h"
#include "common/training/adamw.h"
#include "common/training/development.h"
#include "common/training/frozen_models.h"
#include "common/training/learnt_pairs.h"
#include "common/training/negative_miner.h"
#include "common/training/passes.h"
#include "common/training/pretraining.h"
#include "common/training/recipe_task.h"
#include "common/training/recipe_window.h"
#include "common/training/run_checkpoint.h"
#include "common/training/schedule.h"
#include "common/training/task_options.h"
#include "common/training/taught_groups.h"
#include "common/training/training_device.h"
#include "common/training/world.h"

namespace sightline {
namespace {

constexpr char kLookedStepFact[] = "looked_step";
constexpr char kBestStepFact[] = "best_step", kBestScoreFact[] = "best_score";
// Goes up when the same job would end in other weights.
constexpr int kTrainerVersion = 2;
constexpr char kLogScale[] = "log_scale";
constexpr char kHeads[] = "heads.";
constexpr double kMostLogScale = 4.605170185988092;  // ln 100

// One run, from the first step or a checkpoint to the bundle.
class RecipeTrainer {
 public:
  RecipeTrainer(const RecipeJob& job, std::unique_ptr<TrainableNetwork> learner, c10::Device device,
                TrainingWorld* world, RecipeObserver* observer, const CallContext& call)
      : job_(job),
        recipe_(job.recipe),
        learner_(std::move(learner)),
        pairs_(job.learnt, learner_.get()),
        device_(device),
        world_(*world),
        observer_(*observer),
        call_(call),
        window_(&recipe_, call.clock()),
        checkpoint_time_(call.clock()->Now()) {}

  absl::StatusOr<RecipeResult> Run() {
    RETURN_IF_ERROR(world_.Agree(Prepare()));
    RETURN_IF_ERROR(CheckSameJob());
    RETURN_IF_ERROR(MakeOptimizer());
    RETURN_IF_ERROR(Resume());
    learner_->module->train();
    // What the run was stopped at.
    if (step_ > 0) RETURN_IF_ERROR(LookIfDue());
    window_.Restart();
    while (step_ < recipe_.steps) {
      const absl::Status alive = world_.Agree(call_.Check("train"));
      if (!alive.ok()) {
        RETURN_IF_ERROR(WriteCheckpointUnlessDone());
        return alive;
      }
      RETURN_IF_ERROR(MineIfDue());
      RETURN_IF_ERROR(Step());
      RETURN_IF_ERROR(world_.Agree(AfterStep()));
    }
    return Finish();
  }

 private:
  // What each process does by itself.
  absl::Status Prepare() {
    RETURN_IF_ERROR(pairs_.ReadCaptions());
    RETURN_IF_ERROR(LoadOthers());
    RETURN_IF_ERROR(pairs_.ReadPictures(call_));
    RETURN_IF_ERROR(MakeTasks());
    if (job_.development == nullptr) return absl::OkStatus();
    return LearntPairs(job_.development, learner_.get()).ReadPictures(call_);
  }

  // Other draws in each process would be no batch.
  absl::Status CheckSameJob() {
    ASSIGN_OR_RETURN(const std::string of_first, world_.TextOfFirst(Describe()));
    const std::string differences = LineDifferences(of_first, Describe());
    return world_.Agree(
        differences.empty()
            ? absl::OkStatus()
            : absl::InvalidArgumentError(absl::StrCat(
                  "process ", world_.rank(), " has another job than process 0 (", differences,
                  ", where then is process 0's); start all with the "
                  "same recipe, corpora and bundles")));
  }

  absl::Status LoadOthers() {
    ASSIGN_OR_RETURN(frozen_,
                     FrozenModels::Load(recipe_, job_.others, *job_.learnt, device_, call_));
    if (!MinesNearest(recipe_)) return absl::OkStatus();
    const LearntPairs* retriever = frozen_.Find(recipe_.retriever);
    if (retriever == nullptr) retriever = &pairs_;
    miner_ = std::make_unique<NegativeMiner>(retriever, recipe_.mining, &world_);
    return miner_->Check();
  }

  absl::Status MakeTasks() {
    log_scale_ = at::full({}, -std::log(recipe_.initial_temperature),
                          at::TensorOptions().dtype(at::kFloat).device(device_))
                     .set_requires_grad(true);
    if (MaskedNetworkOf(*learner_->network) != nullptr) {
      ASSIGN_OR_RETURN(heads_, MakePretrainingHeads(recipe_, *job_.start,
                                                    pairs_.corpus().soft_label_count(), device_));
    }
    TaskSetting setting = {&recipe_, &pairs_,    log_scale_, &frozen_,    nullptr,
                           heads_,   job_.start, &world_,    job_.wordnet};
    if (miner_ != nullptr) setting.nearest = &miner_->nearest();
    for (size_t i = 0; i < recipe_.tasks.size(); ++i) {
      ASSIGN_OR_RETURN(tasks_.emplace_back(), NewRecipeTask(setting, i));
    }
    task_steps_.resize(tasks_.size(), 0);
    return absl::OkStatus();
  }

  // All that learns, by the names that checkpoints have them under.
  std::vector<NamedParameter> Parameters() const {
    std::vector<NamedParameter> parameters;
    for (const auto& item : learner_->module->named_parameters()) {
      parameters.push_back({item.key(), item.value()});
    }
    if (heads_) {
      for (const auto& item : heads_->named_parameters()) {
        parameters.push_back({absl::StrCat(kHeads, item.key()), item.value()});
      }
    }
    parameters.push_back({kLogScale, log_scale_});
    return parameters;
  }

  absl::Status MakeOptimizer() {
    ASSIGN_OR_RETURN(TaughtGroups taught, FindTaughtGroups(Parameters(), tasks_, &world_));
    groups_ = std::move(taught.of_task);
    optimizer_ = std::make_unique<AdamW>(taught.groups, recipe_.adamw, /*average=*/false);
    return absl::OkStatus();
  }

  size_t TaskOf(int64_t step) const {
    if (recipe_.order == TaskOrder::kInTurn) return static_cast<size_t>(step) % tasks_.size();
    double all = 0;
    for (const TaskRecipe& task : recipe_.tasks) all += task.share;
    double drawn = Random(SeedOf(recipe_.seed, RandomStream::kTasks, step)).Uniform() * all;
    size_t i = 0;
    while (i + 1 < tasks_.size() && drawn >= recipe_.tasks[i].share) {
      drawn -= recipe_.tasks[i].share;
      ++i;
    }
    return i;
  }

  absl::Status MineIfDue() {
    if (miner_ == nullptr) return absl::OkStatus();
    const absl::Time begin = call_.clock()->Now();
    const absl::Status mined = world_.Agree(miner_->MineIfDue(step_, call_));
    if (!mined.ok()) {
      RETURN_IF_ERROR(WriteCheckpointUnlessDone());
      return mined;
    }
    window_.Pause(call_.clock()->Now() - begin);
    return absl::OkStatus();
  }

  // Of the `number`-th step of task `i`: the mean over its batches.
  absl::StatusOr<TaskStep> AddGradientsOf(size_t i, int64_t number) {
    const int64_t batches = recipe_.accumulation;
    const double share = 1.0 / static_cast<double>(batches);
    TaskStep all;
    for (int64_t batch = number * batches; batch < (number + 1) * batches; ++batch) {
      ASSIGN_OR_RETURN(const TaskStep one, tasks_[i]->AddGradients(batch));
      all.items += one.items;
      all.loss = SumOf(all.loss, PartOf(one.loss, share));
    }
    if (batches > 1) optimizer_->ScaleGradients(groups_[i], share);
    return all;
  }

  absl::Status Step() {
    const size_t i = TaskOf(step_);
    optimizer_->ZeroGradients();
    ASSIGN_OR_RETURN(const TaskStep taken, AddGradientsOf(i, task_steps_[i]));
    RETURN_IF_ERROR(world_.AddUp(optimizer_->Gradients(groups_[i])));
    last_rate_ = RateAt(recipe_.rate, step_, recipe_.steps);
    last_norm_ = optimizer_->Step(groups_[i], last_rate_);
    {
      const at::NoGradGuard no_grad;
      log_scale_.clamp_max_(kMostLogScale);
    }
    window_.Add(i, taken);
    ++task_steps_[i];
    ++step_;
    return absl::OkStatus();
  }

  absl::Status AfterStep() {
    const bool ends = step_ == recipe_.steps;
    if (window_.steps() >= job_.report_every || ends) RETURN_IF_ERROR(Report());
    const absl::Time begin = call_.clock()->Now();
    RETURN_IF_ERROR(LookIfDue());
    if (ends || call_.clock()->Now() - checkpoint_time_ >= job_.checkpoint_every) {
      RETURN_IF_ERROR(WriteCheckpointUnlessDone());
    }
    window_.Pause(call_.clock()->Now() - begin);
    return absl::OkStatus();
  }

  absl::Status Report() {
    RecipeStepReport report;
    report.step = step_;
    report.steps = recipe_.steps;
    RETURN_IF_ERROR(window_.Report(&report));
    report.rate = last_rate_;
    report.gradient_norm = last_norm_.item<double>();
    report.temperature = LearnsScale() ? std::exp(-log_scale_.item<double>()) : 0;
    observer_.OnStep(report);
    return absl::OkStatus();
  }

  bool LearnsScale() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
      return task->objective().reads == ObjectiveReads::kScaledTowerRows;
    });
  }

  // What the tasks teach; nothing if all is to predict what is hidden.
  std::vector<DevelopmentWay> Ways() const {
    std::vector<DevelopmentWay> ways;
    const auto teach = [&](bool (*taught)(const Objective& objective, const TaskRecipe& task)) {
      for (size_t i = 0; i < tasks_.size(); ++i) {
        if (taught(tasks_[i]->objective(), recipe_.tasks[i])) return true;
      }
      return false;
    };
    if (teach(&TeachesTowers)) ways.push_back(DevelopmentWay::kTowers);
    if (teach(&TeachesPairs)) ways.push_back(DevelopmentWay::kPairs);
    return ways;
  }

  absl::Status LookIfDue() {
    const bool due =
        step_ == recipe_.steps || (recipe_.develop_every > 0 && step_ % recipe_.develop_every == 0);
    if (job_.development == nullptr || !due || looked_step_ == step_) return absl::OkStatus();
    if (Ways().empty()) return absl::OkStatus();
    const absl::Status looked = Look();
    if (looked.ok()) {
      looked_step_ = step_;
    } else {
      RETURN_IF_ERROR(WriteCheckpointUnlessDone());
    }
    return looked;
  }

  absl::Status Look() {
    ASSIGN_OR_RETURN(DevelopmentReport report,
                     LookAtDevelopment(*learner_, *job_.development, recipe_.develop_pictures,
                                       Ways(), call_, &world_));
    report.step = step_;
    const bool best = best_.empty() || report.score > development_.score;
    if (best) {
      development_ = report;
      best_ = CopyOfWeights();
    }
    observer_.OnDevelopment(report, best);
    return absl::OkStatus();
  }

  // All that a bundle is written of, where it lies: parameters and buffers.
  std::map<std::string, at::Tensor> Weights() const {
    std::map<std::string, at::Tensor> weights;
    for (const auto& item : learner_->module->named_parameters()) {
      weights[item.key()] = item.value().detach();
    }
    for (const auto& item : learner_->module->named_buffers()) weights[item.key()] = item.value();
    return weights;
  }

  std::map<std::string, at::Tensor> CopyOfWeights() const {
    std::map<std::string, at::Tensor> weights = Weights();
    for (auto& [name, value] : weights) value = value.clone();
    return weights;
  }

  static std::vector<at::Tensor> TensorsOf(const std::map<std::string, at::Tensor>& named) {
    std::vector<at::Tensor> tensors;
    for (const auto& [name, value] : named) tensors.push_back(value);
    return tensors;
  }

  // A checkpoint's tensors, where they lie.
  std::map<std::string, at::Tensor> State() const {
    std::map<std::string, at::Tensor> state = optimizer_->State();
    for (const auto& item : learner_->module->named_buffers()) {
      state[absl::StrCat("buffer/", item.key())] = item.value();
    }
    for (const auto& [name, value] : best_) state[absl::StrCat("best/", name)] = value;
    if (miner_ != nullptr) state.merge(miner_->State());
    return state;
  }

  std::string Describe() const {
    return absl::StrCat(
        "trainer=", kTrainerVersion, "\n", DescribeRecipe(recipe_),
        DescribeBundles(recipe_, job_.others),
        "wordnet=", job_.wordnet == nullptr ? "none" : job_.wordnet->digest(),
        "\nstart=", job_.start->id, "\nlearnt=", job_.learnt->Digest(),
        "\ndevelopment=", job_.development == nullptr ? "none" : job_.development->Digest(), "\n");
  }

  // One process writes for all, which have the same.
  absl::Status WriteCheckpointUnlessDone() {
    if (job_.checkpoint_directory.empty() || step_ == checkpoint_step_) return absl::OkStatus();
    if (!world_.is_first()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckGradient(last_norm_, step_));
    TrainingCheckpoint checkpoint = CheckpointOf(Describe(), {step_, optimizer_->step_counts()});
    checkpoint.facts[kLookedStepFact] = absl::StrCat(looked_step_);
    if (!best_.empty()) {
      checkpoint.facts[kBestStepFact] = absl::StrCat(development_.step);
      checkpoint.facts[kBestScoreFact] = absl::StrFormat("%.17g", development_.score);
    }
    checkpoint.tensors = State();
    ASSIGN_OR_RETURN(const WrittenCheckpoint written,
                     WriteCheckpoint(job_.checkpoint_directory, step_, checkpoint));
    checkpoint_step_ = step_;
    checkpoint_time_ = call_.clock()->Now();
    observer_.OnCheckpoint(step_, written.path, written.byte_count);
    return absl::OkStatus();
  }

  absl::Status Resume() {
    RETURN_IF_ERROR(world_.Agree(world_.is_first() ? TakeUpNewest() : absl::OkStatus()));
    if (world_.is_alone()) return absl::OkStatus();
    return TakeStateOfFirst();
  }

  // Where process 0 is, and all that it has there: what it has taken up, or what it begins with.
  absl::Status TakeStateOfFirst() {
    std::vector<int64_t> counts = optimizer_->step_counts();
    const at::Tensor place = at::tensor(
        {step_, looked_step_, int64_t{best_.empty() ? 0 : 1}, development_.step}, at::kLong);
    const at::Tensor score = at::full({}, development_.score, at::kDouble);
    const at::Tensor of_groups =
        at::from_blob(counts.data(), {static_cast<int64_t>(counts.size())}, at::kLong);
    RETURN_IF_ERROR(world_.TakeFromFirst({place, score, of_groups}));
    const int64_t* const numbers = place.data_ptr<int64_t>();
    step_ = checkpoint_step_ = numbers[0];
    looked_step_ = numbers[1];
    if (numbers[2] > 0 && best_.empty()) best_ = CopyOfWeights();
    development_.step = numbers[3];
    development_.score = score.item<double>();
    optimizer_->set_step_counts(counts);
    std::fill(task_steps_.begin(), task_steps_.end(), 0);
    for (int64_t done = 0; done < step_; ++done) ++task_steps_[TaskOf(done)];
    const at::NoGradGuard no_grad;
    return world_.TakeFromFirst(TensorsOf(State()));
  }

  absl::Status TakeUpNewest() {
    ASSIGN_OR_RETURN(auto found,
                     FindCheckpoint(job_.checkpoint_directory, Describe(),
                                    [&](absl::string_view note) { observer_.OnNote(note); }));
    if (!found.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(TakeUp(&*found));
    observer_.OnNote(absl::StrCat("continues behind step ", step_, " of ", recipe_.steps));
    return absl::OkStatus();
  }

  absl::Status TakeUp(TrainingCheckpoint* checkpoint) {
    ASSIGN_OR_RETURN(const RunPlace place,
                     PlaceOf(*checkpoint, job_.checkpoint_directory, recipe_.steps,
                             optimizer_->step_counts().size()));
    if (!absl::SimpleAtoi(checkpoint->facts[kLookedStepFact], &looked_step_)) {
      return Contradiction(job_.checkpoint_directory);
    }
    if (const auto best = checkpoint->facts.find(kBestStepFact); best != checkpoint->facts.end()) {
      if (!absl::SimpleAtoi(best->second, &development_.step) ||
          !absl::SimpleAtod(checkpoint->facts[kBestScoreFact], &development_.score)) {
        return Contradiction(job_.checkpoint_directory);
      }
      best_ = CopyOfWeights();
    }
    {
      const at::NoGradGuard no_grad;
      RETURN_IF_ERROR(CopyTensors(checkpoint->tensors, State()));
    }
    if (miner_ != nullptr && !miner_->CanBe(place.step)) {
      return Contradiction(job_.checkpoint_directory);
    }
    optimizer_->set_step_counts(place.step_counts);
    for (int64_t done = 0; done < place.step; ++done) ++task_steps_[TaskOf(done)];
    step_ = checkpoint_step_ = place.step;
    return absl::OkStatus();
  }

  absl::StatusOr<RecipeResult> Finish() {
    if (!best_.empty()) {
      const at::NoGradGuard no_grad;
      RETURN_IF_ERROR(CopyTensors(best_, Weights()));
      if (development_.pictures == 0) {
        // Taken up from a checkpoint, which holds the score alone.
        const int64_t step = development_.step;
        ASSIGN_OR_RETURN(development_,
                         LookAtDevelopment(*learner_, *job_.development, recipe_.develop_pictures,
                                           Ways(), call_, &world_));
        development_.step = step;
      }
    }
    RecipeResult result;
    result.development = development_;
    result.device = device_.str();
    const absl::Status written = world_.is_first() ? WriteBundle(&result.bundle) : absl::OkStatus();
    RETURN_IF_ERROR(world_.Agree(written));
    return result;
  }

  absl::Status WriteBundle(ModelBundle* made) const {
    bundle::v1::ModelBundleManifest manifest = job_.start->manifest;
    manifest.set_description(!job_.description.empty()
                                 ? job_.description
                                 : absl::StrCat("trained for ", recipe_.steps, " steps from ",
                                                job_.start->id.substr(0, 12)));
    std::map<std::string, std::string> files;
    const std::string& vocabulary = manifest.tokenizer().vocabulary_file();
    ASSIGN_OR_RETURN(files[vocabulary],
                     ReadFile(job_.start->FilePath(vocabulary), limits::kMaxVocabularyBytes));
    ASSIGN_OR_RETURN(files[std::string(kWeightsFile)],
                     SerializeWeights(*learner_->module, WeightDtype::kFloat16));
    ASSIGN_OR_RETURN(*made, WriteModelBundle(job_.store, manifest, files));
    return absl::OkStatus();
  }

  const RecipeJob& job_;
  const Recipe& recipe_;
  const std::unique_ptr<TrainableNetwork> learner_;
  LearntPairs pairs_;
  const c10::Device device_;
  TrainingWorld& world_;
  RecipeObserver& observer_;
  const CallContext& call_;
  FrozenModels frozen_;
  std::unique_ptr<NegativeMiner> miner_;  // null where no task asks for what it finds
  std::vector<std::unique_ptr<RecipeTask>> tasks_;
  std::vector<std::vector<size_t>> groups_;  // of parameters that each task teaches
  PretrainingHeads heads_{nullptr};
  at::Tensor log_scale_;  // minus the logarithm of the temperature; learned
  std::unique_ptr<AdamW> optimizer_;
  int64_t step_ = 0;                 // done
  std::vector<int64_t> task_steps_;  // done, of each task
  double last_rate_ = 0;
  at::Tensor last_norm_;
  RecipeWindow window_;
  int64_t checkpoint_step_ = 0;
  absl::Time checkpoint_time_;
  int64_t looked_step_ = 0;
  DevelopmentReport development_;  // of the best look
  std::map<std::string, at::Tensor> best_;
};

absl::StatusOr<std::unique_ptr<TrainableNetwork>> LoadLearner(const RecipeJob& job,
                                                              c10::Device device) {
  TrainableOptions options;
  options.device = device;
  options.dropout = job.recipe.dropout;
  options.bfloat16 = job.recipe.precision == Precision::kBfloat16;
  if (options.bfloat16) RETURN_IF_ERROR(ProbeBfloat16(device));
  UseTrainingThreads(job.threads);
  return LoadTrainable(*job.start, options);
}

absl::StatusOr<RecipeResult> Train(const RecipeJob& job, RecipeObserver* observer,
                                   const CallContext& call) {
  ASSIGN_OR_RETURN(const c10::Device device, TrainingDeviceOf(job.device));
  if (job.world.size > 1 && !device.is_cpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat(job.world.size, " processes are to learn together on ", device.str(),
                     ", and they can on CPUs alone, as NCCL is not in this build; set device to "
                     "cpu, or start one "
                     "process"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingWorld> world, TrainingWorld::Join(job.world));
  auto learner = LoadLearner(job, device);
  RETURN_IF_ERROR(world->Agree(learner.status()));
  RecipeTrainer trainer(job, *std::move(learner), device, world.get(), observer, call);
  return trainer.Run();
}

}  // namespace

absl::StatusOr<RecipeResult> TrainByRecipe(const RecipeJob& job, RecipeObserver* observer,
                                           const CallContext& call) {
  RETURN_IF_ERROR(CheckRecipe(job.recipe));
  absl::StatusOr<RecipeResult> result = absl::UnknownError("not run");
  RETURN_IF_ERROR(RunGuarded("train", [&] {
    result = Train(job, observer, call);
    return result.status();
  }));
  return result;
}

}  // namespace sightline
