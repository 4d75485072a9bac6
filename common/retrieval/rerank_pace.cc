#include "common/retrieval/rerank_pace.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sightline {
namespace {

constexpr absl::Duration kMemory = absl::Seconds(2);

// After this long without an answer the pace is not known any more.
constexpr absl::Duration kUnknownAfter = absl::Seconds(10);

// Of a request's time, how much may be planned for: paces vary.
constexpr double kUsable = 0.9;

// Of what a request of the usual depth has left beside its own work, how much may pass in the
// queue under lasting overload: enough that the reranker never runs out of work, and so little
// that what varies costs no deadline.
constexpr double kQueued = 0.6;

}  // namespace

RerankShare::RerankShare(std::shared_ptr<RerankPace> pace, int pairs)
    : pace_(std::move(pace)), pairs_(pairs), under_way_(pairs) {}

RerankShare::RerankShare(RerankShare&& other) noexcept
    : pace_(std::move(other.pace_)),
      pairs_(std::exchange(other.pairs_, 0)),
      under_way_(std::exchange(other.under_way_, 0)) {}

RerankShare::~RerankShare() {
  if (pace_ != nullptr) pace_->Leave(under_way_);
}

void RerankShare::Answered(int pairs, absl::Time sent, absl::Time now) {
  if (pace_ == nullptr) return;
  under_way_ -= pairs;
  pace_->Answered(pairs, sent, now);
}

RerankShare RerankPace::Take(int asked, int least, absl::Time now, absl::Time deadline) {
  MutexLock lock(mutex_);
  Forget(now);
  asked_ += asked;
  int taken = deadline == absl::InfiniteFuture() ? asked : Fitting(asked, now, deadline - now);
  if (under_way_ == 0) taken = std::max(taken, std::min(asked, least));
  under_way_ += taken;
  return RerankShare(shared_from_this(), taken);
}

RerankShare RerankPace::TakeAll(int pairs, absl::Time now) {
  MutexLock lock(mutex_);
  Forget(now);
  asked_ += pairs;
  under_way_ += pairs;
  return RerankShare(shared_from_this(), pairs);
}

double RerankPace::PairsPerSecond(absl::Time now) const {
  MutexLock lock(mutex_);
  return Pace(now);
}

void RerankPace::Forget(absl::Time now) {
  if (now <= as_of_) return;
  const double kept = std::exp(-absl::FDivDuration(now - as_of_, kMemory));
  asked_ *= kept;
  answered_ *= kept;
  busy_ *= kept;
  as_of_ = now;
}

double RerankPace::Pace(absl::Time now) const {
  if (busy_ <= 0 || now - last_answer_ > kUnknownAfter) return 0;
  return answered_ / busy_;
}

// With the pace R, the demand A and P candidates under way, in candidates and seconds:
//
//   share = (R + (R W - P) / T) / A
//
// If all take that share, dP/dt = share A - R = (R W - P) / T: the queue goes to W seconds of work
// within about the time T of a request, from above and from below, without swinging, and then the
// share is R / A, that of all in the demand.  It does not depend on how fast the reranker is or
// how many routers ask it: each sees its own part of pace and demand.
int RerankPace::Fitting(int asked, absl::Time now, absl::Duration time) const {
  const double pace = Pace(now);
  if (pace <= 0 || asked <= 0) return asked;
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(time));
  const double demand = asked_ / absl::ToDoubleSeconds(kMemory);
  const double usual = std::min(1.0, pace / demand) * asked;
  const double queue = std::max(0.0, kQueued * (kUsable * seconds - usual / pace));
  const double missing = pace * queue - under_way_;
  const double share = (pace + (seconds > 0 ? missing / seconds : 0)) / demand;
  const double room = kUsable * seconds * pace - under_way_;
  const double fitting = std::min(std::round(share * asked), std::floor(room));
  return static_cast<int>(std::clamp<double>(fitting, 0, asked));
}

// What was waited for since the answer before this one, but not what others were waited for before
// this was asked, and never came.
void RerankPace::Answered(int pairs, absl::Time sent, absl::Time now) {
  MutexLock lock(mutex_);
  Forget(now);
  under_way_ -= pairs;
  answered_ += pairs;
  busy_ += std::max(0.0, absl::ToDoubleSeconds(now - std::max(last_answer_, sent)));
  last_answer_ = std::max(last_answer_, now);
}

void RerankPace::Leave(int pairs) {
  MutexLock lock(mutex_);
  under_way_ -= pairs;
}

std::shared_ptr<RerankPace> RerankPaces::Of(absl::string_view model) {
  MutexLock lock(mutex_);
  const auto found = paces_.find(model);
  if (found != paces_.end()) return found->second;
  if (paces_.size() >= kMost) paces_.clear();  // requests under way keep theirs
  return paces_.emplace(std::string(model), std::make_shared<RerankPace>()).first->second;
}

}  // namespace sightline
