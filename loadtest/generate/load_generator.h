// Sends requests when the schedule says so, whatever became of those before (open loop),
// and records what became of each.
//
//   LoadGenerator generator(options, clients, plan, &recorder, Clock::Real());
//   RETURN_IF_ERROR(generator.Run(traffic->MakeArrivals(plan), call));
#ifndef SIGHTLINE_LOADTEST_GENERATE_LOAD_GENERATOR_H_
#define SIGHTLINE_LOADTEST_GENERATE_LOAD_GENERATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/clients/search_client.h"
#include "loadtest/measure/exact_answers.h"
#include "loadtest/measure/recorder.h"
#include "loadtest/scenario/workload.h"
#include "loadtest/schedule/arrivals.h"

namespace sightline {

struct GeneratorOptions {
  // Requests under way.  At this many a request waits for one to end, and its latency runs
  // meanwhile: the wait is charged to it, and to the schedule as lateness.
  int64_t max_outstanding = 10'000;
  // Whether each answer is checked (answer_checks.h).
  bool check_answers = true;
  // What answers are compared with; null: with nothing.  Outlives the generator.
  const ExactAnswers* exact_answers = nullptr;
};

// One thread sends; answers come on the clients' threads.  Runs once.
class LoadGenerator {
 public:
  // Makes request number n; called by the sending thread, in order from 0.
  using PlanRequest = std::function<PlannedRequest(int64_t number)>;

  // Requests go to `clients` in turn; at least one.  `recorder` and `clock` outlive the
  // generator, and so does what the plan's known items are views of.
  LoadGenerator(const GeneratorOptions& options, std::vector<std::shared_ptr<SearchClient>> clients,
                PlanRequest plan, Recorder* recorder, Clock* clock);

  // The run starts now.  Returns when every request has ended: Ok, or Cancelled if `call` was
  // and the schedule was cut short.  The deadline of a request counts from when it was sent,
  // its latency from when it should have been.
  absl::Status Run(Arrivals arrivals, const CallContext& call);

 private:
  struct Flight;  // one request under way

  bool AwaitTurn(absl::Time turn, const CallContext& call);
  void Send(int64_t number, absl::Time start, absl::Duration intended);
  void End(Flight* flight, const absl::StatusOr<SearchResult>& result);
  void AwaitAnswers();

  const GeneratorOptions options_;
  const std::vector<std::shared_ptr<SearchClient>> clients_;
  const PlanRequest plan_;
  Recorder* const recorder_;
  Clock* const clock_;

  Mutex mutex_;
  CondVar changed_;
  int64_t outstanding_ GUARDED_BY(mutex_) = 0;
  bool waits_for_room_ GUARDED_BY(mutex_) = false;
  bool waits_for_end_ GUARDED_BY(mutex_) = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_GENERATE_LOAD_GENERATOR_H_
