// How fast a thread may read files, so that what is loaded in the background leaves the
// disk and the memory's bandwidth to those who answer.  Like its nice value, a pace belongs
// to a thread: whatever the thread reads by RandomAccessFile keeps to it.
//
//   ReadPace pace(clock, /*bytes_per_second=*/100 << 20);
//   const ReadPace::Scope scope(&pace);
//   Load();  // however deep below the file is read
#ifndef SIGHTLINE_COMMON_BASE_READ_PACE_H_
#define SIGHTLINE_COMMON_BASE_READ_PACE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/thread_scope.h"

namespace sightline {

// For one thread.
class ReadPace {
 public:
  // `bytes_per_second` > 0.  `clock` outlives the pace.
  ReadPace(Clock* clock, int64_t bytes_per_second)
      : clock_(clock), bytes_per_second_(bytes_per_second) {}
  ReadPace(const ReadPace&) = delete;
  ReadPace& operator=(const ReadPace&) = delete;

  // Waits until `bytes` more may be read.  Time that passed unused is not saved up: after a
  // pause nothing comes in a burst.
  void Await(int64_t bytes);

  // Makes a pace that of the calling thread.
  using Scope = ThreadScope<ReadPace>;

  // Null if it has none.
  static ReadPace* OfThread() { return Scope::current(); }

 private:
  Clock* const clock_;
  const int64_t bytes_per_second_;
  absl::Time next_ = absl::InfinitePast();  // when the next piece may be read
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_READ_PACE_H_
