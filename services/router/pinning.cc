#include "services/router/pinning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

struct Tally {
  int live = 0;
  int ready = 0;  // of the live ones
};

Tally Count(const SetView& set, const std::string& generation) {
  Tally tally;
  for (const ReplicaView& replica : set.replicas) {
    if (!replica.live) continue;
    ++tally.live;
    tally.ready += static_cast<int>(replica.ready.count(generation));
  }
  return tally;
}

// By a live replica.
bool HeldIn(const SetView& set, const std::string& generation) {
  return Count(set, generation).ready > 0;
}

// The sets that have a part of `generation`, the shards first.
std::vector<const SetView*> SetsOf(const IndexView& index, const GenerationView& generation) {
  std::vector<const SetView*> sets;
  for (const SetView& shard : index.shards) sets.push_back(&shard);
  sets.push_back(&index.encoders);
  if (generation.reranked) sets.push_back(&index.rerankers);
  return sets;
}

// Whether each set that has live replicas has `needed(live)` of them that hold
// `generation`, and some shard does.
template <typename Needed>
bool Holds(const IndexView& index, const std::string& generation, const GenerationView& view,
           const Needed& needed) {
  const std::vector<const SetView*> sets = SetsOf(index, view);
  bool any_shard = false;
  for (size_t i = 0; i < sets.size(); ++i) {
    const Tally tally = Count(*sets[i], generation);
    if (tally.live == 0) continue;
    if (tally.ready < needed(tally.live)) return false;
    any_shard = any_shard || i < index.shards.size();
  }
  return any_shard;
}

// What there is of `generation` where nothing is whole.
struct Fragment {
  int encoders = 0;  // 1 if one holds it: without it there is no answer, whatever shards hold
  int shards = 0;
  int rerankers = 0;  // 1 likewise
  int64_t sequence = 0;

  bool operator>(const Fragment& other) const {
    return std::tie(encoders, shards, rerankers, sequence) >
           std::tie(other.encoders, other.shards, other.rerankers, other.sequence);
  }
};

Fragment FragmentOf(const IndexView& index, const std::string& generation,
                    const GenerationView& view) {
  const auto held = [&](const SetView& set) { return HeldIn(set, generation) ? 1 : 0; };
  Fragment fragment{held(index.encoders), 0, view.reranked ? held(index.rerankers) : 0,
                    view.sequence};
  for (const SetView& shard : index.shards) fragment.shards += held(shard);
  return fragment;
}

// The newest of those that `fits`; "" if none does.
template <typename Fits>
std::string Newest(const IndexView& index, const Fits& fits) {
  std::string newest;
  for (const auto& [generation, view] : index.generations) {
    if (!newest.empty() && view.sequence <= index.generations.at(newest).sequence) continue;
    if (fits(generation, view)) newest = generation;
  }
  return newest;
}

// Whether `address` may go in this one set, for the sake of `newer`.
bool MayReleaseIn(const SetView& set, const std::string& pinned, const std::string& newer,
                  absl::string_view address) {
  bool first = true, held = false;
  bool before = true;
  for (const ReplicaView& replica : set.replicas) {
    if (replica.address == address) {
      before = false;
      continue;
    }
    if (!replica.live) continue;
    const bool holds_pinned = replica.ready.count(pinned) > 0;
    if (!holds_pinned && replica.ready.count(newer) == 0) return false;
    held = held || (holds_pinned && !replica.draining);
    // For whichever generation: it may have been granted that already.
    if (before && !replica.no_room.empty()) first = false;
  }
  return first && held;
}

bool IsIn(const SetView& set, absl::string_view address) {
  return std::any_of(set.replicas.begin(), set.replicas.end(),
                     [&](const ReplicaView& replica) { return replica.address == address; });
}

std::vector<const SetView*> SetsWith(const IndexView& index, absl::string_view address) {
  std::vector<const SetView*> sets;
  for (const SetView* set : SetsOf(index, {0, /*reranked=*/true})) {
    if (IsIn(*set, address)) sets.push_back(set);
  }
  return sets;
}

bool WantsRoom(const SetView& set, absl::string_view address, const std::string& generation) {
  return std::any_of(set.replicas.begin(), set.replicas.end(), [&](const ReplicaView& replica) {
    return replica.address == address && replica.live && replica.no_room.count(generation) > 0;
  });
}

}  // namespace

bool HeldWhole(const IndexView& index, const std::string& generation) {
  const auto view = index.generations.find(generation);
  return view != index.generations.end() &&
         Holds(index, generation, view->second, [](int) { return 1; });
}

std::string NotHeld(const IndexView& index, const std::string& generation) {
  const auto found = index.generations.find(generation);
  std::vector<std::string> parts;
  for (size_t i = 0; i < index.shards.size(); ++i) {
    if (!HeldIn(index.shards[i], generation)) parts.push_back(absl::StrCat("shard ", i));
  }
  if (!HeldIn(index.encoders, generation)) parts.push_back("the encoder");
  const bool reranked = found != index.generations.end() && found->second.reranked &&
                        !index.rerankers.replicas.empty();
  if (reranked && !HeldIn(index.rerankers, generation)) parts.push_back("the reranker");
  return absl::StrJoin(parts, ", ");
}

int CountSilentSets(const IndexView& index) {
  const std::vector<const SetView*> sets = SetsOf(index, {0, /*reranked=*/true});
  return static_cast<int>(std::count_if(sets.begin(), sets.end(), [](const SetView* set) {
    return !set->replicas.empty() &&
           std::none_of(set->replicas.begin(), set->replicas.end(),
                        [](const ReplicaView& replica) { return replica.live; });
  }));
}

bool Qualifies(const IndexView& index, const std::string& generation, double ready_share) {
  const auto view = index.generations.find(generation);
  return view != index.generations.end() &&
         Holds(index, generation, view->second, [ready_share](int live) {
           // Not a hair more than the share, for it is no exact number.
           return std::max(1, static_cast<int>(std::ceil(ready_share * live - 1e-9)));
         });
}

std::string ChooseGeneration(const IndexView& index, const std::string& pinned,
                             double ready_share) {
  const auto old = index.generations.find(pinned);
  const bool known = old != index.generations.end();
  const std::string next = Newest(index, [&](const std::string& generation, const auto& view) {
    if (known && view.sequence <= old->second.sequence) return false;
    return Qualifies(index, generation, ready_share);
  });
  if (!next.empty()) return next;
  if (HeldWhole(index, pinned)) return pinned;
  const std::string whole = Newest(index, [&](const std::string& generation, const auto&) {
    return HeldWhole(index, generation);
  });
  if (!whole.empty()) return whole;

  std::string best = pinned;
  Fragment most;  // nothing at all
  for (const auto& [generation, view] : index.generations) {
    const Fragment fragment = FragmentOf(index, generation, view);
    if (fragment.shards == 0 || !(fragment > most)) continue;
    best = generation;
    most = fragment;
  }
  return best;
}

bool MayRelease(const IndexView& index, const std::string& pinned, absl::string_view address) {
  const auto old = index.generations.find(pinned);
  if (old == index.generations.end()) return false;
  const std::vector<const SetView*> sets = SetsWith(index, address);
  for (const auto& [generation, view] : index.generations) {
    if (view.sequence <= old->second.sequence || sets.empty()) continue;
    const bool may = std::all_of(sets.begin(), sets.end(), [&, &newer = generation](auto* set) {
      return WantsRoom(*set, address, newer) && MayReleaseIn(*set, pinned, newer, address);
    });
    if (may) return true;
  }
  return false;
}

bool IsLiveBeside(const IndexView& index, absl::string_view other, absl::string_view address) {
  const std::vector<const SetView*> sets = SetsWith(index, address);
  return std::any_of(sets.begin(), sets.end(), [&](const SetView* set) {
    return std::any_of(set->replicas.begin(), set->replicas.end(), [&](const ReplicaView& replica) {
      return replica.address == other && replica.live;
    });
  });
}

}  // namespace sightline
