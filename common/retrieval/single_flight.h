// Equal work that several calls want at the same time is done once, by the first of them.
//
//   SingleFlight<Answer> flights;
//   const auto flight = flights.Do(key, call, due, work, suits);
//
// The first call does the work, in its own thread and within its own deadline; the others wait
// for it.  How long they wait, and whether their callers go away, is each one's own affair: the
// work is cancelled when nobody waits for it any more, and not because the first one's caller has
// gone.  What the first one could not do, those who have waited do for themselves.
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
  // `allowed` is the time that the other call had for it.
  using Suits = std::function<bool(const T& value, absl::Duration allowed)>;

  struct Result {
    absl::StatusOr<Value> value;
    bool shared = false;  // another call's
  };

  SingleFlight() = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  // `due` is when the work will have ended if this call does it now.  A call waits for nobody
  // who may end after its own deadline: it does the work itself.  So does one that has waited for
  // an error, or for what does not suit it.  CANCELLED and DEADLINE_EXCEEDED are this call's own.
  Result Do(const std::string& key, const CallContext& call, absl::Time due, const Work& work,
            const Suits& suits) {
    std::shared_ptr<Flight> flight;
    bool leads = false;
    {
      MutexLock lock(mutex_);
      std::shared_ptr<Flight>& known = flights_[key];
      leads = known == nullptr;
      if (leads) known = std::make_shared<Flight>(due, call.remaining());
      flight = known;
    }
    if (leads) return {Lead(key, call, flight, work), false};
    if (flight->due <= call.deadline()) {
      const Value value = Follow(call, flight);
      if (value != nullptr && suits(*value, flight->allowed)) return {value, true};
      const absl::Status alive = call.Check("waiting for an equal request");
      if (!alive.ok()) return {alive, false};
    }
    return {work(call), false};
  }

 private:
  struct Flight {
    Flight(absl::Time due, absl::Duration allowed) : due(due), allowed(allowed) {}

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
    const std::shared_ptr<Cancellation> work = std::make_shared<Cancellation>();
    Mutex mutex;
    CondVar changed;
    int followers GUARDED_BY(mutex) = 0;
    bool leader_gone GUARDED_BY(mutex) = false;
    bool ended GUARDED_BY(mutex) = false;
    Value value GUARDED_BY(mutex);  // null: there is none
  };

  // Ends the flight, whatever becomes of the work.
  class Landing {
   public:
    Landing(SingleFlight* flights, const std::string& key, Flight* flight)
        : flights_(flights), key_(key), flight_(flight) {}
    ~Landing() {
      {
        MutexLock lock(flights_->mutex_);
        flights_->flights_.erase(key_);
      }
      MutexLock lock(flight_->mutex);
      flight_->ended = true;
      flight_->value = std::move(value);
      flight_->changed.NotifyAll();
    }
    Value value;

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
    absl::StatusOr<Value> value = work(own);
    if (value.ok()) landing.value = *value;
    if (call.cancelled()) return call.Check("search");
    return value;
  }

  // The value, or null if there is none or the call is over.
  Value Follow(const CallContext& call, const std::shared_ptr<Flight>& flight) {
    const Cancellation::Registration gone =
        call.cancellation()->OnCancel([flight = std::weak_ptr<Flight>(flight)] {
          const auto alive = flight.lock();
          if (alive == nullptr) return;
          MutexLock lock(alive->mutex);
          alive->changed.NotifyAll();
        });
    Value value;
    {
      MutexLock lock(flight->mutex);
      ++flight->followers;
      while (!flight->ended && !call.cancelled() && !call.expired()) {
        call.clock()->WaitUntil(flight->changed, flight->mutex, call.deadline());
      }
      value = flight->value;
    }
    flight->Leave(/*leader=*/false);
    return value;
  }

  Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Flight>> flights_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SINGLE_FLIGHT_H_
