// Who is told of passes: what is asked of a device at once, and waited for.
#ifndef SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_
#define SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_

#include <cstdint>
#include <exception>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sightline::device {

// What a pass took.
struct PassStats {
  bool was_recorded = false;     // its launches were asked for as a whole
  int64_t bytes_in = 0;          // copied to the device
  int64_t bytes_out = 0;         // and from it
  absl::Duration waited;         // for passes of others that were under way
  absl::Duration took;           // in all, from when it was asked for
  bool can_be_recorded = false;  // or nobody ever records passes of its kind
};

// Thread-safe.
class PassWatch {
 public:
  virtual ~PassWatch() = default;

  virtual void Began() {}
  // Once for each that began; `pass` is null if it failed.
  virtual void Ended(const PassStats* pass) = 0;
};

// Tells `watch`, if there is one, of a pass that lasts as long as this: of one that failed, if an
// exception ends it.
class PassScope {
 public:
  explicit PassScope(PassWatch* watch)
      : watch_(watch), began_(absl::Now()), exceptions_(std::uncaught_exceptions()) {
    if (watch_ != nullptr) watch_->Began();
  }
  ~PassScope() {
    if (watch_ == nullptr) return;
    PassStats pass;
    pass.took = absl::Now() - began_;
    watch_->Ended(std::uncaught_exceptions() == exceptions_ ? &pass : nullptr);
  }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  PassWatch* const watch_;
  const absl::Time began_;
  const int exceptions_;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_PASS_WATCH_H_
