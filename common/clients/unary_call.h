// One asynchronous unary call: everything it needs, kept until it has ended.  For the
// .cc files of this folder; brings gRPC's headers.
#ifndef SIGHTLINE_COMMON_CLIENTS_UNARY_CALL_H_
#define SIGHTLINE_COMMON_CLIENTS_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/error_details.h"
#include "common/base/outcome.h"
#include "common/rpc/channel.h"

namespace sightline {

// `channel`, so held that its end never comes on a thread of gRPC's.
//
// gRPC 1.51 runs callbacks on threads of its own, ends them with the last channel that
// used them, and waits for them.  When that last channel goes inside a callback, because
// its client was dropped while the call was under way, a thread waits for itself and the
// process aborts.  Clients and their calls hold the guarded pointer; its last holder, if
// inside a CallbackScope, leaves the channel to a thread made for that.
std::shared_ptr<grpc::Channel> GuardedChannel(std::shared_ptr<grpc::Channel> channel);

// Stands on the stack of a callback of gRPC's as long as anything of ours lives there.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  const bool outer_;
};

// The error that a call to `who` has ended with, who it was before the message.  A server that
// does not know the call says so and no more, and neither does gRPC of one that does not serve; so
// what that means is added.
absl::Status FailureOf(const grpc::Status& status, const std::string& who);

// Starts `start(context, request, answer, callback)` on a stub of `channel`, which is
// guarded, and gives `done` what `read(request, answer)` makes of the answer, or the
// error with `who` before its message.
//
//   StartUnaryCall<v1::SearchIndexResponse, SearchShardResponse>(
//       channel_, call, "index_search a:1", std::move(request),
//       [this](auto* context, auto* request, auto* answer, auto finish) {
//         stub_->async()->SearchIndex(context, request, answer, std::move(finish));
//       },
//       read, std::move(done));
template <typename Answer, typename Result, typename Request, typename Start, typename Read>
void StartUnaryCall(std::shared_ptr<grpc::Channel> channel, const CallContext& call,
                    const std::string& who, Request request, const Start& start, Read read,
                    std::function<void(absl::StatusOr<Result>)> done) {
  if (absl::Status alive = call.Check(who); !alive.ok()) {
    done(std::move(alive));
    return;
  }
  // Stays where it is until gRPC has called back.  The channel goes last.
  struct State {
    std::shared_ptr<grpc::Channel> channel;
    std::shared_ptr<grpc::ClientContext> context;
    std::string who;
    Request request;
    Answer answer;
    Read read;
    std::function<void(absl::StatusOr<Result>)> done;
  };
  auto state = std::make_shared<State>(State{std::move(channel), NewClientContext(call), who,
                                             std::move(request), Answer(), std::move(read),
                                             std::move(done)});
  State* const raw = state.get();
  start(raw->context.get(), &raw->request, &raw->answer,
        [state = std::move(state)](grpc::Status status) mutable {
          const CallbackScope scope;
          // Taken out of the callback, which gRPC destroys when the scope is over.
          const std::shared_ptr<State> ended = std::move(state);
          if (!status.ok()) {
            ended->done(FailureOf(status, ended->who));
            return;
          }
          absl::StatusOr<Result> result = ended->read(ended->request, ended->answer);
          ended->done(result.ok() ? std::move(result) : WithPrefix(result.status(), ended->who));
        });
}

// Starts a call and waits for what it gives to `done`.  gRPC keeps deadlines, so nothing
// else has to wake us.
template <typename T, typename Start>
absl::StatusOr<T> WaitForAnswer(const Start& start) {
  auto outcome = std::make_shared<Outcome<T>>();
  start([outcome](absl::StatusOr<T> result) { outcome->Set(std::move(result)); });
  return outcome->Await(CallContext::Unbounded(), "answer");
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_UNARY_CALL_H_
