// What a device does while a corpus is encoded, and whom it waits for.
//
// Each moment counts once.  While a pass is under way the device is busy, which includes the pass's
// copies.  Else it waits: for a thread that encodes, if there is one, since that is the nearest to
// the next pass; else for one that writes; else for pictures.  While units of an earlier run are
// looked through nothing is waited for, and nothing counts.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_DEVICE_TIMELINE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_DEVICE_TIMELINE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/device/pass_watch.h"

namespace sightline {

struct DeviceTime {
  absl::Duration busy;
  absl::Duration for_pictures;  // to be read and decoded
  absl::Duration for_host;   // which lays out what a pass reads, and makes embeddings of its rows
  absl::Duration for_files;  // to be written
  int64_t pass_count = 0;    // that did not fail

  absl::Duration total() const { return busy + for_pictures + for_host + for_files; }
  // "93.1 %" of the time; "-" before there was any.
  std::string BusyShare() const;
};

// Thread-safe.
class DeviceTimeline : public device::PassWatch {
 public:
  explicit DeviceTimeline(Clock* clock) : clock_(clock) {}

  void Began() override EXCLUDES(mutex_);
  void Ended(const device::PassStats* pass) override EXCLUDES(mutex_);

  // What a thread that makes units is at.
  enum class Step { kAwaiting, kEncoding, kWriting, kChecking };

  // One thread's step from its beginning to its end.
  class Scope {
   public:
    // `timeline`, which outlives it, may be null: then there is no device.
    Scope(DeviceTimeline* timeline, Step step);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    DeviceTimeline* const timeline_;
    const Step step_;
  };

  // Of the time in which some thread was at a step.
  DeviceTime time() const EXCLUDES(mutex_);

 private:
  // Adds the time since the last change to who it belongs to.
  void Count() REQUIRES(mutex_);
  void Add(Step step, int by) EXCLUDES(mutex_);

  Clock* const clock_;
  mutable Mutex mutex_;
  int passes_ GUARDED_BY(mutex_) = 0;  // under way
  // Threads at each step.
  int awaiting_ GUARDED_BY(mutex_) = 0;
  int encoding_ GUARDED_BY(mutex_) = 0;
  int writing_ GUARDED_BY(mutex_) = 0;
  int checking_ GUARDED_BY(mutex_) = 0;
  absl::Time changed_ GUARDED_BY(mutex_);
  DeviceTime time_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_DEVICE_TIMELINE_H_
