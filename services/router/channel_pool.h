// One channel to each address, for all that talk to it.  Replicas are told apart by their
// addresses alone; how their connections are secured is the pool's to say, for all of them.
#ifndef SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_
#define SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/server_address.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sightline {

// Thread-safe.
class ChannelPool {
 public:
  explicit ChannelPool(Credentials credentials) : credentials_(std::move(credentials)) {}

  // `address` as in a Membership that has been expanded.  Never null.  The channel lives as
  // long as somebody holds it.
  std::shared_ptr<grpc::Channel> To(const std::string& address);

 private:
  static constexpr size_t kFew = 64;
  const Credentials credentials_;

  void ForgetExpired() REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels_ GUARDED_BY(mutex_);
  size_t forget_at_ GUARDED_BY(mutex_) = kFew;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_
