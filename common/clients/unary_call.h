// One asynchronous unary call: everything it needs, kept until it has ended.  For the
// .cc files of this folder; brings gRPC's headers.
#ifndef SIGHTLINE_COMMON_CLIENTS_UNARY_CALL_H_
#define SIGHTLINE_COMMON_CLIENTS_UNARY_CALL_H_

#include <google/protobuf/arena.h>
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
#include "common/rpc/event_loop.h"

namespace sightline {

// The queue in which a call of this process ends.  In a server it is that of the loop, which lends
// it (EventLoop::Lend); elsewhere, one for which threads wait that last as long as the process, as
// many as gRPC has for callbacks.
//
// gRPC 1.51's own, which run callbacks, sleep 100 ms whenever a second has brought them nothing, so
// that who calls seldom waits up to that long for one answer in ten; and they are ended with the
// last channel, for which one waits for itself where that goes inside a callback.
class CallQueue {
 public:
  CallQueue();
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  grpc::CompletionQueue* get() const { return queue_; }

 private:
  EventLoop* const loop_;  // null: there is none
  grpc::CompletionQueue* const queue_;
};

// The error that a call to `who` has ended with, who it was before the message.  A server that
// does not know the call says so and no more, and neither does gRPC of one that does not serve; so
// what that means is added.
absl::Status FailureOf(const grpc::Status& status, const std::string& who);

// Starts the call that `prepare(context, request, queue)` makes on a stub of `channel`, and gives
// `done` what `read(request, answer)` makes of the answer, or the error with `who` before its
// message.
//
//   StartUnaryCall<v1::SearchIndexResponse, SearchShardResponse>(
//       channel_, call, "index_search a:1", std::move(request),
//       [this](auto* context, const auto& request, auto* queue) {
//         return stub_->PrepareAsyncSearchIndex(context, request, queue);
//       },
//       read, std::move(done));
template <typename Answer, typename Result, typename Request, typename Prepare, typename Read>
void StartUnaryCall(std::shared_ptr<grpc::Channel> channel, const CallContext& call,
                    const std::string& who, Request request, const Prepare& prepare, Read read,
                    std::function<void(absl::StatusOr<Result>)> done) {
  if (absl::Status alive = call.Check(who); !alive.ok()) {
    done(std::move(alive));
    return;
  }
  struct Call final : QueueEvent {
    Call(std::shared_ptr<grpc::Channel> channel, const CallContext& call, std::string who,
         Request request, Read read, std::function<void(absl::StatusOr<Result>)> done)
        : channel(std::move(channel)),
          context(NewClientContext(call)),
          who(std::move(who)),
          request(std::move(request)),
          read(std::move(read)),
          done(std::move(done)) {}

    void Happened(bool was_read) override {
      const std::unique_ptr<Call> ended(this);
      // Whoever is told of the end cancels what is left of his calls; of this one nothing is, and
      // gRPC would go to the connection with it.
      reader.reset();
      context.reset();
      if (status.ok() && !was_read) {
        status = grpc::Status(grpc::StatusCode::INTERNAL, "the answer is not a readable message");
      }
      if (!status.ok()) {
        done(FailureOf(status, who));
        return;
      }
      absl::StatusOr<Result> result = read(request, *answer);
      done(result.ok() ? std::move(result) : WithPrefix(result.status(), who));
    }

    const CallQueue queue;                         // goes last
    const std::shared_ptr<grpc::Channel> channel;  // goes behind what is below
    std::shared_ptr<grpc::ClientContext> context;  // null once it has ended
    const std::string who;
    const Request request;
    google::protobuf::Arena arena;  // of an answer of many small messages
    Answer* const answer = google::protobuf::Arena::CreateMessage<Answer>(&arena);
    grpc::Status status;
    const Read read;
    const std::function<void(absl::StatusOr<Result>)> done;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Answer>> reader;
  };
  auto* const started =
      new Call(std::move(channel), call, who, std::move(request), std::move(read), std::move(done));
  started->reader = prepare(started->context.get(), started->request, started->queue.get());
  started->reader->StartCall();
  started->reader->Finish(started->answer, &started->status, TagOf(started));
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
