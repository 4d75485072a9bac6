#include "services/router/status_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

bool HoldsShard(const GenerationStatus& generation, int shard) {
  return std::count(generation.held_shards.begin(), generation.held_shards.end(), shard) > 0;
}

bool Same(const RerankerInfo& a, const RerankerInfo& b) {
  return a.name == b.name && a.model == b.model && a.declared.by_default == b.declared.by_default &&
         SameCombination(a.declared.combination, b.declared.combination);
}

bool Same(const std::vector<RerankerInfo>& a, const std::vector<RerankerInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RerankerInfo& x, const RerankerInfo& y) { return Same(x, y); });
}

std::string GenerationOf(const std::shared_ptr<const GenerationInfo>& info) {
  return info == nullptr ? std::string() : info->ref.generation;
}

}  // namespace

StatusBoard::StatusBoard(const Membership& members, StatusBoardOptions options, Clock* clock,
                         MetricsRegistry* metrics)
    : options_(std::move(options)), clock_(clock), started_(clock->Now()) {
  for (const auto& [name, shards] : members.indexes) {
    indexes_[name].sequence = metrics->AddGauge(
        "pinned_generation_sequence",
        "Sequence of the generation that new requests go to; 0 while there is none.",
        {{"index", name}});
    indexes_[name].grants = ReleaseGrants(options_.poll_timeout);
    indexes_[name].sequences = ReportedSequences(options_.restored_after);
  }
  SetMembers(members);
}

void StatusBoard::SetMembers(const Membership& members) {
  std::lock_guard<std::mutex> lock(mutex_);
  members_ = members;
  std::map<std::string, Backend> before;
  before.swap(backends_);
  const auto add = [&](const std::string& address, const char* service) {
    const auto known = before.find(address);
    const auto [added, is_new] = backends_.emplace(address, Backend());
    if (!is_new) return &added->second;
    if (known != before.end() && known->second.service == service) {
      added->second = std::move(known->second);
      added->second.shards.clear();
    } else {
      added->second.service = service;
      added->second.heard = clock_->Now();
    }
    return &added->second;
  };
  for (const std::string& address : members.encoders) add(address, "query_encoder");
  for (const std::string& address : members.rerankers) add(address, "reranker");
  for (const auto& [index, shards] : members.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      for (const std::string& address : shards[shard]) {
        add(address, "index_search")
            ->shards.push_back(absl::StrCat("indexes/", index, "/shards/", shard));
      }
    }
  }
}

void StatusBoard::Report(const std::string& address, const absl::StatusOr<ServerStatus>& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = backends_.find(address);
  if (found == backends_.end()) return;
  Backend& backend = found->second;
  backend.asked = true;
  backend.reachable = status.ok();
  if (!status.ok()) {
    backend.error = std::string(status.status().message());
    ++backend.missed;
  } else if (status->service != backend.service) {
    backend.error = absl::StrCat("is a ", status->service, ", configured as ", backend.service);
  } else {
    backend.error.clear();
    backend.last = *status;
    backend.heard = clock_->Now();
    backend.missed = 0;
    for (auto& [name, index] : indexes_) index.grants.NoteAnswer(address, backend.heard);
  }
  // Also without news, because time passes.
  for (auto& [name, index] : indexes_) Refresh(name, &index);
}

void StatusBoard::Refresh(const std::string& name, Index* index) {
  index->others.erase(std::remove_if(index->others.begin(), index->others.end(),
                                     [](const auto& other) { return other.expired(); }),
                      index->others.end());
  NoteSequences(name, index);
  const std::string before = GenerationOf(index->pinned);
  const std::string chosen =
      index->chooser.Choose(View(name, *index), before, options_.ready_share, HeardEnough(name),
                            clock_->Now(), options_.dead_after);
  std::shared_ptr<const GenerationInfo> info = MakeInfo(name, chosen);
  if (info == nullptr) return;  // nobody holds it any more, or there is none
  index->sequence.Set(static_cast<double>(index->sequences.Of(chosen)));
  if (chosen == before && Same(info->rerankers, index->pinned->rerankers)) return;
  if (chosen != before) {
    Log(Severity::kInfo, "generation pinned",
        {{"index", name},
         {"generation", chosen},
         {"sequence", index->sequences.Of(chosen)},
         {"before", before}});
    NotePages(index, before, chosen);
  }
  if (index->pinned != nullptr) index->others.push_back(index->pinned);
  index->pinned = std::move(info);
}

// What was said by servers that are dead since says nothing of the store as it is.
void StatusBoard::NoteSequences(const std::string& name, Index* index) const {
  const absl::Time now = clock_->Now();
  std::map<std::string, int64_t> reported;
  for (const auto& [address, backend] : backends_) {
    if (now - backend.heard >= options_.dead_after) continue;
    for (const GenerationStatus& generation : backend.last.generations) {
      if (generation.info.ref.index != name) continue;
      int64_t& highest = reported[generation.info.ref.generation];
      highest = std::max(highest, generation.sequence);
    }
  }
  index->sequences.Note(reported, now);
}

void StatusBoard::NotePages(Index* index, const std::string& before, const std::string& pinned) {
  const absl::Time now = clock_->Now();
  for (auto it = index->pages_until.begin(); it != index->pages_until.end();) {
    it = it->second < now ? index->pages_until.erase(it) : std::next(it);
  }
  if (!before.empty()) index->pages_until[before] = now + options_.page_token_lifetime;
  index->pages_until[pinned] = absl::InfiniteFuture();
}

// Whether each shard and the encoder has backends, and all of the index's have been asked; or
// it is too late to wait for that.
bool StatusBoard::HeardEnough(const std::string& name) const {
  if (clock_->Now() - started_ >= options_.start_grace) return true;
  const auto all_asked = [this](const Addresses& addresses) {
    return std::all_of(addresses.begin(), addresses.end(),
                       [this](const std::string& address) { return backends_.at(address).asked; });
  };
  const std::vector<Addresses>& shards = members_.indexes.at(name);
  return !members_.encoders.empty() && all_asked(members_.encoders) &&
         all_asked(members_.rerankers) &&
         std::all_of(shards.begin(), shards.end(),
                     [&](const Addresses& shard) { return !shard.empty() && all_asked(shard); });
}

IndexView StatusBoard::View(const std::string& name, const Index& index) const {
  const std::vector<Addresses>& shards = members_.indexes.at(name);
  const int shard_count = static_cast<int>(shards.size());
  IndexView view;
  for (int shard = 0; shard < shard_count; ++shard) {
    view.shards.push_back(ViewSet(name, shards[shard], shard, shard_count));
  }
  view.encoders = ViewSet(name, members_.encoders, -1, shard_count);
  view.rerankers = ViewSet(name, members_.rerankers, -1, shard_count);
  const auto add = [&](const GenerationInfo& info) {
    const std::string& generation = info.ref.generation;
    view.generations[generation] = {index.sequences.Of(generation), !info.rerankers.empty()};
  };
  for (const auto& [address, backend] : backends_) {
    if (backend.service != "index_search") continue;
    for (const GenerationStatus& generation : backend.last.generations) {
      if (generation.info.ref.index == name && generation.state == GenerationState::kReady) {
        add(generation.info);
      }
    }
  }
  // One that nobody could load yet is known by name alone.
  for (const auto& [generation, sequence] : index.sequences.all()) {
    view.generations.emplace(generation, GenerationView{sequence, false});
  }
  if (index.pinned != nullptr) add(*index.pinned);
  return view;
}

SetView StatusBoard::ViewSet(const std::string& index, const Addresses& addresses, int shard,
                             int shard_count) const {
  const absl::Time now = clock_->Now();
  SetView set;
  for (const std::string& address : addresses) {
    const Backend& backend = backends_.at(address);
    ReplicaView replica;
    replica.address = address;
    replica.live = now - backend.heard < options_.dead_after;
    for (const GenerationStatus& generation : backend.last.generations) {
      if (generation.info.ref.index != index) continue;
      const std::string& name = generation.info.ref.generation;
      if (generation.state == GenerationState::kRefused && generation.needs_room) {
        replica.no_room.insert(name);
      }
      if (generation.state != GenerationState::kReady) continue;
      // A generation cut into another number of shards than the configuration names would
      // be searched in part, silently.
      const bool whole_shard = shard < 0 || (generation.info.shard_count == shard_count &&
                                             HoldsShard(generation, shard));
      if (whole_shard) replica.ready.insert(name);
    }
    set.replicas.push_back(std::move(replica));
  }
  return set;
}

// What index_search says of it, null if none holds it; how scores combine is declared by
// the cross-encoders' bundles, which rerankers read and index_search does not.
std::shared_ptr<const GenerationInfo> StatusBoard::MakeInfo(const std::string& index,
                                                            const std::string& generation) const {
  std::shared_ptr<GenerationInfo> info;
  const std::vector<RerankerInfo>* declared = nullptr;
  for (const auto& [address, backend] : backends_) {
    for (const GenerationStatus& reported : backend.last.generations) {
      if (reported.state != GenerationState::kReady || reported.info.ref.index != index ||
          reported.info.ref.generation != generation) {
        continue;
      }
      if (backend.service == "reranker") declared = &reported.info.rerankers;
      if (backend.service == "index_search" && info == nullptr) {
        info = std::make_shared<GenerationInfo>(reported.info);
      }
    }
  }
  if (info == nullptr) return nullptr;
  const Index& known = indexes_.at(index);
  if (declared != nullptr) {
    info->rerankers = *declared;
  } else if (GenerationOf(known.pinned) == generation) {
    info->rerankers = known.pinned->rerankers;  // while rerankers are away
  }
  return info;
}

StatusRequest StatusBoard::RequestFor(const std::string& address) {
  std::lock_guard<std::mutex> lock(mutex_);
  StatusRequest request;
  request.router = options_.router;
  const absl::Time now = clock_->Now();
  for (auto& [name, index] : indexes_) {
    if (index.pinned == nullptr) continue;
    const std::string& pinned = index.pinned->ref.generation;
    const bool may_release = index.grants.Grant(View(name, index), pinned, address, now);
    request.uses.push_back({index.pinned->ref, may_release});
    std::set<std::string> named = {pinned};
    for (const auto& other : index.others) {
      const auto info = other.lock();
      if (info == nullptr || !named.insert(info->ref.generation).second) continue;
      request.uses.push_back({info->ref, /*may_release=*/false});
    }
  }
  return request;
}

Fitness StatusBoard::FitnessOf(const std::string& address, const GenerationRef& target,
                               int shard) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = backends_.find(address);
  if (found == backends_.end()) return Fitness::kUnfit;
  const Backend& backend = found->second;
  for (const GenerationStatus& held : backend.last.generations) {
    if (held.state != GenerationState::kReady || held.info.ref.index != target.index ||
        held.info.ref.generation != target.generation || held.info.ref.space != target.space) {
      continue;
    }
    if (shard >= 0 && !HoldsShard(held, shard)) continue;
    return backend.missed >= kSilentAfter ? Fitness::kSilent : Fitness::kFit;
  }
  return Fitness::kUnfit;
}

absl::StatusOr<StatusBoard::Index*> StatusBoard::Find(absl::string_view name) const {
  const auto found = indexes_.find(std::string(name));
  if (found != indexes_.end()) return &found->second;
  return WithReason(absl::NotFoundError(absl::StrCat("there is no index '", name, "'")),
                    "UNKNOWN_INDEX", {{"index", std::string(name)}});
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> StatusBoard::Pin(
    absl::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  ASSIGN_OR_RETURN(const Index* index, Find(name));
  if (index->pinned != nullptr) return index->pinned;
  return WithReason(absl::UnavailableError(absl::StrCat(
                        "no server has reported a generation of index '", name, "' yet")),
                    "INDEX_NOT_READY", {{"index", std::string(name)}});
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> StatusBoard::PinGeneration(
    absl::string_view name, absl::string_view generation) const {
  std::lock_guard<std::mutex> lock(mutex_);
  ASSIGN_OR_RETURN(Index * index, Find(name));
  // As it is: whoever was pinned to it saw no more of it.
  if (GenerationOf(index->pinned) == generation) return index->pinned;
  const std::string key(generation);
  const auto pages = index->pages_until.find(key);
  const bool due = pages != index->pages_until.end() && clock_->Now() < pages->second;
  std::shared_ptr<const GenerationInfo> info;
  if (due && HeldWhole(View(std::string(name), *index), key))
    info = MakeInfo(std::string(name), key);
  if (info == nullptr) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "generation '", generation, "' of index '", name,
                          "' was not pinned here lately, or is not held by all shards and models")),
                      "GENERATION_NOT_HELD", {{"index", std::string(name)}, {"generation", key}});
  }
  index->others.push_back(info);
  return info;
}

std::vector<std::shared_ptr<const GenerationInfo>> StatusBoard::Known() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<const GenerationInfo>> known;
  for (const auto& [name, index] : indexes_) {
    if (index.pinned != nullptr) {
      known.push_back(index.pinned);
      continue;
    }
    auto unknown = std::make_shared<GenerationInfo>();
    unknown->ref.index = name;
    known.push_back(std::move(unknown));
  }
  return known;
}

int StatusBoard::CountPinned() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(std::count_if(indexes_.begin(), indexes_.end(), [](const auto& index) {
    return index.second.pinned != nullptr;
  }));
}

bool StatusBoard::all_known() const {
  return CountPinned() == static_cast<int>(indexes_.size());
}

bool StatusBoard::any_known() const {
  return CountPinned() > 0;
}

ServerStatus StatusBoard::Describe() const {
  std::lock_guard<std::mutex> lock(mutex_);
  ServerStatus status;
  status.service = "router";
  for (const auto& [name, index] : indexes_) {
    if (index.pinned == nullptr) continue;
    GenerationStatus generation;
    generation.state = GenerationState::kReady;
    generation.info = *index.pinned;
    generation.sequence = index.sequences.Of(index.pinned->ref.generation);
    status.generations.push_back(std::move(generation));
  }
  for (const auto& [address, backend] : backends_) {
    status.backends.push_back(
        {backend.service, address, backend.reachable, backend.error, backend.shards});
  }
  return status;
}

}  // namespace sightline
