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
#include "common/api/precision.h"
#include "common/base/mutex.h"
#include "common/base/published.h"
#include "common/replicas/replica_choice.h"
#include "common/replicas/replicas.h"
#include "common/replicas/retry_budget.h"
#include "common/replicas/roster.h"

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
  // somebody; if it says no the answer is null, and no probe has been claimed in vain.  Nobody
  // who computes otherwise than is wished, as far as it is known.
  template <typename Pay>
  std::shared_ptr<Member> Pick(const GenerationRef& target, const PrecisionWish& wish,
                               const Members& asked, absl::Time now, const Pay& pay) {
    const std::shared_ptr<const Lineup> lineup = lineup_.Get();
    bool paid = false;
    while (true) {
      const Choice choice = Choose(*lineup, target, wish, asked, now);
      if (choice.member == nullptr) return nullptr;
      paid = paid || pay();
      if (!paid) return nullptr;
      // Where another call has claimed the probe, the member is avoided by now.
      if (!choice.probe || choice.member->health.ClaimProbe(now)) return choice.member;
    }
  }

  // What `model` is computed in by whomever Pick would give now.  None if it is not known who
  // holds `target`.
  Precision ChoosePrecision(const GenerationRef& target, const std::string& model, absl::Time now) {
    const std::shared_ptr<const Lineup> lineup = lineup_.Get();
    if (HoldersOf(lineup->roster, target) == nullptr) return absl::nullopt;
    const Choice choice = Choose(*lineup, target, {}, {}, now);
    if (choice.member == nullptr) return absl::nullopt;
    return PrecisionOf(lineup->roster, choice.place, model);
  }

  // A call has found out that the roster is out of date.
  void NotePrecisionChanged(const Member& member) {
    if (options_.precision_changed != nullptr) options_.precision_changed(member.address);
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
    int place = 0;       // in roster.addresses
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
      members.push_back(found != known.end() ? found->second
                                             : std::make_shared<Member>(address, make_(address),
                                                                        options_.avoid_for));
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

  static std::string PrecisionOf(const Roster& roster, int place, const std::string& model) {
    if (static_cast<size_t>(place) >= roster.precisions.size()) return "";
    const auto found = roster.precisions[place].find(model);
    return found == roster.precisions[place].end() ? std::string() : found->second;
  }

  // Who computes as is wished; then, if that will do, whoever there is.
  Choice Choose(const Lineup& lineup, const GenerationRef& target, const PrecisionWish& wish,
                const Members& asked, absl::Time now) {
    // Of whom it is not known what they hold, it is not known how they compute it: they are asked
    // for it, and refuse.
    const bool wished = wish.precision.has_value() && HoldersOf(lineup.roster, target) != nullptr;
    const auto anybody = [](int) { return true; };
    if (!wished) return ChooseAmong(lineup, target, asked, now, anybody);
    const auto as_wished = [&](int place) {
      return PrecisionOf(lineup.roster, place, wish.model) == *wish.precision;
    };
    Choice choice = ChooseAmong(lineup, target, asked, now, as_wished);
    if (!wish.or_any) return choice;
    const bool sound = choice.member != nullptr && IsSound(*choice.member, now);
    if (sound) return choice;
    Choice any = ChooseAmong(lineup, target, asked, now, anybody);
    return any.member != nullptr ? any : choice;
  }

  static bool IsSound(Member& member, absl::Time now) {
    return member.health.state(now) != ReplicaHealth::State::kAvoided;
  }

  // Of the best that are there: those that hold the target and are in good health, those that
  // are a last resort, and then the same of those that are passed over.  Where nobody is known
  // to hold it, of all.
  template <typename Suits>
  Choice ChooseAmong(const Lineup& lineup, const GenerationRef& target, const Members& asked,
                     absl::Time now, const Suits& suits) {
    using State = ReplicaHealth::State;
    const Roster::Holders* const holders = HoldersOf(lineup.roster, target);
    const absl::Span<const int> lists[] = {
        holders != nullptr ? holders->fit : lineup.everybody,
        holders != nullptr ? absl::Span<const int>(holders->last_resort) : absl::Span<const int>()};
    const auto member = [&](absl::Span<const int> list, int i) -> const std::shared_ptr<Member>& {
      return lineup.members[list[i]];
    };
    for (const bool passed_over : {false, true}) {
      for (const absl::Span<const int> list : lists) {
        const int drawn = DrawReplica(
            static_cast<int>(list.size()),
            [&](int i) {
              const std::shared_ptr<Member>& candidate = member(list, i);
              return (passed_over || IsSound(*candidate, now)) && suits(list[i]) &&
                     std::find(asked.begin(), asked.end(), candidate) == asked.end();
            },
            [&](int i) { return member(list, i)->work.load(std::memory_order_relaxed); },
            [this] { return Draw(); });
        if (drawn < 0) continue;
        const std::shared_ptr<Member>& chosen = member(list, drawn);
        return {chosen, list[drawn], !passed_over && chosen->health.state(now) == State::kProbeDue};
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
