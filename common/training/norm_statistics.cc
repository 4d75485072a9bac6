#include "common/training/norm_statistics.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <vector>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

// How far a batch moves the running statistics of a ChannelNorm (sgraf/net.h).
// batch_loss_worlds_test compares what several processes make of them with what one does.
constexpr double kNormMomentum = 0.1;

}  // namespace

at::Tensor StatisticsOf(const TrainableNetwork& learner) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& buffer : learner.module->buffers()) {
    all.push_back(buffer.flatten().to(at::kDouble));
  }
  return all.empty() ? at::empty({0}, at::kDouble) : at::cat(all);
}

void SetStatistics(const at::Tensor& statistics, const TrainableNetwork& learner) {
  const at::NoGradGuard no_grad;
  int64_t begin = 0;
  for (at::Tensor& buffer : learner.module->buffers()) {
    buffer.copy_(statistics.narrow(0, begin, buffer.numel()).view(buffer.sizes()));
    begin += buffer.numel();
  }
}

// r <- (1 - m) r + m s, so n texts make (1 - m)^n r + S of them, where S is of the texts alone.
absl::Status MoveByAll(const at::Tensor& before, const WorldPart& own, int64_t count,
                       const TrainableNetwork& learner, TrainingWorld* world) {
  const auto kept = [](int64_t texts) {
    return std::pow(1 - kNormMomentum, static_cast<double>(texts));
  };
  const at::Tensor moved =
      (StatisticsOf(learner) - before * kept(own.count())) * kept(count - own.end);
  RETURN_IF_ERROR(world->AddUp({moved}));
  SetStatistics(before * kept(count) + moved, learner);
  return absl::OkStatus();
}

}  // namespace sightline
