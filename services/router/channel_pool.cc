#include "services/router/channel_pool.h"

#include "common/rpc/channel.h"

namespace sightline {

std::shared_ptr<grpc::Channel> ChannelPool::To(const std::string& address) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = channels_.begin(); it != channels_.end();) {
    it = it->second.expired() ? channels_.erase(it) : std::next(it);
  }
  std::weak_ptr<grpc::Channel>& known = channels_[address];
  std::shared_ptr<grpc::Channel> channel = known.lock();
  if (channel == nullptr) known = channel = MakeChannel(address);
  return channel;
}

}  // namespace sightline
