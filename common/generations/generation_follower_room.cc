// The part of the follower that plans memory and lets go of what is not needed.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/generations/generation_follower.h"
#include "common/log/log.h"

namespace sightline {

// What these take that is more than may be used; empty if all of it fits.
absl::StatusOr<std::string> GenerationFollower::LackFor(
    absl::Span<const Manifest* const> manifests) {
  ASSIGN_OR_RETURN(const int64_t bytes, host_->Footprint(manifests));
  if (bytes > options_.memory_limit) {
    return absl::StrCat(bytes, " bytes of memory, and memory_limit is ", options_.memory_limit);
  }
  ASSIGN_OR_RETURN(const std::vector<device::DeviceFootprint> devices,
                   host_->DeviceFootprints(manifests));
  for (const device::DeviceFootprint& each : devices) {
    if (each.bytes <= each.limit) continue;
    return absl::StrCat(each.bytes, " bytes on device ", each.device, ", of which ", each.limit,
                        " may be used (device.memory_limit)");
  }
  return std::string();
}

// The same of what is held, is still leaving, and `manifest`; but for what is held of one index.
absl::StatusOr<std::string> GenerationFollower::LackWith(const Manifest& manifest,
                                                         absl::string_view without_index) {
  janitor_->Flush();  // what is let go of has gone
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(),
                                [](const Leaving& leaving) { return leaving.memory.expired(); }),
                 leaving_.end());
  std::vector<const Manifest*> manifests = {&manifest};
  const std::vector<HeldGeneration> all = table_->All();
  for (const HeldGeneration& entry : all) {
    const bool has_memory = entry.state == HoldState::kReady || entry.failed;
    if (has_memory && entry.index != without_index) {
      manifests.push_back(entry.manifest.get());
    }
  }
  for (const Leaving& leaving : leaving_) {
    if (leaving.manifest->index() != without_index) manifests.push_back(leaving.manifest.get());
  }
  return LackFor(manifests);
}

// Lets the older generations of the index go if that gives room: those that nobody uses, and
// the others if the routers allow it.
absl::Status GenerationFollower::MakeRoom(HeldGeneration* entry) {
  ReleaseIdle(entry->index);
  ASSIGN_OR_RETURN(const std::string lack, LackWith(*entry->manifest, ""));
  if (lack.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string without, LackWith(*entry->manifest, entry->index));
  if (!without.empty()) {
    return MakeError(reasons::kTooBig,
                     absl::StrCat("together with what other indexes hold it takes ", without));
  }
  std::vector<HeldGeneration> old;
  for (HeldGeneration& other : table_->OfIndex(entry->index)) {
    if (other.state == HoldState::kReady) old.push_back(std::move(other));
  }
  const absl::Time now = clock_->Now();
  for (const HeldGeneration& other : old) {
    if (uses_.MayRelease(other.index, other.generation, now)) continue;
    entry->needs_room = true;
    return MakeError(
        reasons::kNeedsRoom,
        absl::StrCat("does not fit beside generation ", other.generation,
                     ", which is in use: together they take ", lack,
                     "; it is loaded when another replica has taken over, or with more memory"));
  }
  for (const HeldGeneration& other : old) Release(other, "to make room");
  return absl::OkStatus();
}

// Whether neither routers nor requests have used it for a while.
bool GenerationFollower::IsIdle(const HeldGeneration& entry) const {
  const absl::Time now = clock_->Now();
  const absl::Time used =
      std::max(entry.ready_since, table_->LastUse(entry.index, entry.generation));
  return now - used >= options_.release_after && !uses_.InUse(entry.index, entry.generation, now);
}

// Where routers are, they have said what they use; where none is, the last one stays.
void GenerationFollower::ReleaseIdle(const std::string& index) {
  bool another = false;
  std::vector<HeldGeneration> idle;
  for (HeldGeneration& entry : table_->OfIndex(index)) {
    if (entry.state != HoldState::kReady) continue;
    if (IsIdle(entry)) {
      idle.push_back(std::move(entry));
    } else {
      another = true;
    }
  }
  if (!another && !uses_.AnyRouter(clock_->Now())) return;
  for (const HeldGeneration& entry : idle) Release(entry, "nobody uses it");
}

void GenerationFollower::ReleaseOld(const std::string& index, const WantedGeneration& wanted) {
  const std::string& asked = wanted.current.generation();
  const auto stand_in = stand_ins_.find(index);
  // The best: what is asked for, what stands in for it, or the newest.
  const auto rank = [&](const HeldGeneration& entry) {
    return std::make_tuple(entry.generation == asked,
                           stand_in != stand_ins_.end() && entry.generation == stand_in->second,
                           entry.sequence);
  };
  std::vector<HeldGeneration> ready = table_->OfIndex(index);
  ready.erase(
      std::remove_if(ready.begin(), ready.end(),
                     [](const HeldGeneration& entry) { return entry.state != HoldState::kReady; }),
      ready.end());
  const auto serving = std::max_element(
      ready.begin(), ready.end(),
      [&](const HeldGeneration& a, const HeldGeneration& b) { return rank(a) < rank(b); });
  if (serving == ready.end()) return;
  const absl::Time in_use_since = std::max(serving->ready_since, wanted.since);
  if (clock_->Now() - in_use_since < options_.release_after) return;
  for (const HeldGeneration& entry : ready) {
    if (&entry != &*serving && IsIdle(entry)) Release(entry, "a newer one is in use");
  }
}

// Forgets what is not served and was not asked for.
void GenerationFollower::ForgetUnasked(const std::string& index) {
  for (const HeldGeneration& entry : table_->OfIndex(index)) {
    const bool served = entry.state == HoldState::kReady || entry.failed;
    if (!served && asked_.count(entry.generation) == 0) table_->Remove(index, entry.generation);
  }
  for (auto it = attempts_.lower_bound({index, ""});
       it != attempts_.end() && it->first.first == index;) {
    const std::string& generation = it->first.second;
    const bool known = asked_.count(generation) != 0 || table_->Get(index, generation).has_value();
    it = known ? std::next(it) : attempts_.erase(it);
  }
}

// Requests that work on it finish; the janitor frees it when the last one has.
void GenerationFollower::Release(const HeldGeneration& entry, absl::string_view why) {
  leaving_.push_back({entry.manifest, entry.memory});
  table_->Remove(entry.index, entry.generation);
  attempts_.erase({entry.index, entry.generation});  // nothing brings it back
  Log(Severity::kInfo, "generation released",
      {{"index", entry.index}, {"generation", entry.generation}, {"why", why}});
}

}  // namespace sightline
