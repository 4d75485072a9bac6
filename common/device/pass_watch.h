// Who is told of passes: what is asked of a device at once, and waited for.
#ifndef SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_
#define SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_

#include <cstdint>

#include "absl/time/time.h"

namespace sightline::device {

// What a pass took.
struct PassStats {
  bool was_recorded = false;  // its launches were asked for as a whole
  int64_t bytes_in = 0;       // copied to the device
  int64_t bytes_out = 0;      // and from it
  absl::Duration waited;      // for passes of others that were under way
  absl::Duration took;        // in all, from when it was asked for
};

// Thread-safe.
class PassWatch {
 public:
  virtual ~PassWatch() = default;

  virtual void Began() {}
  // Once for each that began; `pass` is null if it failed.
  virtual void Ended(const PassStats* pass) = 0;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_
