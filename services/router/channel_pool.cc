#include "services/router/channel_pool.h"

#include <algorithm>

#include "common/rpc/channel.h"
#include "services/router/membership.h"

namespace sightline {

std::shared_ptr<grpc::Channel> ChannelPool::To(const std::string& address) {
  MutexLock lock(mutex_);
  ForgetExpired();
  std::weak_ptr<grpc::Channel>& known = channels_[address];
  std::shared_ptr<grpc::Channel> channel = known.lock();
  if (channel == nullptr) known = channel = MakeChannel({ChannelTarget(address), credentials_});
  return channel;
}

// Not each time: a fleet of thousands asks for thousands.
void ChannelPool::ForgetExpired() {
  if (channels_.size() < forget_at_) return;
  for (auto it = channels_.begin(); it != channels_.end();) {
    it = it->second.expired() ? channels_.erase(it) : std::next(it);
  }
  forget_at_ = std::max(kFew, 2 * channels_.size());
}

}  // namespace sightline
