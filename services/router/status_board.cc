#include "services/router/status_board.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {
namespace {

bool Holds(const GenerationStatus& generation, int shard) {
  return generation.state == GenerationState::kReady &&
         std::count(generation.held_shards.begin(), generation.held_shards.end(), shard) > 0;
}

}  // namespace

StatusBoard::StatusBoard(const RouterConfig& config) : indexes_(config.indexes) {
  for (const std::string& address : config.encoders) backends_[address].service = "query_encoder";
  for (const std::string& address : config.rerankers) backends_[address].service = "reranker";
  for (const auto& [index, shards] : config.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      for (const std::string& address : shards[shard]) {
        Backend& backend = backends_[address];
        backend.service = "index_search";
        backend.shards.push_back(absl::StrCat("indexes/", index, "/shards/", shard));
      }
    }
  }
}

void StatusBoard::Report(const std::string& address, const absl::StatusOr<ServerStatus>& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = backends_.find(address);
  if (found == backends_.end()) return;
  Backend& backend = found->second;
  backend.reachable = status.ok();
  if (!status.ok()) {
    backend.error = std::string(status.status().message());
    return;
  }
  if (status->service != backend.service) {
    backend.error = absl::StrCat("is a ", status->service, ", configured as ", backend.service);
    return;
  }
  backend.error.clear();
  backend.last = *status;
  Refresh();
}

void StatusBoard::Refresh() {
  for (const auto& [index, shards] : indexes_) {
    std::shared_ptr<const GenerationInfo> chosen = Choose(index, shards);
    if (chosen != nullptr) pinned_[index] = std::move(chosen);
  }
}

// The generation that most shards have a replica of; of several, the one published last.
std::shared_ptr<const GenerationInfo> StatusBoard::Choose(
    const std::string& index, const std::vector<Addresses>& shards) const {
  struct Offer {
    std::set<int> shards;
    int64_t sequence = 0;
    const GenerationInfo* info = nullptr;
  };
  std::map<std::string, Offer> offers;
  for (int shard = 0; shard < static_cast<int>(shards.size()); ++shard) {
    for (const std::string& address : shards[shard]) {
      for (const GenerationStatus& generation : backends_.at(address).last.generations) {
        if (generation.info.ref.index != index || !Holds(generation, shard)) continue;
        // A generation cut into another number of shards than the configuration names
        // would be searched in part, silently.
        if (generation.info.shard_count != static_cast<int>(shards.size())) continue;
        Offer& offer = offers[generation.info.ref.generation];
        offer.shards.insert(shard);
        offer.sequence = std::max(offer.sequence, generation.sequence);
        offer.info = &generation.info;
      }
    }
  }
  const Offer* best = nullptr;
  for (const auto& [generation, offer] : offers) {
    const auto rank = [](const Offer& o) { return std::make_pair(o.shards.size(), o.sequence); };
    if (best == nullptr || rank(offer) > rank(*best)) best = &offer;
  }
  if (best == nullptr) return nullptr;
  auto info = std::make_shared<GenerationInfo>(*best->info);
  AddRerankDefaults(info.get());
  return info;
}

// How scores combine is declared by the cross-encoder's bundle, which rerankers read and
// index_search does not.
void StatusBoard::AddRerankDefaults(GenerationInfo* info) const {
  for (const auto& [address, backend] : backends_) {
    if (backend.service != "reranker") continue;
    for (const GenerationStatus& generation : backend.last.generations) {
      if (generation.state == GenerationState::kReady &&
          generation.info.ref.index == info->ref.index &&
          generation.info.ref.generation == info->ref.generation) {
        info->combination = generation.info.combination;
        return;
      }
    }
  }
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> StatusBoard::Pin(
    absl::string_view index) const {
  const std::string name(index);
  if (indexes_.count(name) == 0) {
    return WithReason(absl::NotFoundError(absl::StrCat("there is no index '", name, "'")),
                      "UNKNOWN_INDEX", {{"index", name}});
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pinned_.find(name);
  if (found == pinned_.end()) {
    return WithReason(absl::UnavailableError(absl::StrCat(
                          "no server has reported a generation of index '", name, "' yet")),
                      "INDEX_NOT_READY", {{"index", name}});
  }
  return found->second;
}

std::vector<std::shared_ptr<const GenerationInfo>> StatusBoard::Known() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<const GenerationInfo>> known;
  for (const auto& [index, info] : pinned_) known.push_back(info);
  return known;
}

bool StatusBoard::all_known() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pinned_.size() == indexes_.size();
}

bool StatusBoard::any_known() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !pinned_.empty();
}

ServerStatus StatusBoard::Describe() const {
  std::lock_guard<std::mutex> lock(mutex_);
  ServerStatus status;
  status.service = "router";
  for (const auto& [index, info] : pinned_) {
    GenerationStatus generation;
    generation.state = GenerationState::kReady;
    generation.info = *info;
    for (const auto& [address, backend] : backends_) {
      for (const GenerationStatus& reported : backend.last.generations) {
        if (reported.info.ref.index == index &&
            reported.info.ref.generation == info->ref.generation) {
          generation.sequence = std::max(generation.sequence, reported.sequence);
        }
      }
    }
    status.generations.push_back(std::move(generation));
  }
  for (const auto& [address, backend] : backends_) {
    status.backends.push_back(
        {backend.service, address, backend.reachable, backend.error, backend.shards});
  }
  return status;
}

}  // namespace sightline
