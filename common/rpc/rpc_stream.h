// Calls of many messages, which hold no thread between these.
#ifndef SIGHTLINE_COMMON_RPC_RPC_STREAM_H_
#define SIGHTLINE_COMMON_RPC_RPC_STREAM_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <functional>

#include "absl/status/status.h"
#include "common/rpc/event_loop.h"
#include "common/rpc/rpc_service.h"

namespace sightline {

// One caller's stream.  Deletes itself once it has finished and gRPC is done with it.
class RpcStream {
 public:
  RpcStream();
  virtual ~RpcStream();
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

 protected:
  // Read is followed by OnRead, Write by OnWritten.  One of each at a time; Finish once, always, in
  // whatever thread, while neither is under way, and nothing after it.
  void Read();
  void Write(const google::protobuf::MessageLite& message);
  void Finish(const absl::Status& status);

  // What the last Read has read; not valid where it failed.
  const IncomingRequest& incoming() const { return incoming_; }

 private:
  friend class RpcService;  // makes it wait for a caller

  // In the thread of the loop, one at a time.
  virtual void OnOpen() = 0;
  // Not ok: the caller says no more, or has gone.
  virtual void OnRead(bool ok) = 0;
  // Not ok: the caller has gone.
  virtual void OnWritten(bool ok) = 0;
  // The call is over: by Finish, or before it, which has to come all the same.  What is under way
  // then is told of after this.
  virtual void OnGone() {}

  // Has `when_opened` run when a caller comes.
  void AwaitCaller(EventLoop* loop, std::function<void()> when_opened);
  void Opened(bool ok);
  // An event's part in the life of this.
  void Release();

  EventLoop* loop_ = nullptr;  // once it waits for a caller
  std::function<void()> when_opened_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> call_{&context_};
  QueueCallback open_, read_, written_, finished_, gone_;
  IncomingRequest incoming_;
  std::atomic<int> awaited_{1};  // events; the first is `gone_`
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_RPC_STREAM_H_
