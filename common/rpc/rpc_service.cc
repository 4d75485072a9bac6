#include "common/rpc/rpc_service.h"

#include <google/protobuf/io/zero_copy_stream.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/log/log.h"
#include "common/rpc/event_loop.h"
#include "common/rpc/request_id.h"
#include "common/rpc/rpc_stream.h"

namespace sightline {

namespace {

// The bytes of a request, once and in order.  Where a message ends early, as at a tag of zero,
// protobuf gives back what it has not used, and near the boundary of two slices that is more than
// the last one has, for which gRPC's reader ends the process.  Nobody reads on after a request,
// so nothing is given back.
class RequestReader final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit RequestReader(const IncomingRequest& incoming) : reader_(&incoming.bytes) {}

  bool ok() const { return reader_.status().ok(); }

  bool Next(const void** data, int* size) override { return reader_.Next(data, size); }
  void BackUp(int) override {}
  bool Skip(int count) override { return reader_.Skip(count); }
  int64_t ByteCount() const override { return reader_.ByteCount(); }

 private:
  grpc::ProtoBufferReader reader_;
};

absl::Status Unreadable() {
  return MakeError(reasons::kUnreadableRequest,
                   "the request is not a protobuf message of this method's type; strings must be "
                   "valid UTF-8");
}

absl::string_view OfferedRequestId(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kRequestIdKey);
  if (found == context.client_metadata().end()) return "";
  return absl::string_view(found->second.data(), found->second.size());
}

// The time that the caller left for the call.  A call without a deadline has one that
// lies beyond the range of the clock.
absl::Duration CallersTime(const grpc::ServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteDuration();
  return absl::FromChrono(deadline - std::chrono::system_clock::now());
}

// The connection was lost, or the caller gave up, while the request was on its way.
absl::Status NotArrived() {
  return absl::CancelledError("the call ended before its request had arrived");
}

}  // namespace

absl::StatusOr<RequestSize> MeasureRequest(const IncomingRequest& incoming,
                                           const google::protobuf::Descriptor& type, int64_t most) {
  RequestSize size;
  if (!incoming.bytes.Valid()) return NotArrived();
  size.wire_bytes = static_cast<int64_t>(incoming.bytes.Length());
  RequestReader reader(incoming);
  if (!reader.ok()) return Unreadable();
  const absl::optional<int64_t> memory = MemoryOfMessage(&reader, size.wire_bytes, type, most);
  if (!memory.has_value()) return Unreadable();
  size.memory_bytes = *memory;
  return size;
}

absl::Status ReadRequest(const IncomingRequest& incoming, google::protobuf::MessageLite* message) {
  if (!incoming.bytes.Valid()) return NotArrived();
  bool readable = false;
  {
    RequestReader reader(incoming);
    // Within its length, or protobuf would make room for a field as long as it claims to be.
    readable = reader.ok() && message->ParseFromBoundedZeroCopyStream(
                                  &reader, static_cast<int>(incoming.bytes.Length()));
  }
  incoming.bytes.Clear();
  return readable ? absl::OkStatus() : Unreadable();
}

grpc::Status WriteAnswer(const google::protobuf::MessageLite& message, grpc::ByteBuffer* answer) {
  bool own_buffer = false;
  return grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::MessageLite>(
      message, answer, &own_buffer);
}

IncomingCall CallOf(grpc::ServerContext* context, absl::StatusOr<RequestSize> size,
                    std::shared_ptr<Cancellation> cancellation) {
  IncomingCall call{RequestIdOr(OfferedRequestId(*context)), std::move(size), CallersTime(*context),
                    std::move(cancellation)};
  context->AddInitialMetadata(kRequestIdKey, call.request_id);
  return call;
}

// One caller's call, from before the caller comes.  Deletes itself once it is answered and gRPC is
// done with it.  All but the handler is in the loop's thread.
class RpcService::UnaryCall final : EventLoop::Occupant {
 public:
  UnaryCall(RpcService* service, const UnaryMethod& method, EventLoop* loop)
      : service_(service), method_(method), loop_(loop) {
    arrived_.happened = [this](bool ok) { Arrived(ok); };
    finished_.happened = [this](bool) { Finished(); };
    gone_.happened = [this](bool) {
      if (context_.IsCancelled()) cancellation_->Cancel();
      Release();
    };
    loop_->CountCallers(1);
  }
  ~UnaryCall() override { loop_->CountCallers(-1); }
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;

  void AwaitCaller() {
    context_.AsyncNotifyWhenDone(TagOf(&gone_));
    service_->RequestAsyncUnary(method_.index, &context_, &incoming_, &answer_, loop_->queue(),
                                loop_->queue(), TagOf(&arrived_));
  }

 private:
  // Longer requests take a while to be read.
  static constexpr size_t kShortRequest = size_t{64} << 10;
  // Beside the time that the call has.
  static constexpr absl::Duration kToTakeAnAnswer = absl::Seconds(1);

  void Arrived(bool ok) {
    if (!ok) {  // the server ends, and no caller has come
      delete this;
      return;
    }
    service_->AcceptNext(method_, loop_);
    const absl::Duration time = service_->calls_->TimeFor(CallersTime(context_));
    has_place_ = loop_->TakePlace(this, time + kToTakeAnAnswer);
    if (has_place_ && Begin()) return;
    answer_.FinishWithError(ToGrpcStatus(AllPlacesTaken()), TagOf(&finished_));
  }

  bool Begin() {
    const LoopMetrics& begun = loop_->metrics();
    const bool is_brief =
        method_.place == HandlerPlace::kFiber && incoming_.bytes.Length() <= kShortRequest;
    const bool is_helped = is_brief && loop_->TakeHelp(this);
    // Counted before: behind its answer this may be gone.
    if (is_brief && !is_helped) {
      begun.in_fiber.Increment();
      if (loop_->RunInFiber([this] { Serve(); })) return true;
    }
    (is_helped ? begun.behind : begun.in_thread).Increment();
    return loop_->RunInThread([this] { Serve(); });
  }

  // Behind the answer this may be gone.
  void Serve() {
    grpc::ByteBuffer answer;
    const grpc::Status status = ServeCatching(&answer);
    if (status.ok()) {
      answer_.Finish(answer, status, TagOf(&finished_));
    } else {
      answer_.FinishWithError(status, TagOf(&finished_));
    }
  }

  // Around the gate, which catches what handlers throw: memory for an answer may be too much.
  grpc::Status ServeCatching(grpc::ByteBuffer* answer) {
    try {
      return method_.serve(&context_, incoming_, cancellation_, answer);
    } catch (const std::exception& error) {
      Log(Severity::kError, "exception around a handler", {{"what", error.what()}});
      return ToGrpcStatus(
          absl::ResourceExhaustedError("the server has too little memory for this call"));
    }
  }

  void Finished() {
    if (has_place_) loop_->LeavePlace(this);
    Release();
  }

  void Evict() override { context_.TryCancel(); }

  void Release() {
    if (--awaited_ == 0) delete this;
  }

  RpcService* const service_;
  const UnaryMethod& method_;
  EventLoop* const loop_;
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  grpc::ServerContext context_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> answer_{&context_};
  IncomingRequest incoming_;
  QueueCallback arrived_, finished_, gone_;
  bool has_place_ = false;
  int awaited_ = 2;  // the last two of these
};

void RpcService::AddUnaryMethod(const std::string& method, HandlerPlace place, ServeUnary serve) {
  unaries_.push_back(
      {AddRawMethod(method, grpc::internal::RpcMethod::NORMAL_RPC), place, std::move(serve)});
}

void RpcService::AddStream(const std::string& method,
                           std::function<std::unique_ptr<RpcStream>()> make) {
  // Whichever side says how much: the message is the same on the wire.
  streams_.push_back(
      {AddRawMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING), std::move(make)});
}

// As generated code registers its methods, but for the types of request and answer.
int RpcService::AddRawMethod(const std::string& method, grpc::internal::RpcMethod::RpcType type) {
  const std::string& path = paths_.emplace_back(absl::StrCat("/", full_name_, "/", method));
  AddMethod(new grpc::internal::RpcServiceMethod(path.c_str(), type, nullptr));
  MarkMethodRaw(methods_);
  return methods_++;
}

void RpcService::Accept(EventLoop* loop) {
  for (const UnaryMethod& method : unaries_) AcceptNext(method, loop);
  for (const StreamMethod& method : streams_) AcceptNext(method, loop);
}

void RpcService::AcceptNext(const UnaryMethod& method, EventLoop* loop) {
  auto* const call = new UnaryCall(this, method, loop);  // deletes itself
  call->AwaitCaller();
}

void RpcService::AcceptNext(const StreamMethod& method, EventLoop* loop) {
  RpcStream* const stream = method.make().release();  // deletes itself
  stream->AwaitCaller(loop, [this, &method, loop] { AcceptNext(method, loop); });
  RequestAsyncBidiStreaming(method.index, &stream->context_, &stream->call_, loop->queue(),
                            loop->queue(), TagOf(&stream->open_));
}

}  // namespace sightline
