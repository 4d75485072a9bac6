// One channel to each address, for all that talk to it.
#ifndef SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_
#define SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace grpc {
class Channel;
}  // namespace grpc

namespace sightline {

// Thread-safe.
class ChannelPool {
 public:
  // `address` as in a Membership that has been expanded.  Never null.  The channel lives as
  // long as somebody holds it.
  std::shared_ptr<grpc::Channel> To(const std::string& address);

 private:
  static constexpr size_t kFew = 64;

  void ForgetExpired();  // mutex_ is held

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<grpc::Channel>> channels_;  // guarded by mutex_
  size_t forget_at_ = kFew;                                       // guarded by mutex_
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_CHANNEL_POOL_H_
