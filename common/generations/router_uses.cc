#include "common/generations/router_uses.h"

#include <algorithm>
#include <utility>

namespace sightline {
namespace {

// Far more than anybody runs; a stranger who makes names up gets no further.
constexpr size_t kMaxRouters = 1000;

}  // namespace

void RouterUses::Note(absl::string_view router, std::vector<GenerationUse> uses, absl::Time now) {
  MutexLock lock(mutex_);
  for (auto it = routers_.begin(); it != routers_.end();) {
    it = now - it->second.when >= lease_ ? routers_.erase(it) : std::next(it);
  }
  if (routers_.size() >= kMaxRouters && routers_.count(std::string(router)) == 0) {
    crowded_until_ = now + lease_;
    return;
  }
  routers_[std::string(router)] = {std::move(uses), now};
}

std::vector<GenerationUse> RouterUses::UsesOf(absl::string_view index, absl::string_view generation,
                                              absl::Time now) const {
  std::vector<GenerationUse> found;
  for (const auto& [router, told] : routers_) {
    if (now - told.when >= lease_) continue;
    std::copy_if(told.uses.begin(), told.uses.end(), std::back_inserter(found),
                 [&](const GenerationUse& use) {
                   return use.index == index && use.generation == generation;
                 });
  }
  return found;
}

bool RouterUses::AnyRouter(absl::Time now) const {
  MutexLock lock(mutex_);
  return std::any_of(routers_.begin(), routers_.end(),
                     [&](const auto& router) { return now - router.second.when < lease_; });
}

bool RouterUses::InUse(absl::string_view index, absl::string_view generation,
                       absl::Time now) const {
  MutexLock lock(mutex_);
  if (now < crowded_until_) return true;  // it might be
  return !UsesOf(index, generation, now).empty();
}

bool RouterUses::MayRelease(absl::string_view index, absl::string_view generation,
                            absl::Time now) const {
  MutexLock lock(mutex_);
  const std::vector<GenerationUse> uses = UsesOf(index, generation, now);
  return !uses.empty() && std::all_of(uses.begin(), uses.end(),
                                      [](const GenerationUse& use) { return use.may_release; });
}

}  // namespace sightline
