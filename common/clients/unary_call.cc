#include "common/clients/unary_call.h"

#include <thread>

namespace sightline {
namespace {

thread_local bool t_in_callback = false;

void Release(std::shared_ptr<grpc::Channel> channel) {
  if (!t_in_callback) return;
  std::thread([channel = std::move(channel)]() mutable { channel.reset(); }).detach();
}

}  // namespace

CallbackScope::CallbackScope() : outer_(t_in_callback) {
  t_in_callback = true;
}
CallbackScope::~CallbackScope() {
  t_in_callback = outer_;
}

std::shared_ptr<grpc::Channel> GuardedChannel(std::shared_ptr<grpc::Channel> channel) {
  grpc::Channel* const raw = channel.get();
  return std::shared_ptr<grpc::Channel>(
      raw, [channel = std::move(channel)](grpc::Channel*) mutable { Release(std::move(channel)); });
}

}  // namespace sightline
