#include "services/router/release_grants.h"

#include <algorithm>
#include <iterator>

namespace sightline {
namespace {

// The second is for a server that was about to let go when it gave the first.
constexpr int kAnswers = 2;

}  // namespace

bool ReleaseGrants::Grant(const IndexView& index, const std::string& pinned,
                          const std::string& address, absl::Time now) {
  const bool other = std::any_of(grants_.begin(), grants_.end(), [&](const auto& grant) {
    return grant.first != address && IsLiveBeside(index, grant.first, address);
  });
  if (other || !MayRelease(index, pinned, address)) return false;
  grants_[address] = {now, 0};
  return true;
}

void ReleaseGrants::NoteAnswer(const std::string& address, absl::Time now) {
  const auto grant = grants_.find(address);
  // An earlier answer may be to a request that still had the grant.
  if (grant == grants_.end() || now <= grant->second.sent + answer_time_) return;
  if (++grant->second.answers >= kAnswers) grants_.erase(grant);
}

void ReleaseGrants::ForgetOthers(const std::set<std::string>& addresses, absl::Time now) {
  for (auto grant = grants_.begin(); grant != grants_.end();) {
    const bool stays = addresses.count(grant->first) > 0 || now < grant->second.sent + kMayReturn;
    grant = stays ? std::next(grant) : grants_.erase(grant);
  }
}

}  // namespace sightline
