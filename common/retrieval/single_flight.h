// Equal work that several calls want at the same time is done once, by the first of them.
//
//   SingleFlight<Answer> flights;
//   const auto flight = flights.Do(key, call, due, work, suits);
//
// The first call leads: it does the work, in its own thread and within its own deadline; the others
// wait for it.  How long they wait, and whether their callers go away, is each one's own affair:
// the work is cancelled when nobody waits for it any more, and not because the leader's caller has
// gone. What the leader could not do, or not do as well as others need it, one of those who have
// waited does, and the others wait for that one: never more than one at a time.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SINGLE_FLIGHT_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SINGLE_FLIGHT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.  Outlives all calls.
template <typename T>
class SingleFlight {
 public:
  using Value = std::shared_ptr<const T>;  // never null
  // The work, under a call that may outlive the caller's interest in it.
  using Work = std::function<absl::StatusOr<Value>(const CallContext& call)>;
  // Whether another call's value is one for this call, too; asked when the work has ended.
  // `others` is the time that the other call had for it, `own` what this one had when it began to
  // wait for that.
  using Suits = std::function<bool(const T& value, absl::Duration others, absl::Duration own)>;

  enum class Part {
    kDid,     // the work, itself
    kShared,  // another call's outcome
    kGaveUp   // waited until its own end
  };
  struct Result {
    absl::StatusOr<Value> value;
    Part part = Part::kDid;
  };

  SingleFlight() = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  // `due` is when the work will have ended if this call does it.  A call waits only for one that is
  // due no later than itself; one that is due before the leader takes its place until it has ended,
  // so that those who come meanwhile wait for the earlier one of the two.
  //
  // What does not suit a call that has waited for it is no value for it, nor is the first error: it
  // leads or waits again.  An error that comes twice is its own.  CANCELLED and DEADLINE_EXCEEDED
  // are this call's own in any case.
  Result Do(const std::string& key, const CallContext& call, absl::Time due, const Work& work,
            const Suits& suits) {
    bool failed_before = false;
    while (true) {
      bool leads = false;
      const std::shared_ptr<Flight> flight = Join(key, call, due, leads);
      if (leads) return {Lead(key, call, flight, work), Part::kDid};
      const absl::Duration own = call.remaining();
      const absl::StatusOr<Value> value = Follow(call, flight);
      if (value.ok() && suits(**value, flight->allowed, own)) return {value, Part::kShared};
      const absl::Status alive = call.Check("waiting for an equal request");
      if (!alive.ok()) return {alive, Part::kGaveUp};
      if (value.ok() || IsOwn(value.status())) continue;
      if (failed_before) return {value, Part::kShared};
      failed_before = true;
    }
  }

 private:
  struct Flight {
    Flight(absl::Time due, absl::Duration allowed, std::shared_ptr<Flight> displaced)
        : due(due), allowed(allowed), displaced(std::move(displaced)) {}

    bool HasEnded() {
      MutexLock lock(mutex);
      return ended;
    }

    // Whoever leaves last cancels the work; not with the lock held.
    void Leave(bool leader) {
      {
        MutexLock lock(mutex);
        if (leader) {
          leader_gone = true;
        } else {
          --followers;
        }
        if (ended || !leader_gone || followers > 0) return;
      }
      work->Cancel();
    }

    const absl::Time due;
    const absl::Duration allowed;
    const std::shared_ptr<Flight> displaced;  // due later; null: none
    const std::shared_ptr<Cancellation> work = std::make_shared<Cancellation>();
    Mutex mutex;
    CondVar changed;
    int followers GUARDED_BY(mutex) = 0;
    bool leader_gone GUARDED_BY(mutex) = false;
    bool ended GUARDED_BY(mutex) = false;
    absl::StatusOr<Value> outcome GUARDED_BY(mutex) = absl::UnknownError("under way");
  };

  // Of a call that has ended before its work.
  static bool IsOwn(const absl::Status& status) {
    return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
  }

  // The flight to wait for, or a new one that this call leads.
  std::shared_ptr<Flight> Join(const std::string& key, const CallContext& call, absl::Time due,
                               bool& leads) {
    MutexLock lock(mutex_);
    std::shared_ptr<Flight>& known = flights_[key];
    leads = known == nullptr || due < known->due;
    if (leads) known = std::make_shared<Flight>(due, call.remaining(), known);
    return known;
  }

  // What was displaced is to be waited for again, if it still goes on.
  void Remove(const std::string& key, const Flight* flight) REQUIRES(mutex_) {
    const auto known = flights_.find(key);
    if (known == flights_.end() || known->second.get() != flight) return;
    std::shared_ptr<Flight> next = flight->displaced;
    while (next != nullptr && next->HasEnded()) next = next->displaced;
    if (next == nullptr) {
      flights_.erase(known);
    } else {
      known->second = next;
    }
  }

  // Ends the flight, whatever becomes of the work.
  class Landing {
   public:
    Landing(SingleFlight* flights, const std::string& key, Flight* flight)
        : flights_(flights), key_(key), flight_(flight) {}
    ~Landing() {
      // At once: nobody finds a flight that has ended.
      MutexLock all(flights_->mutex_);
      {
        MutexLock lock(flight_->mutex);
        flight_->ended = true;
        flight_->outcome = std::move(outcome);
        flight_->changed.NotifyAll();
      }
      flights_->Remove(key_, flight_);
    }
    absl::StatusOr<Value> outcome = absl::UnknownError("the work was not done");

   private:
    SingleFlight* const flights_;
    const std::string& key_;
    Flight* const flight_;
  };

  absl::StatusOr<Value> Lead(const std::string& key, const CallContext& call,
                             const std::shared_ptr<Flight>& flight, const Work& work) {
    Landing landing(this, key, flight.get());
    const Cancellation::Registration gone =
        call.cancellation()->OnCancel([flight = std::weak_ptr<Flight>(flight)] {
          if (const auto alive = flight.lock()) alive->Leave(/*leader=*/true);
        });
    const CallContext own =
        CallContext(call.clock(), call.deadline(), flight->work).WithRequestId(call.request_id());
    landing.outcome = work(own);
    if (call.cancelled()) return call.Check("search");
    return landing.outcome;
  }

  // What the flight gives, or anything if the call is over before.
  absl::StatusOr<Value> Follow(const CallContext& call, const std::shared_ptr<Flight>& flight) {
    const Cancellation::Registration gone =
        call.cancellation()->OnCancel([flight = std::weak_ptr<Flight>(flight)] {
          const auto alive = flight.lock();
          if (alive == nullptr) return;
          MutexLock lock(alive->mutex);
          alive->changed.NotifyAll();
        });
    absl::StatusOr<Value> outcome = absl::UnknownError("under way");
    {
      MutexLock lock(flight->mutex);
      ++flight->followers;
      while (!flight->ended && !call.cancelled() && !call.expired()) {
        call.clock()->WaitUntil(flight->changed, flight->mutex, call.deadline());
      }
      outcome = flight->outcome;
    }
    flight->Leave(/*leader=*/false);
    return outcome;
  }

  Mutex mutex_;  // before those of the flights
  absl::flat_hash_map<std::string, std::shared_ptr<Flight>> flights_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SINGLE_FLIGHT_H_
