// Calls of many messages, which hold no thread between these.
//
// They have a queue and a thread of their own.  gRPC 1.51 has callbacks for this, but the threads
// that run them (two, or half as many as there are cores) sleep 100 ms whenever a second has
// brought no callback, as it seldom does to health and reflection; and while all of them sleep
// nobody looks for what arrives at the server, other calls included: one in ten waited for up to
// 100 ms.
#ifndef SIGHTLINE_COMMON_RPC_RPC_STREAM_H_
#define SIGHTLINE_COMMON_RPC_RPC_STREAM_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/rpc/rpc_service.h"

namespace sightline {

class StreamQueue;

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
  friend class RpcService;   // makes it wait for a caller
  friend class StreamQueue;  // tells it what happened

  // gRPC's tag for what a stream waits for.
  struct Event {
    std::function<void(bool ok)> happened;
  };

  // In the thread of the queue, one at a time.
  virtual void OnOpen() = 0;
  // Not ok: the caller says no more, or has gone.
  virtual void OnRead(bool ok) = 0;
  // Not ok: the caller has gone.
  virtual void OnWritten(bool ok) = 0;
  // The call is over: by Finish, or before it, which has to come all the same.  What is under way
  // then is told of after this.
  virtual void OnGone() {}

  // Has `when_opened` run when a caller comes.
  void AwaitCaller(StreamQueue* queue, std::function<void()> when_opened);
  void Opened(bool ok);
  // An event's part in the life of this.
  void Release();

  StreamQueue* queue_ = nullptr;  // once it waits for a caller
  std::function<void()> when_opened_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> call_{&context_};
  Event open_, read_, written_, finished_, gone_;
  IncomingRequest incoming_;
  std::atomic<int> awaited_{1};  // events; the first is `gone_`
};

// The queue of a server's streams, and the thread that serves it.  Thread-safe.
class StreamQueue {
 public:
  explicit StreamQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // Drains.
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

  // Runs `request`, which asks the server for its next caller, unless Close has been called.
  void IfOpen(absl::FunctionRef<void()> request);
  // To be called before the server stops: what is asked of a server that has just stopped, nothing
  // would answer.
  void Close();
  // Once the server has stopped, which ends its streams: waits for the last of them.  Then the
  // thread is gone; the queue stays, for the server's sake.
  void Drain();

 private:
  friend class RpcStream;  // which counts itself

  void Serve();
  void Count(int change);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Mutex accept_mutex_;  // held while a caller is asked for
  bool closed_ GUARDED_BY(accept_mutex_) = false;
  Mutex mutex_;
  CondVar none_left_;
  int streams_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_RPC_STREAM_H_
