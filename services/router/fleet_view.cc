#include "services/router/fleet_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

bool SameGeneration(const GenerationRef& a, const GenerationRef& b) {
  return a.generation == b.generation && a.index == b.index && a.space == b.space;
}

// The entry of `ref`, made if there is none.  One member's generations mostly are those of
// the member before it, so `hint`, where the search begins, is mostly right.
Roster::Holders* HoldersOf(const GenerationRef& ref, std::vector<Roster::Holders>* all,
                           size_t* hint) {
  for (size_t i = 0; i < all->size(); ++i) {
    const size_t at = (*hint + i) % all->size();
    if (!SameGeneration((*all)[at].generation, ref)) continue;
    *hint = at + 1;
    return &(*all)[at];
  }
  all->push_back({ref, {}, {}});
  return &all->back();
}

// Whether the set has a part of that index.
bool Serves(const ReplicaSetId& id, const std::string& index) {
  return id.kind != ReplicaSetId::Kind::kShard || id.index == index;
}

// The set in the view of an index that it serves.
template <typename View>
auto& SetIn(const ReplicaSetId& id, View& view) {
  if (id.kind == ReplicaSetId::Kind::kEncoder) return view.encoders;
  if (id.kind == ReplicaSetId::Kind::kReranker) return view.rerankers;
  return view.shards[id.shard];
}

}  // namespace

FleetView::FleetView(const Membership& members, absl::Duration dead_after,
                     absl::Duration restored_after, absl::Time now)
    : dead_after_(dead_after), restored_after_(restored_after) {
  SetMembers(members, now);
}

void FleetView::SetMembers(const Membership& members, absl::Time now) {
  std::unordered_map<std::string, Backend> before;
  before.swap(backends_);
  std::vector<std::shared_ptr<const Addresses>> lists;
  for (const Set& set : sets_) lists.push_back(set.addresses);
  sets_.clear();
  for (const auto& [name, shards] : members.indexes) {
    Index& index = indexes_.try_emplace(name, restored_after_).first->second;
    index.changed = true;
    index.view.shards.assign(shards.size(), SetView());
    index.view.encoders = index.view.rerankers = SetView();
  }
  using Kind = ReplicaSetId::Kind;
  AddSet({Kind::kEncoder}, "query_encoder", members.encoders, now, &before, lists);
  AddSet({Kind::kReranker}, "reranker", members.rerankers, now, &before, lists);
  for (const auto& [name, shards] : members.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      AddSet({Kind::kShard, name, static_cast<int>(shard)}, "index_search", shards[shard], now,
             &before, lists);
    }
  }
  for (const auto& [address, backend] : backends_) Show(backend);
  nobody_dies_before_ = absl::InfinitePast();
}

void FleetView::AddSet(ReplicaSetId id, const char* service, const Addresses& addresses,
                       absl::Time now, std::unordered_map<std::string, Backend>* before,
                       const std::vector<std::shared_ptr<const Addresses>>& lists) {
  Set set;
  // The same list if it was there, which says that the members are.
  const size_t number = sets_.size();
  set.addresses = number < lists.size() && *lists[number] == addresses
                      ? lists[number]
                      : std::make_shared<const Addresses>(addresses);
  for (size_t place = 0; place < addresses.size(); ++place) {
    const auto [entry, is_new] = backends_.try_emplace(addresses[place]);
    Backend& backend = entry->second;
    if (is_new) {
      const auto known = before->find(addresses[place]);
      if (known != before->end() && known->second.service == service) {
        backend = std::move(known->second);
        backend.seats.clear();
      } else {
        backend.service = service;
        backend.heard = now;
      }
    }
    backend.seats.push_back({number, place});
    set.members.push_back(&backend);
  }
  for (auto& [name, index] : indexes_) {
    if (!Serves(id, name)) continue;
    std::vector<ReplicaView>& replicas = SetIn(id, index.view).replicas;
    for (const std::string& address : addresses) {
      replicas.emplace_back();
      replicas.back().address = address;
    }
  }
  set.id = std::move(id);
  sets_.push_back(std::move(set));
}

void FleetView::Note(const std::string& address, const absl::StatusOr<ServerStatus>& answer,
                     absl::Time at) {
  const auto found = backends_.find(address);
  if (found == backends_.end()) return;
  Backend& backend = found->second;
  const bool was_silent = backend.missed >= kSilentAfter;
  const bool was_draining = backend.draining;
  if (!backend.asked) MarkIndexes(backend);
  backend.asked = true;
  backend.reachable = answer.ok();
  static const auto* const nothing = new std::vector<GenerationStatus>;
  const std::vector<GenerationStatus>* said = &backend.generations;
  bool heard = false;
  if (absl::IsUnimplemented(answer.status())) {
    backend.error = absl::StrCat("is no server of this fleet: ", answer.status().message());
    said = nothing;
  } else if (!answer.ok()) {
    backend.error = std::string(answer.status().message());
  } else if (answer->service != backend.service) {
    backend.error = absl::StrCat("is a ", answer->service, ", configured as ", backend.service);
    said = nothing;
  } else {
    backend.error.clear();
    said = &answer->generations;
    backend.draining = answer->draining;
    heard = true;
  }
  if (heard) {
    backend.heard = at;
    backend.missed = 0;
    if (!backend.live) {
      backend.live = true;
      nobody_dies_before_ = std::min(nobody_dies_before_, at + dead_after_);
      ShowLive(backend);
    }
  } else {
    ++backend.missed;
  }
  ModelPrecisions precisions = heard             ? PrecisionsOf(*answer)
                               : said == nothing ? ModelPrecisions()
                                                 : backend.precisions;
  const bool computes_otherwise = precisions != backend.precisions;
  backend.precisions.swap(precisions);
  if (!SayTheSame(*said, backend.generations)) {
    backend.generations = *said;
    NoteGenerations(backend);
    Show(backend);
    MarkRosters(backend);
  } else if (was_draining != backend.draining) {
    Show(backend);
    MarkRosters(backend);
  } else if (computes_otherwise || was_silent != (backend.missed >= kSilentAfter)) {
    MarkRosters(backend);
  }
}

void FleetView::NoteTime(absl::Time now) {
  if (now < nobody_dies_before_) return;
  nobody_dies_before_ = absl::InfiniteFuture();
  for (auto& [address, backend] : backends_) {
    const absl::Time death = backend.heard + dead_after_;
    if (!backend.live) continue;
    if (now < death) {
      nobody_dies_before_ = std::min(nobody_dies_before_, death);
      continue;
    }
    backend.live = false;
    ShowLive(backend);
  }
}

void FleetView::NoteGenerations(const Backend& backend) {
  for (const GenerationStatus& said : backend.generations) {
    const auto index = indexes_.find(said.info.ref.index);
    if (index == indexes_.end()) continue;
    const std::string& generation = said.info.ref.generation;
    GenerationView& view = index->second.view.generations[generation];
    if (said.state != GenerationState::kReady) continue;
    Sayings& sayings = index->second.sayings[generation];
    if (backend.service == "index_search") sayings.searched = said.info;
    if (backend.service == "reranker") sayings.rerankers = said.info.rerankers;
    view.reranked = sayings.rerankers.has_value()  ? !sayings.rerankers->empty()
                    : sayings.searched.has_value() ? !sayings.searched->rerankers.empty()
                                                   : false;
  }
}

void FleetView::Show(const Backend& backend) {
  for (const Seat& seat : backend.seats) {
    const ReplicaSetId& id = sets_[seat.set].id;
    for (auto& [name, index] : indexes_) {
      if (!Serves(id, name)) continue;
      ReplicaView& replica = SetIn(id, index.view).replicas[seat.place];
      replica.live = backend.live;
      replica.draining = backend.draining;
      replica.ready.clear();
      replica.no_room.clear();
      for (const GenerationStatus& generation : backend.generations) {
        if (generation.info.ref.index != name) continue;
        if (generation.state == GenerationState::kRefused && generation.needs_room) {
          replica.no_room.insert(generation.info.ref.generation);
        }
        if (Holds(generation, id, static_cast<int>(index.view.shards.size()))) {
          replica.ready.insert(generation.info.ref.generation);
        }
      }
      index.changed = true;
    }
  }
}

void FleetView::ShowLive(const Backend& backend) {
  for (const Seat& seat : backend.seats) {
    const ReplicaSetId& id = sets_[seat.set].id;
    for (auto& [name, index] : indexes_) {
      if (!Serves(id, name)) continue;
      SetIn(id, index.view).replicas[seat.place].live = backend.live;
      index.changed = true;
    }
  }
}

void FleetView::MarkIndexes(const Backend& backend) {
  for (const Seat& seat : backend.seats) {
    for (auto& [name, index] : indexes_) {
      index.changed = index.changed || Serves(sets_[seat.set].id, name);
    }
  }
}

void FleetView::MarkRosters(const Backend& backend) {
  for (const Seat& seat : backend.seats) sets_[seat.set].changed = true;
}

absl::Time FleetView::Settle(const std::string& name, const std::string& pinned, absl::Time now) {
  std::map<std::string, int64_t> reported;  // by those that are there
  std::set<std::string> left_behind;        // by the dead
  for (const auto& [address, backend] : backends_) {
    for (const GenerationStatus& said : backend.generations) {
      if (said.info.ref.index != name) continue;
      if (!backend.live) {
        left_behind.insert(said.info.ref.generation);
        continue;
      }
      int64_t& highest = reported[said.info.ref.generation];
      highest = std::max(highest, said.sequence);
    }
  }
  Index& index = indexes_.at(name);
  index.sequences.Note(reported, now);
  auto& generations = index.view.generations;
  for (auto it = generations.begin(); it != generations.end();) {
    const std::string& generation = it->first;
    if (generation == pinned || reported.count(generation) + left_behind.count(generation) > 0) {
      it->second.sequence = index.sequences.Of(generation);
      ++it;
    } else {
      index.sayings.erase(generation);
      index.sequences.Forget(generation);
      it = generations.erase(it);
    }
  }
  return index.sequences.may_change_at();
}

bool FleetView::TakeChanged(const std::string& name) {
  return std::exchange(indexes_.at(name).changed, false);
}

Roster FleetView::RosterOf(const Set& set) const {
  Roster roster;
  roster.addresses = set.addresses;
  const bool shard = set.id.kind == ReplicaSetId::Kind::kShard;
  const int shard_count = shard ? static_cast<int>(index(set.id.index).shards.size()) : 0;
  for (size_t i = 0; i < set.members.size(); ++i) {
    const Backend& backend = *set.members[i];
    const bool last = backend.missed >= kSilentAfter || backend.draining;
    if (!shard) roster.precisions.push_back(backend.precisions);
    size_t hint = 0;
    for (const GenerationStatus& held : backend.generations) {
      if (!Holds(held, set.id, shard_count)) continue;
      Roster::Holders* const holders = HoldersOf(held.info.ref, &roster.holders, &hint);
      (last ? holders->last_resort : holders->fit).push_back(static_cast<int>(i));
    }
  }
  return roster;
}

bool FleetView::AllAsked(const std::string& name) const {
  return std::all_of(sets_.begin(), sets_.end(), [&](const Set& set) {
    if (!Serves(set.id, name)) return true;
    if (set.members.empty()) return set.id.kind == ReplicaSetId::Kind::kReranker;
    return std::all_of(set.members.begin(), set.members.end(),
                       [](const Backend* backend) { return backend->asked; });
  });
}

bool FleetView::WantsRoomFirst(const std::string& address, const std::string& name) const {
  const auto found = backends_.find(address);
  if (found == backends_.end()) return false;
  const Backend& backend = found->second;
  const bool wants =
      std::any_of(backend.generations.begin(), backend.generations.end(),
                  [&](const GenerationStatus& generation) {
                    return generation.needs_room && generation.info.ref.index == name;
                  });
  return wants && std::all_of(backend.seats.begin(), backend.seats.end(), [&](const Seat& seat) {
           const ReplicaSetId& id = sets_[seat.set].id;
           if (!Serves(id, name)) return true;
           const auto& replicas = SetIn(id, index(name)).replicas;
           return std::none_of(
               replicas.begin(), replicas.begin() + static_cast<ptrdiff_t>(seat.place),
               [](const ReplicaView& replica) { return replica.live && !replica.no_room.empty(); });
         });
}

std::unique_ptr<GenerationInfo> FleetView::Info(const std::string& name,
                                                const std::string& generation) const {
  const Index& index = indexes_.at(name);
  const auto sayings = index.sayings.find(generation);
  if (sayings == index.sayings.end() || !sayings->second.searched.has_value()) return nullptr;
  auto info = std::make_unique<GenerationInfo>(*sayings->second.searched);
  if (sayings->second.rerankers.has_value()) info->rerankers = *sayings->second.rerankers;
  return info;
}

std::string FleetView::ErrorOf(const Backend& backend) {
  if (!backend.error.empty()) return backend.error;
  std::vector<std::string> refusals;
  if (backend.draining) refusals.push_back("is about to end");
  for (const GenerationStatus& status : backend.generations) {
    if (status.state != GenerationState::kRefused) continue;
    refusals.push_back(absl::StrCat("refuses ", status.info.ref.index, "/",
                                    status.info.ref.generation, ": ", status.reason));
  }
  return absl::StrJoin(refusals, "; ");
}

std::vector<BackendStatus> FleetView::Describe() const {
  std::vector<BackendStatus> result;
  for (const auto& [address, backend] : backends_) {
    std::vector<std::string> shards;
    for (const Seat& seat : backend.seats) {
      const ReplicaSetId& id = sets_[seat.set].id;
      if (id.kind == ReplicaSetId::Kind::kShard) {
        shards.push_back(absl::StrCat("indexes/", id.index, "/shards/", id.shard));
      }
    }
    result.push_back({backend.service, address, backend.reachable, ErrorOf(backend), shards});
  }
  std::sort(result.begin(), result.end(),
            [](const BackendStatus& a, const BackendStatus& b) { return a.address < b.address; });
  return result;
}

}  // namespace sightline
