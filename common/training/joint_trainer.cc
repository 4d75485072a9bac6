#include "common/training/joint_trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/declared_combinations.h"
#include "common/formats/safetensors.h"
#include "common/models/inference.h"
#include "common/models/network/autocast.h"
#include "common/models/network/masked_network.h"
#include "common/models/network/weights.h"
#include "common/models/oscar/net.h"
#include "common/training/hard_negatives.h"
#include "common/training/job_checks.h"
#include "common/training/plan.h"
#include "common/training/run_checkpoint.h"
#include "common/training/step_window.h"
#include "common/training/steps.h"
#include "common/training/training_device.h"
#include "common/training/validation.h"

namespace sightline {
namespace {

constexpr char kMinedTensor[] = "mined";

absl::StatusOr<OscarNet> RandomNet(const bundle::v1::ModelBundleManifest& manifest,
                                   const TrainingOptions& options) {
  OscarNet net(manifest, options.dropout);
  RETURN_IF_ERROR(RandomizeWeights(SeedOf(options.seed, RandomStream::kWeights, 0), net.get()));
  return net;
}

absl::StatusOr<OscarNet> NetOf(const ModelBundle& bundle) {
  OscarNet net(bundle.manifest, /*dropout=*/0.0);
  ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file,
                   Safetensors::Open(bundle.FilePath(kWeightsFile)));
  RETURN_IF_ERROR(LoadWeights(*file, PretrainingHeadNames(), net.get()));
  net->eval();
  return net;
}

// Of what both have; CheckJob has seen that this is all but the cross-encoder's head.
void CopyWeights(const torch::nn::Module& from, torch::nn::Module* to) {
  at::NoGradGuard no_grad;
  const auto values = from.named_parameters();
  for (auto& item : to->named_parameters()) {
    const at::Tensor* value = values.find(item.key());
    if (value != nullptr) item.value().copy_(*value);
  }
}

ScoreKind ScoreKindOf(const bundle::v1::ModelBundleManifest& manifest) {
  // The manifest has been checked; without a cross-encoder nobody asks.
  return ParseScoreKind(manifest.cross_encoder().score_kind()).value_or(ScoreKind::kSoftmaxMatch);
}

// One run, from the first step or a checkpoint to the bundle.
class Trainer {
 public:
  // `retriever` is empty where the net itself retrieves.
  Trainer(const TrainingJob& job, bundle::v1::ModelBundleManifest manifest, OscarNet net,
          OscarNet retriever, const TrainingRows* rows, c10::Device device,
          TrainingObserver* observer, const CallContext& call)
      : job_(job),
        options_(job.options),
        manifest_(std::move(manifest)),
        observer_(*observer),
        call_(call),
        start_(call.clock()->Now()),
        rows_(*rows),
        sampler_(job.set, rows, &job.options),
        plan_(job.options, sampler_.text_steps_per_epoch(), sampler_.bi_steps_per_epoch(),
              sampler_.cross_steps_per_epoch()),
        pictures_(*job.set, device),
        net_(std::move(net), manifest_, job.set, device, job.options),
        source_(&pictures_, &net_, &job.options),
        retriever_(MakeRetriever(std::move(retriever), manifest_, job, device)),
        steps_(job.set, &sampler_, &source_, &net_, &job.options),
        validator_(job.set, rows, &job.options, ScoreKindOf(manifest_)),
        window_(call.clock()),
        checkpoint_time_(start_) {}

  absl::StatusOr<TrainingResult> Run() {
    RETURN_IF_ERROR(Resume());
    net_.module().train();
    while (step_ < plan_.steps()) {
      const absl::Status alive = call_.Check("train");
      if (!alive.ok()) {
        RETURN_IF_ERROR(WriteCheckpointUnlessDone());
        return alive;
      }
      const PlannedStep planned = plan_.At(step_);
      Prepare(planned);
      last_ = Do(planned);
      steps_.optimizer().UpdateAverage(Keep());
      ++step_;
      window_.Add(planned, last_);
      RETURN_IF_ERROR(AfterStep(planned));
    }
    return Finish();
  }

 private:
  StepOutcome Do(const PlannedStep& planned) {
    if (planned.stage == TrainingStage::kText) return steps_.Text(planned.number, planned.rate);
    return planned.cross ? steps_.Cross(planned.number, planned.rate, mined_)
                         : steps_.Bi(planned.number, planned.rate);
  }

  static std::unique_ptr<JointNet> MakeRetriever(OscarNet net,
                                                 const bundle::v1::ModelBundleManifest& manifest,
                                                 const TrainingJob& job, c10::Device device) {
    if (net.is_empty()) return nullptr;
    return std::make_unique<JointNet>(std::move(net), manifest, job.set, device, job.options);
  }
  JointNet& retriever() { return retriever_ == nullptr ? net_ : *retriever_; }

  // Grows, so that the first, random weights are forgotten soon.
  double Keep() const {
    const double step = static_cast<double>(step_);
    return std::min(options_.average, (1 + step) / (10 + step));
  }

  // What a joint step needs: a stem that stands still, its output, hard negatives.
  void Prepare(const PlannedStep& planned) {
    if (planned.stage == TrainingStage::kBi && planned.step == 0 && options_.text.epochs > 0) {
      steps_.ResetTemperature();
    }
    if (planned.stage != TrainingStage::kJoint) return;
    const absl::Time begin = call_.clock()->Now();
    if (planned.step == 0) steps_.optimizer().AdoptAverage();
    if (options_.joint.freeze_grid) {
      if (!source_.frozen()) source_.Freeze();
      source_.Refresh(plan_.CrossPeriod(planned, options_.joint.refresh_every), rows_.pictured());
    }
    // A retriever that does not change finds the same each time.
    const bool mines = retriever_ == nullptr
                           ? plan_.BeginsCrossPeriod(planned, options_.joint.mine_every)
                           : mined_.rows.empty();
    if (mines) Mine();
    window_.Pause(call_.clock()->Now() - begin);
  }

  void Mine() {
    const absl::Time begin = call_.clock()->Now();
    std::vector<int64_t> captions;
    for (const int64_t row : rows_.captioned()) captions.push_back(job_.set->captions(row)[0]);
    const at::Tensor images = retriever().EmbedAllImages(
        rows_.pictured(), [&](const std::vector<int64_t>& rows) { return source_.Plain(rows); });
    mined_ =
        MineNegatives(rows_, retriever().EmbedAllCaptions(captions), images, options_.joint.mined);
    observer_.OnNote(absl::StrCat(
        "hard negatives of ", captions.size(), " captions among ", rows_.pictured().size(),
        " pictures found in ",
        absl::FormatDuration(absl::Trunc(call_.clock()->Now() - begin, absl::Milliseconds(1)))));
  }

  absl::Status AfterStep(const PlannedStep& planned) {
    const bool stage_ends = planned.step + 1 == planned.steps;
    if (window_.count() >= job_.report_every || stage_ends) RETURN_IF_ERROR(Report(planned));
    const absl::Time begin = call_.clock()->Now();
    // Before it has met pictures there is nothing to find.
    const bool can_find = planned.stage != TrainingStage::kText;
    if (can_find && plan_.EndsPeriod(planned, options_.validation.every)) {
      const absl::Status validated = Validate(planned);
      if (!validated.ok()) {
        RETURN_IF_ERROR(WriteCheckpointUnlessDone());
        return validated;
      }
    }
    if (stage_ends || call_.clock()->Now() - checkpoint_time_ >= job_.checkpoint_every) {
      RETURN_IF_ERROR(WriteCheckpointUnlessDone());
    }
    window_.Pause(call_.clock()->Now() - begin);
    return absl::OkStatus();
  }

  absl::Status Report(const PlannedStep& planned) {
    StepReport report;
    report.stage = planned.stage;
    report.step = planned.step + 1;
    report.steps = planned.steps;
    report.epoch = plan_.EpochAfter(planned);
    report.rate = planned.rate;
    report.temperature = steps_.Temperature();
    window_.Report(&report);
    report.elapsed = call_.clock()->Now() - start_;
    if (!std::isfinite(report.bi_loss) || !std::isfinite(report.concept_loss) ||
        !std::isfinite(report.cross_loss)) {
      return absl::InternalError(absl::StrCat(
          "the loss is not finite any more at step ", report.step, " of stage ",
          TrainingStageName(report.stage), "; start again with a lower rate or a longer warm-up"));
    }
    observer_.OnStep(report);
    return absl::OkStatus();
  }

  absl::Status Validate(const PlannedStep& planned) {
    const absl::Time begin = call_.clock()->Now();
    steps_.optimizer().SwapAverage();
    auto report = validator_.Run(
        &retriever(), planned.stage == TrainingStage::kJoint ? &net_ : nullptr, &source_, call_);
    steps_.optimizer().SwapAverage();
    RETURN_IF_ERROR(report.status());
    validation_ = *std::move(report);
    validation_.stage = planned.stage;
    validation_.step = planned.step + 1;
    validation_.epoch = plan_.EpochAfter(planned);
    validation_.took = call_.clock()->Now() - begin;
    validated_step_ = step_;
    observer_.OnValidation(validation_);
    return absl::OkStatus();
  }

  absl::Status WriteCheckpointUnlessDone() {
    if (job_.checkpoint_directory.empty() || step_ == checkpoint_step_) return absl::OkStatus();
    RETURN_IF_ERROR(CheckGradient(last_.gradient_norm, step_));
    TrainingCheckpoint checkpoint =
        CheckpointOf(DescribeJob(job_, manifest_), {step_, steps_.optimizer().step_counts()});
    checkpoint.tensors = steps_.optimizer().State();
    if (!mined_.rows.empty()) {
      checkpoint.tensors[kMinedTensor] =
          at::tensor(mined_.rows, at::kLong).view({-1, mined_.width});
    }
    ASSIGN_OR_RETURN(const WrittenCheckpoint written,
                     WriteCheckpoint(job_.checkpoint_directory, step_, checkpoint));
    checkpoint_step_ = step_;
    checkpoint_time_ = call_.clock()->Now();
    const PlannedStep done = plan_.At(step_ - 1);
    observer_.OnCheckpoint({done.stage, done.step + 1, written.path, written.byte_count});
    return absl::OkStatus();
  }

  absl::Status Resume() {
    ASSIGN_OR_RETURN(
        const auto found,
        FindCheckpoint(job_.checkpoint_directory, DescribeJob(job_, manifest_),
                       [&](absl::string_view damage) { observer_.OnWarning(damage); }));
    if (!found.has_value()) return absl::OkStatus();
    RETURN_IF_ERROR(TakeUp(*found));
    observer_.OnNote(
        absl::StrCat("continues behind step ", step_, " of ", plan_.steps(), " of the run"));
    return absl::OkStatus();
  }

  absl::Status TakeUp(const TrainingCheckpoint& checkpoint) {
    ASSIGN_OR_RETURN(const RunPlace place,
                     PlaceOf(checkpoint, job_.checkpoint_directory, plan_.steps(),
                             steps_.optimizer().step_counts().size()));
    RETURN_IF_ERROR(CopyTensors(checkpoint.tensors, steps_.optimizer().State()));
    steps_.optimizer().set_step_counts(place.step_counts);
    const auto mined = checkpoint.tensors.find(kMinedTensor);
    if (mined != checkpoint.tensors.end()) {
      RETURN_IF_ERROR(TakeUpMined(mined->second));
    }
    step_ = checkpoint_step_ = place.step;
    return absl::OkStatus();
  }

  absl::Status TakeUpMined(const at::Tensor& mined) {
    const int64_t count = static_cast<int64_t>(rows_.captioned().size());
    if (mined.dim() != 2 || mined.size(0) != count || mined.size(1) != options_.joint.mined) {
      return absl::DataLossError("the checkpoint's hard negatives are not of this training set");
    }
    const at::Tensor numbers = mined.contiguous();
    const int64_t* data = numbers.data_ptr<int64_t>();
    mined_.width = options_.joint.mined;
    mined_.rows.assign(data, data + numbers.numel());
    for (const int64_t row : mined_.rows) {
      if (row < -1 || row >= job_.set->row_count()) {
        return absl::DataLossError(absl::StrCat("the checkpoint's hard negatives name row ", row));
      }
    }
    return absl::OkStatus();
  }

  // What the options name for both directions, or what validation chose for each.
  absl::StatusOr<DeclaredCombinations> Declared() const {
    if (options_.combination == "auto") {
      return DeclaredCombinations{ChoiceOf(validation_.validation),
                                  ChoiceOf(validation_.image_to_text)};
    }
    Combination named;
    ASSIGN_OR_RETURN(named.kind, ParseCombinationKind(options_.combination));
    named.lambda = static_cast<float>(options_.combination_lambda);
    return DeclaredCombinations{{named}, {named}};
  }

  absl::StatusOr<TrainingResult> Finish() {
    if (validated_step_ != step_) {
      // Taken up from the checkpoint of the last step.
      if (plan_.has_joint_stage() && options_.joint.freeze_grid) source_.Freeze();
      RETURN_IF_ERROR(Validate(plan_.At(step_ - 1)));
    }
    if (manifest_.has_cross_encoder()) {
      ASSIGN_OR_RETURN(const DeclaredCombinations declared, Declared());
      WriteCombinations(declared, manifest_.mutable_cross_encoder());
    }
    // Nobody shall build an index of embeddings that no step has looked after.
    if (job_.retriever != nullptr) manifest_.clear_embedding();
    steps_.optimizer().SwapAverage();
    TrainingResult result;
    std::map<std::string, std::string> files;
    files[manifest_.tokenizer().vocabulary_file()] = job_.vocabulary;
    ASSIGN_OR_RETURN(files[std::string(kWeightsFile)],
                     SerializeWeights(net_.module(), WeightDtype::kFloat16));
    ASSIGN_OR_RETURN(result.bundle, WriteModelBundle(job_.store, manifest_, files));
    result.validation = validation_;
    result.device = net_.device().str();
    return result;
  }

  const TrainingJob& job_;
  const TrainingOptions& options_;
  bundle::v1::ModelBundleManifest manifest_;
  TrainingObserver& observer_;
  const CallContext& call_;
  const absl::Time start_;
  const TrainingRows& rows_;
  const BatchSampler sampler_;
  const TrainingPlan plan_;
  const Pictures pictures_;
  JointNet net_;
  GridSource source_;
  const std::unique_ptr<JointNet> retriever_;  // null if it is net_
  TrainingSteps steps_;
  const Validator validator_;
  MinedNegatives mined_;
  StepWindow window_;
  StepOutcome last_;
  int64_t step_ = 0;  // done
  int64_t checkpoint_step_ = 0;
  absl::Time checkpoint_time_;
  ValidationReport validation_;
  int64_t validated_step_ = -1;
};

absl::StatusOr<TrainingResult> Train(const TrainingJob& job,
                                     bundle::v1::ModelBundleManifest manifest,
                                     TrainingObserver* observer, const CallContext& call) {
  ASSIGN_OR_RETURN(const c10::Device device, TrainingDeviceOf(job.device));
  const TrainingRows rows(*job.set, job.options.with_validation);
  RETURN_IF_ERROR(CheckRows(job, rows));
  if (job.options.precision == Precision::kBfloat16) RETURN_IF_ERROR(ProbeBfloat16(device));
  UseTrainingThreads(job.threads);
  ASSIGN_OR_RETURN(OscarNet net, RandomNet(manifest, job.options));
  if (job.start != nullptr) {
    ASSIGN_OR_RETURN(const OscarNet start, NetOf(*job.start));
    CopyWeights(*start, net.get());
  }
  OscarNet retriever = nullptr;
  if (job.retriever != nullptr) {
    ASSIGN_OR_RETURN(retriever, NetOf(*job.retriever));
    CopyWeights(*retriever, net.get());
  }
  Trainer trainer(job, std::move(manifest), std::move(net), std::move(retriever), &rows, device,
                  observer, call);
  return trainer.Run();
}

}  // namespace

DeclaredCombination ChoiceOf(const QueriesReport& report) {
  return {report.best.combination, IsBetter(report.best.recall, report.retrieval)};
}

absl::string_view TrainingStageName(TrainingStage stage) {
  switch (stage) {
    case TrainingStage::kText:
      return "text";
    case TrainingStage::kBi:
      return "bi";
    case TrainingStage::kJoint:
      return "joint";
  }
  return "";
}

absl::StatusOr<TrainingResult> TrainJointModel(const TrainingJob& job, TrainingObserver* observer,
                                               const CallContext& call) {
  ASSIGN_OR_RETURN(bundle::v1::ModelBundleManifest manifest, CheckJob(job));
  absl::StatusOr<TrainingResult> result = absl::UnknownError("not run");
  RETURN_IF_ERROR(RunGuarded("train", [&] {
    result = Train(job, std::move(manifest), observer, call);
    return result.status();
  }));
  return result;
}

}  // namespace sightline
