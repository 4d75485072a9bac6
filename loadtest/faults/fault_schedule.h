// Does to a running fleet what a scenario's faults say, when they say it.
//
//   FleetFaults actions(&fleet);
//   FaultSchedule schedule(scenario.faults, clock->Now(), scenario.warm_up, &actions, clock);
//   ... the load ...
//   result.faults = schedule.Finish();
//   FindRecoveries(result.seconds, &result.faults);
#ifndef SIGHTLINE_LOADTEST_FAULTS_FAULT_SCHEDULE_H_
#define SIGHTLINE_LOADTEST_FAULTS_FAULT_SCHEDULE_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

// What can be done to a fleet.  Targets are as in FaultSpec.  Each returns within milliseconds
// (undoing kPublish: two seconds), and an error if it could not be done.
class FaultActions {
 public:
  virtual ~FaultActions() = default;

  // SIGKILL; SIGSTOP; a delay; publishes the next generation of an index.
  virtual absl::Status Do(const FaultSpec& fault) = 0;
  // The same command on the same port again, without waiting for it to serve; SIGCONT; no delay;
  // says whether what was published is what is served.
  virtual absl::Status Undo(const FaultSpec& fault) = 0;
  // OK if it runs; else what became of it.
  virtual absl::Status Check(const std::string& target) = 0;
};

// "kill reranker", "delay index_search/0 by 50ms".
std::string DescribeFault(const FaultSpec& fault);

class FaultSchedule {
 public:
  // Begins with its thread.  `start`: the run's, by `clock`; faults count from `warm_up`
  // after it.  `actions`, called by one thread at a time, and `clock` outlive the schedule.
  FaultSchedule(std::vector<FaultSpec> faults, absl::Time start, absl::Duration warm_up,
                FaultActions* actions, Clock* clock);
  // As Finish.
  ~FaultSchedule();
  FaultSchedule(const FaultSchedule&) = delete;
  FaultSchedule& operator=(const FaultSchedule&) = delete;

  // Begins nothing more, undoes what is to be undone, and returns a mark for each fault, in
  // their order: `at` is just before it was done, `ended` just after it was undone, times
  // that were measured rather than wanted.  What could not be done or undone, and a process
  // that did not survive its return, are failed expectations.  `whole_again` is left
  // infinite for FindRecoveries (recovery.h).  Once.
  std::vector<FaultMark> Finish();

 private:
  struct Step {
    absl::Time when;
    size_t fault = 0;
    bool undo = false;
  };
  enum class State { kWaiting, kDone, kUndone, kFailed };

  void Loop();
  void Do(size_t fault);
  void Undo(size_t fault);
  absl::Duration Now() const { return clock_->Now() - start_; }

  const std::vector<FaultSpec> faults_;
  const absl::Time start_;
  FaultActions* const actions_;
  Clock* const clock_;
  std::vector<Step> steps_;  // in their order

  // Of the thread, and of Finish after it.
  std::vector<State> states_;
  std::vector<FaultMark> marks_;

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_FAULT_SCHEDULE_H_
