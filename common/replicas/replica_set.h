// The members of a replica set, and the choice among them.  For replicas.cc.
#ifndef SIGHTLINE_COMMON_REPLICAS_REPLICA_SET_H_
#define SIGHTLINE_COMMON_REPLICAS_REPLICA_SET_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/published.h"
#include "common/replicas/replica_choice.h"
#include "common/replicas/replicas.h"
#include "common/replicas/retry_budget.h"
#include "common/replicas/roster.h"

namespace sightline {

template <typename Client>
struct ReplicaMember {
  ReplicaMember(std::shared_ptr<Client> client, absl::Duration avoid_for)
      : client(std::move(client)), health(avoid_for) {}

  const std::shared_ptr<Client> client;
  ReplicaHealth health;
  std::atomic<int64_t> work{0};  // under way
};

// Thread-safe.  Shared with the calls that are under way.
//
// Members and who holds what are one immutable value that calls read without a lock; what
// calls teach about a member is in the member, which outlives such values.
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
        lineup_(std::make_shared<const Lineup>()) {}

  void SetRoster(Roster roster) {
    MutexLock lock(roster_mutex_);
    const std::shared_ptr<const Lineup> before = lineup_.Get();
    auto after = std::make_shared<Lineup>();
    if (roster.addresses == before->roster.addresses) {
      after->members = before->members;
      after->everybody = before->everybody;
    } else {
      after->members = MembersAt(*roster.addresses, *before);
      after->everybody.resize(after->members.size());
      std::iota(after->everybody.begin(), after->everybody.end(), 0);
    }
    after->roster = std::move(roster);
    lineup_.Set(std::move(after));
  }

  size_t size() const { return lineup_.Get()->members.size(); }

  // Who is to be asked about `target`, or null: nobody who has been `asked` already, and
  // nobody who is not known to hold it where some are.  `pay` is called once when there is
  // somebody; if it says no the answer is null, and no probe has been claimed in vain.
  template <typename Pay>
  std::shared_ptr<Member> Pick(const GenerationRef& target, const Members& asked, absl::Time now,
                               const Pay& pay) {
    const std::shared_ptr<const Lineup> lineup = lineup_.Get();
    bool paid = false;
    while (true) {
      const Choice choice = Choose(*lineup, target, asked, now);
      if (choice.member == nullptr) return nullptr;
      paid = paid || pay();
      if (!paid) return nullptr;
      // Where another call has claimed the probe, the member is avoided by now.
      if (!choice.probe || choice.member->health.ClaimProbe(now)) return choice.member;
    }
  }

  const ReplicaOptions& options() const { return options_; }
  RetryBudget& budget() { return budget_; }

 private:
  struct Lineup {
    Roster roster;
    Members members;             // at roster.addresses
    std::vector<int> everybody;  // 0, 1, ...
  };

  struct Choice {
    std::shared_ptr<Member> member;
    bool probe = false;  // it has been avoided, and is due to be asked again
  };

  Members MembersAt(const std::vector<std::string>& addresses, const Lineup& before) const {
    std::unordered_map<std::string, std::shared_ptr<Member>> known;
    for (size_t i = 0; i < before.members.size(); ++i) {
      known.emplace((*before.roster.addresses)[i], before.members[i]);
    }
    Members members;
    members.reserve(addresses.size());
    for (const std::string& address : addresses) {
      const auto found = known.find(address);
      members.push_back(found != known.end()
                            ? found->second
                            : std::make_shared<Member>(make_(address), options_.avoid_for));
    }
    return members;
  }

  static const Roster::Holders* HoldersOf(const Roster& roster, const GenerationRef& target) {
    for (const Roster::Holders& holders : roster.holders) {
      const GenerationRef& held = holders.generation;
      if (held.generation == target.generation && held.index == target.index &&
          held.space == target.space) {
        return &holders;
      }
    }
    return nullptr;
  }

  // Of the best that are there: those that hold the target and are in good health, those that
  // have not been heard of lately, and then the same of those that are passed over.  Where
  // nobody is known to hold it, of all.
  Choice Choose(const Lineup& lineup, const GenerationRef& target, const Members& asked,
                absl::Time now) {
    using State = ReplicaHealth::State;
    const Roster::Holders* const holders = HoldersOf(lineup.roster, target);
    const absl::Span<const int> lists[] = {
        holders != nullptr ? holders->fit : lineup.everybody,
        holders != nullptr ? absl::Span<const int>(holders->silent) : absl::Span<const int>()};
    const auto member = [&](absl::Span<const int> list, int i) -> const std::shared_ptr<Member>& {
      return lineup.members[list[i]];
    };
    for (const bool passed_over : {false, true}) {
      for (const absl::Span<const int> list : lists) {
        const int drawn = DrawReplica(
            static_cast<int>(list.size()),
            [&](int i) {
              const std::shared_ptr<Member>& candidate = member(list, i);
              return (passed_over || candidate->health.state(now) != State::kAvoided) &&
                     std::find(asked.begin(), asked.end(), candidate) == asked.end();
            },
            [&](int i) { return member(list, i)->work.load(std::memory_order_relaxed); },
            [this] { return Draw(); });
        if (drawn < 0) continue;
        const std::shared_ptr<Member>& chosen = member(list, drawn);
        return {chosen, !passed_over && chosen->health.state(now) == State::kProbeDue};
      }
    }
    return {};
  }

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
  std::atomic<uint64_t> draws_;
  Mutex roster_mutex_;  // of SetRoster, so that rosters follow each other
  Published<Lineup> lineup_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_REPLICA_SET_H_
