#include "common/clients/unary_call.h"

#include <algorithm>
#include <thread>

#include "absl/strings/match.h"
#include "common/rpc/grpc_status.h"

namespace sightline {
namespace {

// As many as gRPC has for callbacks.
unsigned ThreadCount() {
  return std::clamp(std::thread::hardware_concurrency() / 2, 2u, 16u);
}

void EndCalls(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<QueueEvent*>(tag)->Happened(ok);
}

grpc::CompletionQueue* OfProcess() {
  // Never destroyed, since nobody knows which call is the last.
  static grpc::CompletionQueue* const queue = [] {
    auto* const made = new grpc::CompletionQueue;
    for (unsigned i = 0; i < ThreadCount(); ++i) std::thread(EndCalls, made).detach();
    return made;
  }();
  return queue;
}

}  // namespace

CallQueue::CallQueue()
    : loop_(EventLoop::Lend()), queue_(loop_ == nullptr ? OfProcess() : loop_->queue()) {}

CallQueue::~CallQueue() {
  if (loop_ != nullptr) loop_->GiveBack();
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
