#include "common/training/recipe_trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/network/masked_network.h"
#include "common/models/trainable.h"
#include "common/training/adamw.h"
#include "common/training/checkpoint.h"
#include "common/training/development.h"
#include "common/training/frozen_models.h"
#include "common/training/learnt_pairs.h"
#include "common/training/negative_miner.h"
#include "common/training/norm_statistics.h"
#include "common/training/passes.h"
#include "common/training/pretraining.h"
#include "common/training/recipe_bundle.h"
#include "common/training/recipe_progress.h"
#include "common/training/recipe_task.h"
#include "common/training/recipe_window.h"
#include "common/training/schedule.h"
#include "common/training/task_options.h"
#include "common/training/taught_groups.h"
#include "common/training/training_device.h"
#include "common/training/world.h"

namespace sightline {
namespace {

constexpr char kLogScale[] = "log_scale";
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
        window_(&recipe_, call.clock()) {}

  absl::StatusOr<RecipeResult> Run() {
    RETURN_IF_ERROR(world_.Agree(Prepare()));
    RETURN_IF_ERROR(CheckSameJob());
    RETURN_IF_ERROR(MakeOptimizer());
    RETURN_IF_ERROR(checkpoints_->Resume());
    for (int64_t done = 0; done < progress_.step; ++done) ++task_steps_[TaskOf(done)];
    learner_->module->train();
    // What the run was stopped at.
    if (progress_.step > 0) RETURN_IF_ERROR(LookIfDue());
    window_.Restart();
    while (progress_.step < recipe_.steps) {
      RETURN_IF_ERROR(OrEnded(world_.Agree(call_.Check("train"))));
      RETURN_IF_ERROR(MineIfDue());
      RETURN_IF_ERROR(Step());
      RETURN_IF_ERROR(AgreeAfterStep());
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
    ASSIGN_OR_RETURN(const std::string of_first, world_.TextOfFirst(DescribeJob(job_)));
    const std::string differences = LineDifferences(of_first, DescribeJob(job_));
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
        parameters.push_back({NameOfHead(item.key()), item.value()});
      }
    }
    parameters.push_back({kLogScale, log_scale_});
    return parameters;
  }

  absl::Status MakeOptimizer() {
    ASSIGN_OR_RETURN(TaughtGroups taught, FindTaughtGroups(Parameters(), tasks_, &world_, call_));
    groups_ = std::move(taught.of_task);
    optimizer_ = std::make_unique<AdamW>(taught.groups, recipe_.adamw, /*average=*/false);
    const RecipeCheckpoints::Parts parts = {
        &job_,        learner_.get(), heads_,     optimizer_.get(),
        miner_.get(), &world_,        &observer_, call_.clock()};
    checkpoints_ = std::make_unique<RecipeCheckpoints>(parts, &progress_);
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

  // What is not to be lost of a run that ends here: its last whole step.
  absl::Status OrEnded(const absl::Status& status) {
    if (!status.ok()) RETURN_IF_ERROR(checkpoints_->WriteUnlessDone(last_norm_));
    return status;
  }

  absl::Status MineIfDue() {
    if (miner_ == nullptr) return absl::OkStatus();
    const absl::Time begin = call_.clock()->Now();
    RETURN_IF_ERROR(OrEnded(world_.Agree(miner_->MineIfDue(progress_.step, call_))));
    window_.Pause(call_.clock()->Now() - begin);
    return absl::OkStatus();
  }

  // Of the `number`-th step of task `i`: the mean over its batches, of all processes.  If one
  // fails, or is stopped, all do.
  absl::StatusOr<TaskStep> AddGradientsOf(size_t i, int64_t number) {
    const int64_t batches = recipe_.accumulation;
    const double share = 1.0 / static_cast<double>(batches);
    TaskStep all;
    for (int64_t batch = number * batches; batch < (number + 1) * batches; ++batch) {
      const absl::StatusOr<TaskStep> one = tasks_[i]->AddGradients(batch, call_);
      const bool more = batch + 1 < (number + 1) * batches;
      RETURN_IF_ERROR(world_.Agree(one.ok() && more ? call_.Check("train") : one.status()));
      all.items += one->items;
      all.loss = SumOf(all.loss, PartOf(one->loss, share));
    }
    if (batches > 1) optimizer_->ScaleGradients(groups_[i], share);
    RETURN_IF_ERROR(world_.AddUp(optimizer_->Gradients(groups_[i])));
    return all;
  }

  absl::Status Step() {
    const size_t i = TaskOf(progress_.step);
    optimizer_->ZeroGradients();
    const at::Tensor statistics = StatisticsOf(*learner_);
    const absl::StatusOr<TaskStep> taken = AddGradientsOf(i, task_steps_[i]);
    if (!taken.ok()) {
      // Given up, it has moved nothing else.
      SetStatistics(statistics, *learner_);
      return OrEnded(taken.status());
    }
    last_rate_ = RateAt(recipe_.rate, progress_.step, recipe_.steps);
    last_norm_ = optimizer_->Step(groups_[i], last_rate_);
    {
      const at::NoGradGuard no_grad;
      log_scale_.clamp_max_(kMostLogScale);
    }
    window_.Add(i, *taken);
    ++task_steps_[i];
    ++progress_.step;
    return absl::OkStatus();
  }

  // Where another process is lost here, the step is whole.
  absl::Status AgreeAfterStep() {
    const absl::Status own = AfterStep();
    const absl::Status all = world_.Agree(own);
    return own.ok() && absl::IsUnavailable(all) ? OrEnded(all) : all;
  }

  absl::Status AfterStep() {
    const bool ends = progress_.step == recipe_.steps;
    if (window_.steps() >= job_.report_every || ends) RETURN_IF_ERROR(Report());
    const absl::Time begin = call_.clock()->Now();
    RETURN_IF_ERROR(LookIfDue());
    if (ends || checkpoints_->IsDue()) {
      RETURN_IF_ERROR(checkpoints_->WriteUnlessDone(last_norm_));
    }
    window_.Pause(call_.clock()->Now() - begin);
    return absl::OkStatus();
  }

  absl::Status Report() {
    RecipeStepReport report;
    report.step = progress_.step;
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
    const bool due = progress_.step == recipe_.steps ||
                     (recipe_.develop_every > 0 && progress_.step % recipe_.develop_every == 0);
    if (job_.development == nullptr || !due || Ways().empty()) return absl::OkStatus();
    if (progress_.looked_step == progress_.step) return absl::OkStatus();
    RETURN_IF_ERROR(OrEnded(Look()));
    progress_.looked_step = progress_.step;
    return absl::OkStatus();
  }

  absl::Status Look() {
    ASSIGN_OR_RETURN(DevelopmentReport report,
                     LookAtDevelopment(*learner_, *job_.development, recipe_.develop_pictures,
                                       Ways(), call_, &world_));
    report.step = progress_.step;
    const bool best = progress_.best.empty() || report.score > progress_.development.score;
    if (best) {
      progress_.development = report;
      progress_.best = CopyOfWeights(*learner_, heads_);
    }
    observer_.OnDevelopment(report, best);
    return absl::OkStatus();
  }

  absl::StatusOr<RecipeResult> Finish() {
    if (!progress_.best.empty()) {
      const at::NoGradGuard no_grad;
      RETURN_IF_ERROR(CopyTensors(progress_.best, WeightsOf(*learner_, heads_)));
      if (progress_.development.pictures == 0) {
        // Taken up from a checkpoint, which holds the score alone.
        const int64_t step = progress_.development.step;
        ASSIGN_OR_RETURN(progress_.development,
                         LookAtDevelopment(*learner_, *job_.development, recipe_.develop_pictures,
                                           Ways(), call_, &world_));
        progress_.development.step = step;
      }
    }
    RecipeResult result;
    result.development = progress_.development;
    result.device = device_.str();
    const absl::Status written = world_.is_first() ? WriteBundle(&result.bundle) : absl::OkStatus();
    RETURN_IF_ERROR(world_.Agree(written));
    return result;
  }

  absl::Status WriteBundle(ModelBundle* made) const {
    ASSIGN_OR_RETURN(*made, WriteLearntBundle(job_, *learner_, heads_));
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
  RecipeProgress progress_;
  std::unique_ptr<RecipeCheckpoints> checkpoints_;
  std::vector<int64_t> task_steps_;  // done, of each task
  double last_rate_ = 0;
  at::Tensor last_norm_;
  RecipeWindow window_;
};

absl::StatusOr<std::unique_ptr<TrainingWorld>> MeetOthers(const RecipeJob& job, c10::Device device,
                                                          RecipeObserver* observer,
                                                          const CallContext& call) {
  const TrainingWorldOptions& options = job.world;
  if (options.size > 1) {
    observer->OnNote(absl::StrCat(
        "process ", options.rank, " of ", options.size, " meets the others at ", options.host, ":",
        options.port, ", for which it waits up to ", absl::FormatDuration(options.timeout)));
  }
  if (job.on_meeting) job.on_meeting(true);
  auto world = TrainingWorld::Join(options, device);
  if (job.on_meeting) job.on_meeting(false);
  if (world.ok()) {
    if (options.size > 1) {
      observer->OnNote(absl::StrCat("process ", options.rank, " of ", options.size,
                                    " exchanges what lies on ", device.str(), " by ",
                                    (*world)->engine()));
    }
    return world;
  }
  // Whoever was told to stop while it waited, which a wait does not hear, missed nobody.
  RETURN_IF_ERROR(call.Check("meet the other processes"));
  // A signal may end a wait before the call knows of it.
  if (absl::StrContains(world.status().message(), "Interrupted system call")) {
    return absl::CancelledError("was interrupted before it met the other processes");
  }
  return world;
}

absl::StatusOr<RecipeResult> Train(const RecipeJob& job, RecipeObserver* observer,
                                   const CallContext& call) {
  ASSIGN_OR_RETURN(const c10::Device device, TrainingDeviceOf(job.device, job.world.local_rank));
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingWorld> world,
                   MeetOthers(job, device, observer, call));
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
