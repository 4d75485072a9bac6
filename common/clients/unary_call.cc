#include "common/clients/unary_call.h"

#include <thread>

#include "absl/strings/match.h"
#include "common/rpc/grpc_status.h"

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

absl::Status FailureOf(const grpc::Status& status, const std::string& who) {
  absl::Status failure = FromGrpcStatus(status);
  if (absl::IsUnimplemented(failure)) {
    const std::string told =
        failure.message().empty() ? "" : absl::StrCat(" (", failure.message(), ")");
    failure = WithReason(absl::UnimplementedError(
                             absl::StrCat("the server at this address does not know the call", told,
                                          ": it is another kind of server, or of another release")),
                         reasons::kWrongServer);
  }
  // All that gRPC tells of a server that it reaches, whose health is not SERVING.
  if (absl::IsUnavailable(failure) && absl::StrContains(failure.message(), "backend unhealthy")) {
    failure = absl::UnavailableError(
        "it answers, and says that it does not serve: it is about to end, or waits for what it "
        "needs, which its log and its status name");
  }
  return WithPrefix(failure, who);
}

}  // namespace sightline
