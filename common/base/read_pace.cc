#include "common/base/read_pace.h"

#include <algorithm>
#include <utility>

namespace sightline {
namespace {

thread_local ReadPace* pace_of_thread = nullptr;

}  // namespace

void ReadPace::Await(int64_t bytes) {
  clock_->SleepUntil(next_);
  next_ = std::max(next_, clock_->Now()) +
          absl::Seconds(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
}

ReadPace::Scope::Scope(ReadPace* pace) : before_(std::exchange(pace_of_thread, pace)) {}

ReadPace::Scope::~Scope() {
  pace_of_thread = before_;
}

ReadPace* ReadPace::OfThread() {
  return pace_of_thread;
}

}  // namespace sightline
