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
#include "common/rpc/grpc_status.h"

namespace sightline {

// Starts `start(context, request, response, callback)` and gives `done` what `read` makes
// of the answer, or the error with `who` before its message.
//
//   StartUnaryCall<v1::SearchIndexResponse, SearchShardResponse>(
//       call, "index_search a:1", std::move(request),
//       [this](auto&&... args) { stub_->async()->SearchIndex(args...); },
//       [](const auto& request, const auto& response) { return FromProto(request, response); },
//       std::move(done));
template <typename Answer, typename Result, typename Request, typename Start, typename Read>
void StartUnaryCall(const CallContext& call, std::string who, Request request, Start start,
                    Read read, std::function<void(absl::StatusOr<Result>)> done) {
  if (absl::Status alive = call.Check(who); !alive.ok()) {
    done(std::move(alive));
    return;
  }
  // Request and answer must stay where they are until gRPC has called back.
  struct State {
    std::shared_ptr<grpc::ClientContext> context;
    Request request;
    Answer answer;
  };
  auto state = std::make_shared<State>();
  state->context = NewClientContext(call);
  state->request = std::move(request);
  State* raw = state.get();
  auto finish = [state = std::move(state), who = std::move(who), read = std::move(read),
                 done = std::move(done)](grpc::Status status) {
    if (!status.ok()) {
      done(WithPrefix(FromGrpcStatus(status), who));
      return;
    }
    absl::StatusOr<Result> result = read(state->request, state->answer);
    if (result.ok()) {
      done(std::move(result));
    } else {
      done(WithPrefix(result.status(), who));
    }
  };
  start(raw->context.get(), &raw->request, &raw->answer, std::move(finish));
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
