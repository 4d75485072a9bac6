// Several replicas of one server behind the client of one.
//
// Who is asked.  Of two replicas drawn at random the one with less work under way, among
// those that hold the request's generation and are in good health (replica_choice.h).
//
// Who is asked next.  A call that fails in a way that another replica may not - the
// replica is gone, full or broken - goes to another one inside the same deadline; so does, for
// nothing, one that a replica has refused because it does not hold the generation.  When a
// replica does not answer for a while, another is asked while the first goes on; the first
// good answer counts, and the others are cancelled.  All of this, refusals apart, is paid
// for from a retry budget, so that a fleet that is full is not asked twice.  Other errors
// end a call: they would come again.
//
// Members may come and go at any time; calls that are under way end where they are.
//
//   auto reranker = ReplicatedReranker(make, options);
//   reranker->SetRoster(roster);  // addresses, and who of them holds what
#ifndef SIGHTLINE_COMMON_REPLICAS_REPLICAS_H_
#define SIGHTLINE_COMMON_REPLICAS_REPLICAS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/api/clients.h"
#include "common/base/timer_thread.h"
#include "common/metrics/metrics.h"
#include "common/replicas/retry_budget.h"
#include "common/replicas/roster.h"

namespace sightline {

// What is counted of the sets of one kind.
struct ReplicaMetrics {
  Counter calls;
  Counter after_failure;  // attempts beyond the first, by what made them
  Counter after_refusal;
  Counter after_silence;
  Counter hedges;
  Counter unpaid;  // attempts that the retry budget did not allow
};

// `set` is "encoder", "shard" or "reranker".
ReplicaMetrics AddReplicaMetrics(MetricsRegistry* registry, absl::string_view set);

struct ReplicaOptions {
  // How long a replica is passed over after an UNAVAILABLE, by the clock of the call.
  absl::Duration avoid_for = absl::Seconds(1);

  // Attempts of one call, the first included; refusals for want of a generation are not
  // counted.
  int max_attempts = 3;

  // When another replica is asked beside one that does not answer: after this part of the
  // time until the answer is wanted, but no later than `max_patience`.
  double patience = 0.4;
  absl::Duration max_patience = absl::Seconds(1);

  // Whether another is asked even sooner: after what 95 of 100 calls of the same method take.
  // Costs up to 5 % more calls and shortens the slowest.
  bool hedge = false;

  RetryBudgetOptions budget;

  // Runs on the clock of the calls.  Null: nobody is asked for being slow.
  std::shared_ptr<TimerThread> timer;

  // Told the address of a replica that computes in another precision than the roster says.  Runs
  // on any thread, with no lock held; may be empty.  Outlives the calls.
  std::function<void(const std::string& address)> precision_changed;

  // For the draws.  Give each router its own.
  uint64_t seed = 0;

  ReplicaMetrics metrics;
};

// Thread-safe, as all clients are.  May be dropped while calls are under way.
template <typename Client>
class ReplicaClient : public Client {
 public:
  // From now on there are these replicas and no others, and this is known of them.  Those
  // that were there already, by address, keep their client and their health.  Without any,
  // calls are UNAVAILABLE.  No call waits for this.
  virtual void SetRoster(Roster roster) = 0;
};

// Makes the client of one address, never null.
template <typename Client>
using MakeClient = std::function<std::shared_ptr<Client>(const std::string& address)>;

// Never null; without members at first.
std::shared_ptr<ReplicaClient<QueryEncoderClient>> ReplicatedEncoder(
    MakeClient<QueryEncoderClient> make, const ReplicaOptions& options = {});
std::shared_ptr<ReplicaClient<IndexSearchClient>> ReplicatedIndexSearch(
    MakeClient<IndexSearchClient> make, const ReplicaOptions& options = {});
std::shared_ptr<ReplicaClient<RerankerClient>> ReplicatedReranker(
    MakeClient<RerankerClient> make, const ReplicaOptions& options = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_REPLICAS_H_
