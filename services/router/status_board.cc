#include "services/router/status_board.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"
#include "services/router/backend_word.h"
#include "services/router/pinning.h"

namespace sightline {
namespace {

std::string GenerationOf(const std::shared_ptr<const GenerationInfo>& info) {
  return info == nullptr ? std::string() : info->ref.generation;
}

}  // namespace

// A generation that requests were pinned to before.
struct StatusBoard::PageGeneration {
  GenerationInfo info;  // as the last request that was pinned to it saw it
  absl::Time until;     // when its pages end
  // That work on pages of it; shared with the time before it was last pinned.
  std::shared_ptr<std::atomic<int64_t>> requests;
};

struct StatusBoard::Catalog {
  struct Entry {
    std::shared_ptr<const GenerationInfo> pinned;  // null: nobody has reported one yet
    std::map<std::string, std::shared_ptr<const PageGeneration>, std::less<>> pages;  // held whole
  };

  absl::StatusOr<const Entry*> Find(absl::string_view name) const {
    const auto found = indexes.find(name);
    if (found != indexes.end()) return &found->second;
    return MakeError(reasons::kUnknownIndex, absl::StrCat("there is no index '", name, "'"),
                     {{"index", std::string(name)}});
  }
  size_t pinned() const {
    return std::count_if(indexes.begin(), indexes.end(),
                         [](const auto& entry) { return entry.second.pinned != nullptr; });
  }

  std::map<std::string, Entry, std::less<>> indexes;
};

StatusBoard::StatusBoard(const Membership& members, StatusBoardOptions options, Clock* clock,
                         MetricsRegistry* metrics, RosterSink sink)
    : options_(std::move(options)),
      clock_(clock),
      sink_(std::move(sink)),
      started_(clock->Now()),
      fleet_(members, options_.dead_after, options_.restored_after, started_),
      catalog_(nullptr) {
  for (const auto& [name, shards] : members.indexes) {
    indexes_[name].sequence = metrics->AddGauge(
        "pinned_generation_sequence",
        "Sequence of the generation that new requests go to; 0 while there is none.",
        {{"index", name}});
    indexes_[name].grants = ReleaseGrants(options_.poll_timeout);
  }
  MutexLock lock(mutex_);
  DrawConsequences();
}

StatusBoard::~StatusBoard() = default;

void StatusBoard::SetMembers(const Membership& members) {
  MutexLock lock(mutex_);
  ApplyAnswers();  // of the members so far
  const absl::Time now = clock_->Now();
  fleet_.SetMembers(members, now);
  const Addresses all = AllAddresses(members);
  const std::set<std::string> addresses(all.begin(), all.end());
  for (auto& [name, index] : indexes_) index.grants.ForgetOthers(addresses, now);
  DrawConsequences();
}

bool StatusBoard::Report(const std::string& address, absl::StatusOr<ServerStatus> status) {
  Answer answer{address, std::move(status), clock_->Now()};
  MutexLock lock(inbox_mutex_);
  inbox_.push_back(std::move(answer));
  return inbox_.size() == 1;
}

void StatusBoard::Refresh() {
  MutexLock lock(mutex_);
  ApplyAnswers();
  DrawConsequences();
}

// A grant must not be seen to be over before its holder's state is seen too, so both wait for
// this.
void StatusBoard::ApplyAnswers() {
  {
    MutexLock lock(inbox_mutex_);
    answers_.swap(inbox_);
  }
  for (const Answer& answer : answers_) {
    fleet_.Note(answer.address, answer.status, answer.at);
    if (!answer.status.ok()) continue;
    for (auto& [name, index] : indexes_) index.grants.NoteAnswer(answer.address, answer.at);
  }
  answers_.clear();
}

void StatusBoard::DrawConsequences() {
  const absl::Time now = clock_->Now();
  fleet_.NoteTime(now);
  // Before requests can be pinned to what the sets do not know yet.
  fleet_.TakeChangedRosters([this](const ReplicaSetId& set, Roster roster) {
    if (sink_ != nullptr) sink_(set, std::move(roster));
  });
  bool changed = catalog_.Get() == nullptr;
  for (auto& [name, index] : indexes_) {
    if (!fleet_.TakeChanged(name) && now < index.look_at) continue;
    Repin(name, &index, now);
    changed = true;
  }
  if (changed) catalog_.Set(MakeCatalog());
}

void StatusBoard::Repin(const std::string& name, Index* index, absl::Time now) {
  index->others.erase(std::remove_if(index->others.begin(), index->others.end(),
                                     [](const auto& other) { return other.expired(); }),
                      index->others.end());
  const absl::Time grace_ends = started_ + options_.start_grace;
  const std::string before = GenerationOf(index->pinned);
  const absl::Time restored = fleet_.Settle(name, before, now);
  const bool heard_enough = now >= grace_ends || fleet_.AllAsked(name);
  const std::string chosen = index->chooser.Choose(fleet_.index(name), before, options_.ready_share,
                                                   heard_enough, now, options_.dead_after);
  index->look_at = absl::InfiniteFuture();
  for (const absl::Time event : {restored, grace_ends, index->chooser.stays_until()}) {
    if (event > now) index->look_at = std::min(index->look_at, event);
  }
  std::shared_ptr<const GenerationInfo> info = fleet_.Info(name, chosen);
  if (info == nullptr) return;  // there is none
  const int64_t sequence = fleet_.index(name).generations.at(chosen).sequence;
  index->sequence.Set(static_cast<double>(sequence));
  if (chosen == before && SameRerankers(info->rerankers, index->pinned->rerankers)) return;
  if (chosen != before) {
    Log(Severity::kInfo, "generation pinned",
        {{"index", name}, {"generation", chosen}, {"sequence", sequence}, {"before", before}});
  }
  MoveTo(std::move(info), index, now);
}

void StatusBoard::MoveTo(std::shared_ptr<const GenerationInfo> info, Index* index, absl::Time now) {
  for (auto it = index->pages.begin(); it != index->pages.end();) {
    const bool over = it->second->until < now && *it->second->requests == 0;
    it = over ? index->pages.erase(it) : std::next(it);
  }
  if (index->pinned != nullptr) {
    index->others.push_back(index->pinned);
    if (index->pinned->ref.generation != info->ref.generation) {
      std::shared_ptr<const PageGeneration>& known = index->pages[index->pinned->ref.generation];
      known = std::make_shared<const PageGeneration>(PageGeneration{
          *index->pinned, now + options_.page_token_lifetime,
          known != nullptr ? known->requests : std::make_shared<std::atomic<int64_t>>(0)});
    }
  }
  index->pinned = std::move(info);
}

std::shared_ptr<const StatusBoard::Catalog> StatusBoard::MakeCatalog() const {
  auto catalog = std::make_shared<Catalog>();
  for (const auto& [name, index] : indexes_) {
    Catalog::Entry& entry = catalog->indexes[name];
    entry.pinned = index.pinned;
    for (const auto& [generation, page] : index.pages) {
      if (HeldWhole(fleet_.index(name), generation)) entry.pages.emplace(generation, page);
    }
  }
  return catalog;
}

StatusRequest StatusBoard::RequestFor(const std::string& address) {
  MutexLock lock(mutex_);
  StatusRequest request;
  request.router = options_.router;
  request.uses.reserve(indexes_.size());
  for (auto& [name, index] : indexes_) {
    if (index.pinned == nullptr) continue;
    const std::string& pinned = index.pinned->ref.generation;
    const bool may_release = fleet_.WantsRoomFirst(address, name) &&
                             index.grants.Grant(fleet_.index(name), pinned, address, clock_->Now());
    request.uses.push_back({index.pinned->ref, may_release});
    const auto first = static_cast<ptrdiff_t>(request.uses.size()) - 1;
    const auto name_once = [&](const GenerationRef& ref) {
      const bool named =
          std::any_of(request.uses.begin() + first, request.uses.end(),
                      [&](const auto& use) { return use.generation.generation == ref.generation; });
      if (!named) request.uses.push_back({ref, /*may_release=*/false});
    };
    for (const auto& other : index.others) {
      if (const auto info = other.lock()) name_once(info->ref);
    }
    for (const auto& [generation, page] : index.pages) {
      if (*page->requests > 0) name_once(page->info.ref);
    }
  }
  return request;
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> StatusBoard::Pin(
    absl::string_view name) const {
  const std::shared_ptr<const Catalog> catalog = catalog_.Get();
  ASSIGN_OR_RETURN(const Catalog::Entry* entry, catalog->Find(name));
  if (entry->pinned != nullptr) return entry->pinned;
  return MakeError(reasons::kIndexNotReady,
                   absl::StrCat("no server has reported a generation of index '", name, "' yet"),
                   {{"index", std::string(name)}});
}

absl::StatusOr<std::shared_ptr<const GenerationInfo>> StatusBoard::PinGeneration(
    absl::string_view name, absl::string_view generation) const {
  const std::shared_ptr<const Catalog> catalog = catalog_.Get();
  ASSIGN_OR_RETURN(const Catalog::Entry* entry, catalog->Find(name));
  // As it is: whoever was pinned to it saw no more of it.
  if (GenerationOf(entry->pinned) == generation) return entry->pinned;
  const auto found = entry->pages.find(generation);
  if (found == entry->pages.end() || clock_->Now() >= found->second->until) {
    return MakeError(
        reasons::kGenerationNotHeld,
        absl::StrCat("generation '", generation, "' of index '", name,
                     "' was not pinned here lately, or is not held by all shards and models"),
        {{"index", std::string(name)}, {"generation", std::string(generation)}});
  }
  const std::shared_ptr<const PageGeneration>& page = found->second;
  ++*page->requests;
  return std::shared_ptr<const GenerationInfo>(
      &page->info, [page](const GenerationInfo*) { --*page->requests; });
}

std::vector<std::shared_ptr<const GenerationInfo>> StatusBoard::Known() const {
  const std::shared_ptr<const Catalog> catalog = catalog_.Get();
  std::vector<std::shared_ptr<const GenerationInfo>> known;
  for (const auto& [name, entry] : catalog->indexes) {
    if (entry.pinned != nullptr) {
      known.push_back(entry.pinned);
      continue;
    }
    auto unknown = std::make_shared<GenerationInfo>();
    unknown->ref.index = name;
    known.push_back(std::move(unknown));
  }
  return known;
}

bool StatusBoard::all_known() const {
  const std::shared_ptr<const Catalog> catalog = catalog_.Get();
  return catalog->pinned() == catalog->indexes.size();
}

bool StatusBoard::any_known() const {
  return catalog_.Get()->pinned() > 0;
}

ServerStatus StatusBoard::Describe() const {
  MutexLock lock(mutex_);
  ServerStatus status;
  status.service = "router";
  for (const auto& [name, index] : indexes_) {
    if (index.pinned == nullptr) continue;
    GenerationStatus generation;
    const std::string& pinned = index.pinned->ref.generation;
    const std::string missing = NotHeld(fleet_.index(name), pinned);
    generation.state = missing.empty() ? GenerationState::kReady : GenerationState::kLoading;
    if (!missing.empty()) generation.reason = absl::StrCat("held by no live server: ", missing);
    generation.info = *index.pinned;
    generation.sequence = fleet_.index(name).generations.at(pinned).sequence;
    status.generations.push_back(std::move(generation));
  }
  status.backends = fleet_.Describe();
  return status;
}

}  // namespace sightline
