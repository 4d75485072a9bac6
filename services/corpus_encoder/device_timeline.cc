#include "services/corpus_encoder/device_timeline.h"

#include "absl/strings/str_format.h"

namespace sightline {

std::string DeviceTime::BusyShare() const {
  if (total() <= absl::ZeroDuration()) return "-";
  return absl::StrFormat("%.1f %%", 100 * absl::FDivDuration(busy, total()));
}

void DeviceTimeline::Began() {
  MutexLock lock(mutex_);
  Count();
  ++passes_;
}

void DeviceTimeline::Ended(const device::PassStats* pass) {
  MutexLock lock(mutex_);
  Count();
  --passes_;
  if (pass != nullptr) ++time_.pass_count;
}

DeviceTimeline::Scope::Scope(DeviceTimeline* timeline, Step step)
    : timeline_(timeline), step_(step) {
  if (timeline_ != nullptr) timeline_->Add(step_, 1);
}

DeviceTimeline::Scope::~Scope() {
  if (timeline_ != nullptr) timeline_->Add(step_, -1);
}

void DeviceTimeline::Add(Step step, int by) {
  MutexLock lock(mutex_);
  Count();
  switch (step) {
    case Step::kAwaiting:
      awaiting_ += by;
      break;
    case Step::kEncoding:
      encoding_ += by;
      break;
    case Step::kWriting:
      writing_ += by;
      break;
    case Step::kChecking:
      checking_ += by;
      break;
  }
}

void DeviceTimeline::Count() {
  const absl::Time now = clock_->Now();
  const absl::Duration elapsed = now - changed_;
  changed_ = now;
  if (passes_ > 0) {
    time_.busy += elapsed;
  } else if (encoding_ > 0) {
    time_.for_host += elapsed;
  } else if (writing_ > 0) {
    time_.for_files += elapsed;
  } else if (awaiting_ > 0 && checking_ == 0) {
    time_.for_pictures += elapsed;
  }
}

DeviceTime DeviceTimeline::time() const {
  MutexLock lock(mutex_);
  return time_;
}

}  // namespace sightline
