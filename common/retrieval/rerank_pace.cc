#include "common/retrieval/rerank_pace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace sightline {
namespace {

constexpr absl::Duration kMemory = absl::Seconds(2);

// The demand is taken over so many horizons, if that is longer: who has the time to wait for what
// comes at once is cut for what comes lastingly.
constexpr double kDemandHorizons = 1.5;
constexpr absl::Duration kLongestMemory = absl::Seconds(10);

// After this long without an answer the pace is not known any more.
constexpr absl::Duration kUnknownAfter = absl::Seconds(10);

// Of a request's time, how much may be planned for: paces vary.
constexpr double kUsable = 0.9;

// Of what a request of the usual depth has left beside its own work, how much may pass in the
// queue under lasting overload: enough that the reranker never runs out of work, and so little
// that what varies costs no deadline.
constexpr double kQueued = 0.6;

// A pace is believed with so many times as much under way as there was when it was measured: what
// is under way goes up and down, and the loop has to see that.
constexpr double kBelieved = 2;

// How fast the horizon goes up and down, of requests that are all that is asked for in kMemory.
// Nine times as fast down: so a tenth of what is asked for has less time.
constexpr double kHorizonUp = 0.2, kHorizonDown = 1.8;

}  // namespace

RerankShare::RerankShare(std::shared_ptr<RerankPace> pace, int pairs, bool fitted)
    : pace_(std::move(pace)), pairs_(pairs), fitted_(fitted) {}

RerankShare::RerankShare(RerankShare&& other) noexcept
    : pace_(std::move(other.pace_)),
      pairs_(std::exchange(other.pairs_, 0)),
      fitted_(other.fitted_),
      under_way_(std::exchange(other.under_way_, 0)) {}

RerankShare::~RerankShare() {
  Lost(under_way_);
}

void RerankShare::Sent(int pairs, absl::Time now) {
  if (pace_ == nullptr) return;
  under_way_ += pairs;
  pace_->Sent(pairs, fitted_, now);
}

void RerankShare::Answered(int pairs, absl::Time sent, absl::Time now) {
  if (pace_ == nullptr) return;
  under_way_ -= pairs;
  pace_->Answered(pairs, sent, now);
}

void RerankShare::Lost(int pairs) {
  if (pace_ == nullptr) return;
  under_way_ -= pairs;
  pace_->Leave(pairs);
}

RerankShare RerankPace::Take(int asked, int least, absl::Time now, absl::Time deadline) {
  MutexLock lock(mutex_);
  Forget(now);
  demand_ += asked / DemandMemory();
  int taken = asked;
  if (deadline != absl::InfiniteFuture() && asked > 0) {
    const double pace = Pace(now);
    const double seconds = std::max(0.0, absl::ToDoubleSeconds(deadline - now));
    See(asked, least, pace, seconds);
    if (pace > 0) taken = Fitting(asked, least, pace, seconds);
  }
  return RerankShare(shared_from_this(), taken, /*fitted=*/true);
}

RerankShare RerankPace::TakeAll(int pairs) {
  return RerankShare(shared_from_this(), pairs, /*fitted=*/false);
}

double RerankPace::PairsPerSecond(absl::Time now) const {
  MutexLock lock(mutex_);
  return Pace(now);
}

void RerankPace::Forget(absl::Time now) {
  if (now <= as_of_) return;
  const double kept = std::exp(-absl::FDivDuration(now - as_of_, kMemory));
  for (double* sum : {&answered_, &busy_, &waited_}) *sum *= kept;
  const double passed = absl::ToDoubleSeconds(now - as_of_);
  for (double* rate : {&demand_, &fixed_}) *rate *= std::exp(-passed / DemandMemory());
  as_of_ = now;
}

double RerankPace::DemandMemory() const {
  return std::clamp(kDemandHorizons * horizon_, absl::ToDoubleSeconds(kMemory),
                    absl::ToDoubleSeconds(kLongestMemory));
}

double RerankPace::Pace(absl::Time now) const {
  if (busy_ <= 0 || now - last_answer_ > kUnknownAfter) return 0;
  return answered_ / busy_;
}

// Tells the horizon of a request's time: it goes to where a tenth of what is asked for has less.
// Who could not have a slice in that time, were he alone, shortens it for nobody.
void RerankPace::See(int asked, int least, double pace, double seconds) {
  if (seconds == 0 || (pace > 0 && kUsable * seconds * pace < std::min(asked, least))) return;
  const double part = std::min(1.0, asked / (demand_ * absl::ToDoubleSeconds(kMemory)));
  if (horizon_ == 0) {
    horizon_ = seconds;
  } else if (seconds < horizon_) {
    horizon_ = std::max(seconds, horizon_ * std::exp(-kHorizonDown * part));
  } else {
    horizon_ = std::min(seconds, horizon_ * std::exp(kHorizonUp * part));
  }
}

// With the pace R, the demand A of those who can do with less, the part F of the pace that others
// take in any case, and P candidates under way, in candidates and seconds:
//
//   share = (R - F + (R W - P) / T) / A
//
// If all take that share, dP/dt = F + share A - R = (R W - P) / T: the queue goes to W seconds of
// work within about the horizon T, from above and from below, without swinging, and then the share
// is (R - F) / A, that of all in the demand.  It does not depend on how fast the reranker is or how
// many routers ask it: each sees its own part of pace and demand.
int RerankPace::Fitting(int asked, int least, double pace, double seconds) const {
  const double believed = std::max(1.0, kBelieved * waited_ / busy_);  // candidates under way
  const double possible = pace * std::max(1.0, under_way_ / believed);
  const double room = std::floor(kUsable * seconds * possible) - under_way_;
  if (under_way_ == 0)
    return static_cast<int>(std::clamp<double>(room, std::min(asked, least), asked));
  if (room <= 0) return 0;
  const double horizon = horizon_ > 0 ? horizon_ : seconds;
  const double usual = std::min(1.0, possible / demand_) * asked;
  const double queue = kQueued * std::max(0.0, kUsable * horizon - usual / possible);
  const double missing = possible * queue - under_way_;
  const double share = (possible - fixed_ + missing / horizon) / demand_;
  return static_cast<int>(std::clamp<double>(std::min(std::round(share * asked), room), 0, asked));
}

void RerankPace::Sent(int pairs, bool fitted, absl::Time now) {
  MutexLock lock(mutex_);
  under_way_ += pairs;
  if (fitted) return;  // was counted when it was asked for
  Forget(now);
  fixed_ += pairs / DemandMemory();
}

// What was waited for since the answer before this one, but not what others were waited for before
// this was asked, and never came.
void RerankPace::Answered(int pairs, absl::Time sent, absl::Time now) {
  MutexLock lock(mutex_);
  Forget(now);
  const double waited = std::max(0.0, absl::ToDoubleSeconds(now - std::max(last_answer_, sent)));
  answered_ += pairs;
  busy_ += waited;
  waited_ += waited * under_way_;
  under_way_ -= pairs;
  last_answer_ = std::max(last_answer_, now);
}

void RerankPace::Leave(int pairs) {
  MutexLock lock(mutex_);
  under_way_ -= pairs;
}

std::shared_ptr<RerankPace> RerankPaces::Of(absl::string_view model) {
  MutexLock lock(mutex_);
  const auto found = Search(model);
  if (found == paces_.end()) {
    MakeRoom();
    paces_.emplace_back(std::string(model), std::make_shared<RerankPace>());
  } else {
    paces_.splice(paces_.end(), paces_, found);
  }
  return paces_.back().second;
}

std::shared_ptr<RerankPace> RerankPaces::Find(absl::string_view model) {
  MutexLock lock(mutex_);
  const auto found = Search(model);
  return found != paces_.end() ? found->second : nullptr;
}

RerankPaces::Paces::iterator RerankPaces::Search(absl::string_view model) {
  return std::find_if(paces_.begin(), paces_.end(),
                      [model](const auto& pace) { return pace.first == model; });
}

// Those of requests under way stay, or what these ask for would be forgotten.
void RerankPaces::MakeRoom() {
  for (auto pace = paces_.begin(); pace != paces_.end() && paces_.size() >= kMost;) {
    pace = pace->second.use_count() > 1 ? std::next(pace) : paces_.erase(pace);
  }
}

}  // namespace sightline
