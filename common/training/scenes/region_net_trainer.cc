#include "common/training/scenes/region_net_trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/network/weights.h"
#include "common/scenes/drawings.h"
#include "common/scenes/region_crop.h"
#include "common/training/adamw.h"
#include "common/training/augment.h"
#include "common/training/random.h"
#include "common/training/scenes/region_lessons.h"
#include "common/training/scenes/region_net.h"
#include "common/training/schedule.h"
#include "common/training/training_device.h"

namespace sightline {
namespace {

constexpr double kDropout = 0.2;
constexpr double kTintWeight = 0.5, kSizeWeight = 0.25;
// Of all crops, so many are as they are: what the net is asked about is not changed.
constexpr int kUnchangedShare = 4;
// Steps between two reports of losses.
constexpr int64_t kReportEvery = 50;

AugmentOptions ChangesOf(LessonColours colours) {
  AugmentOptions changes;
  changes.scale = 0.12;
  changes.shift = 0.06;
  changes.rotation_degrees = 12;
  // No scene says which way a drawing looks.
  changes.flip_probability = 0.5;
  changes.erase_probability = 0.25;
  changes.erase_side = 0.4;
  if (colours == LessonColours::kTints) {
    changes.brightness = changes.contrast = changes.saturation = 0;
  } else {
    changes.grey_probability = 0.1;
  }
  return changes;
}

AdamWOptions OptimizerOptions() {
  AdamWOptions options;
  options.weight_decay = 0.05;
  options.clip_norm = 5;
  return options;
}

AdamW MakeOptimizer(const RegionNet& net) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : net->named_parameters()) parameters.push_back({item.key(), item.value()});
  return AdamW({parameters}, OptimizerOptions(), /*average=*/false);
}

at::Tensor CropsOf(const RegionLessons& lessons) {
  return at::tensor(at::ArrayRef<uint8_t>(lessons.crops), at::kByte)
      .view({lessons.count(), 3, kRegionSide, kRegionSide});
}

// As bytes are scaled.
at::Tensor Changed(const at::Tensor& crops, LessonColours colours, Random* random) {
  const int64_t unchanged = crops.size(0) / kUnchangedShare;
  const at::Tensor changed = AugmentPictures(crops.narrow(0, unchanged, crops.size(0) - unchanged),
                                             ChangesOf(colours), random) *
                             255;
  return at::cat({crops.narrow(0, 0, unchanged).to(at::kFloat), changed});
}

// Of the rows that are taught; 0 if none is.
at::Tensor Taught(const at::Tensor& logits, const std::vector<int64_t>& labels) {
  const bool any =
      std::any_of(labels.begin(), labels.end(), [](int64_t label) { return label != kUntaught; });
  if (!any) return at::zeros({});
  return at::cross_entropy_loss(logits, at::tensor(labels, at::kLong), /*weight=*/{},
                                at::Reduction::Mean, /*ignore_index=*/kUntaught);
}

int64_t CountRight(const at::Tensor& logits, const std::vector<int64_t>& labels) {
  return logits.argmax(1).eq(at::tensor(labels, at::kLong)).sum().item<int64_t>();
}

class RegionNetRun {
 public:
  RegionNetRun(const RegionNetJob& job, Progress* progress, const CallContext& call)
      : job_(job), progress_(*progress), call_(call), net_(/*norms=*/true) {}

  absl::StatusOr<std::string> Run() {
    RETURN_IF_ERROR(RandomizeWeights(SeedOf(job_.seed, RandomStream::kWeights, 0), net_.get()));
    AdamW optimizer = MakeOptimizer(net_);
    net_->train();
    progress_.Begin("learn", "steps", job_.steps);
    for (int64_t step = 0; step < job_.steps; ++step) {
      RETURN_IF_ERROR(call_.Check("train the net of regions"));
      ASSIGN_OR_RETURN(const at::Tensor loss, LossOf(step));
      optimizer.ZeroGradients();
      loss.backward();
      optimizer.Step({0}, RateOf(step));
      RETURN_IF_ERROR(Report(step, loss.item<double>()));
      progress_.Advance(1);
    }
    progress_.End();
    return SerializeWeights(*net_.Folded(), WeightDtype::kFloat16);
  }

 private:
  double RateOf(int64_t step) const {
    RateOptions rate;
    rate.peak = job_.peak_rate;
    rate.warmup_steps = job_.steps / 20;
    rate.decay = DecayShape::kCosine;
    rate.final_share = 0;
    return RateAt(rate, step, job_.steps);
  }

  // Appends pictures to `lessons` and their crops, changed, to `crops`.
  absl::Status Draw(LessonColours colours, int64_t pictures, Random* random, RegionLessons* lessons,
                    std::vector<at::Tensor>* crops) const {
    if (pictures == 0) return absl::OkStatus();
    RegionLessons own;
    for (int64_t i = 0; i < pictures; ++i) {
      RETURN_IF_ERROR(AppendLessons(*job_.drawings, colours, random, &own));
    }
    crops->push_back(Changed(CropsOf(own), colours, random));
    const auto append = [](const auto& from, auto* to) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(own.boxes, &lessons->boxes);
    append(own.classes, &lessons->classes);
    append(own.tints, &lessons->tints);
    append(own.sizes, &lessons->sizes);
    return absl::OkStatus();
  }

  absl::StatusOr<at::Tensor> LossOf(int64_t step) {
    Random random(SeedOf(job_.seed, RandomStream::kAugment, step));
    RegionLessons lessons;
    std::vector<at::Tensor> crops;
    RETURN_IF_ERROR(Draw(LessonColours::kAny, job_.coloured_pictures, &random, &lessons, &crops));
    RETURN_IF_ERROR(Draw(LessonColours::kTints, job_.tinted_pictures, &random, &lessons, &crops));
    at::manual_seed(SeedOf(job_.seed, RandomStream::kDropout, step));
    const at::Tensor boxes = at::tensor(lessons.boxes).view({-1, 2});
    const RegionSight sight = net_->forward(at::cat(crops), boxes, kDropout);
    right_ += CountRight(sight.nouns, lessons.classes);
    taught_ += job_.coloured_pictures * kProposals;
    return Taught(sight.nouns, lessons.classes) + kTintWeight * Taught(sight.tints, lessons.tints) +
           kSizeWeight * Taught(sight.sizes, lessons.sizes);
  }

  absl::Status Report(int64_t step, double loss) {
    if (!std::isfinite(loss)) {
      return absl::InternalError(
          absl::StrCat("the loss of step ", step + 1, " is not a number; a lower rate may help"));
    }
    loss_ += loss;
    if ((step + 1) % kReportEvery != 0) return absl::OkStatus();
    progress_.Detail(absl::StrFormat("loss %.3f  right %.1f %%", loss_ / kReportEvery,
                                     100.0 * right_ / std::max<int64_t>(taught_, 1)));
    loss_ = 0;
    right_ = taught_ = 0;
    return absl::OkStatus();
  }

  const RegionNetJob& job_;
  Progress& progress_;
  const CallContext& call_;
  RegionNet net_;
  // Since the last report.
  double loss_ = 0;
  int64_t right_ = 0, taught_ = 0;
};

}  // namespace

absl::StatusOr<std::string> TrainRegionNet(const RegionNetJob& job, Progress* progress,
                                           const CallContext& call) {
  const size_t wanted = LockedDrawings().size();
  if (job.drawings->size() != static_cast<int>(wanted)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the net learns from ", wanted, " drawings, and there are ", job.drawings->size()));
  }
  std::string weights;
  RETURN_IF_ERROR(RunGuarded("train the net of regions", [&]() -> absl::Status {
    UseTrainingThreads(job.threads);
    ASSIGN_OR_RETURN(weights, RegionNetRun(job, progress, call).Run());
    return absl::OkStatus();
  }));
  return weights;
}

}  // namespace sightline
