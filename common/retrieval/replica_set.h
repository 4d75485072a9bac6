// The members of a replica set, and the choice among them.  For replicas.cc.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_REPLICA_SET_H_
#define SIGHTLINE_COMMON_RETRIEVAL_REPLICA_SET_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "common/retrieval/recent_latency.h"
#include "common/retrieval/replica_choice.h"
#include "common/retrieval/replicas.h"
#include "common/retrieval/retry_budget.h"

namespace sightline {

template <typename Client>
struct ReplicaMember {
  ReplicaMember(std::string address, std::shared_ptr<Client> client, absl::Duration avoid_for)
      : address(std::move(address)), client(std::move(client)), health(avoid_for) {}

  const std::string address;
  const std::shared_ptr<Client> client;
  ReplicaHealth health;
  std::atomic<int64_t> work{0};  // under way
};

// Thread-safe.  Shared with the calls that are under way.
template <typename Client>
class ReplicaSet {
 public:
  using Member = ReplicaMember<Client>;
  using Members = std::vector<std::shared_ptr<Member>>;

  ReplicaSet(MakeClient<Client> make, const ReplicaOptions& options)
      : options_(options),
        make_(std::move(make)),
        budget_(options.budget),
        draws_(options.seed),
        members_(std::make_shared<const Members>()) {}

  void SetMembers(const std::vector<std::string>& addresses) {
    const std::shared_ptr<const Members> before = members();
    auto after = std::make_shared<Members>();
    for (const std::string& address : addresses) {
      const auto known = std::find_if(before->begin(), before->end(), [&](const auto& member) {
        return member->address == address;
      });
      after->push_back(known != before->end()
                           ? *known
                           : std::make_shared<Member>(address, make_(address), options_.avoid_for));
    }
    std::lock_guard<std::mutex> lock(mutex_);
    members_ = std::move(after);
  }

  std::shared_ptr<const Members> members() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return members_;
  }

  // Who is to be asked about `target`, or null: nobody who has been `asked` already, and
  // nobody who is not known to hold it where some are.  `pay` is called once when there is
  // somebody; if it says no the answer is null, and no probe has been claimed in vain.
  template <typename Pay>
  std::shared_ptr<Member> Pick(const GenerationRef& target, const Members& asked, absl::Time now,
                               const Pay& pay) {
    const std::shared_ptr<const Members> all = members();
    absl::InlinedVector<Contender, 8> contenders;
    absl::InlinedVector<const std::shared_ptr<Member>*, 8> open;
    bool held = false;
    for (const std::shared_ptr<Member>& member : *all) {
      Contender contender;
      if (options_.fitness) contender.fitness = options_.fitness(member->address, target);
      held = held || contender.fitness != Fitness::kUnfit;
      if (std::find(asked.begin(), asked.end(), member) != asked.end()) continue;
      contender.avoided = member->health.state(now) == ReplicaHealth::State::kAvoided;
      contender.work = member->work.load(std::memory_order_relaxed);
      contenders.push_back(contender);
      open.push_back(&member);
    }
    bool paid = false;
    while (true) {
      const int chosen = ChooseReplica(contenders, Draw());
      if (chosen < 0 || (held && contenders[chosen].fitness == Fitness::kUnfit)) return nullptr;
      paid = paid || pay();
      if (!paid) return nullptr;
      ReplicaHealth& health = (*open[chosen])->health;
      const bool probe =
          !contenders[chosen].avoided && health.state(now) == ReplicaHealth::State::kProbeDue;
      if (!probe || health.ClaimProbe(now)) return *open[chosen];
      contenders[chosen].avoided = true;  // another call probes it
    }
  }

  const ReplicaOptions& options() const { return options_; }
  RetryBudget& budget() { return budget_; }
  RecentLatency& latency() { return latency_; }

 private:
  // The next of a sequence in which neighbours share nothing (SplitMix64).
  uint64_t Draw() {
    uint64_t z = draws_.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  const ReplicaOptions options_;
  const MakeClient<Client> make_;
  RetryBudget budget_;
  RecentLatency latency_;
  std::atomic<uint64_t> draws_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Members> members_;  // guarded by mutex_
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_REPLICA_SET_H_
