#include "common/base/read_pace.h"

#include <algorithm>

namespace sightline {

void ReadPace::Await(int64_t bytes) {
  clock_->SleepUntil(next_);
  next_ = std::max(next_, clock_->Now()) +
          absl::Seconds(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
}

}  // namespace sightline
