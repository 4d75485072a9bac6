#include "common/rpc/rpc_stream.h"

#include <utility>

#include "common/rpc/grpc_status.h"

namespace sightline {

RpcStream::RpcStream() {
  open_.happened = [this](bool ok) { Opened(ok); };
  read_.happened = [this](bool ok) {
    OnRead(ok);
    Release();
  };
  written_.happened = [this](bool ok) {
    OnWritten(ok);
    Release();
  };
  finished_.happened = [this](bool) { Release(); };
  gone_.happened = [this](bool) {
    OnGone();
    Release();
  };
}

RpcStream::~RpcStream() {
  if (queue_ != nullptr) queue_->Count(-1);
}

void RpcStream::AwaitCaller(StreamQueue* queue, std::function<void()> when_opened) {
  queue_ = queue;
  queue_->Count(1);
  when_opened_ = std::move(when_opened);
  context_.AsyncNotifyWhenDone(&gone_);
}

void RpcStream::Read() {
  awaited_.fetch_add(1);
  call_.Read(&incoming_.bytes, &read_);
}

void RpcStream::Write(const google::protobuf::MessageLite& message) {
  awaited_.fetch_add(1);
  const grpc::Slice slice(message.SerializeAsString());
  call_.Write(grpc::ByteBuffer(&slice, 1), &written_);
}

void RpcStream::Finish(const absl::Status& status) {
  awaited_.fetch_add(1);
  call_.Finish(ToGrpcStatus(status), &finished_);
}

void RpcStream::Opened(bool ok) {
  if (!ok) {  // the server ends, and no caller has come
    delete this;
    return;
  }
  std::exchange(when_opened_, nullptr)();
  OnOpen();
}

void RpcStream::Release() {
  if (awaited_.fetch_sub(1) == 1) delete this;
}

StreamQueue::StreamQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)), thread_([this] { Serve(); }) {}

StreamQueue::~StreamQueue() {
  Drain();
}

void StreamQueue::IfOpen(absl::FunctionRef<void()> request) {
  MutexLock lock(accept_mutex_);
  if (!closed_) request();
}

void StreamQueue::Close() {
  MutexLock lock(accept_mutex_);
  closed_ = true;
}

void StreamQueue::Drain() {
  if (!thread_.joinable()) return;
  {
    // Those that end yet have their last words to say, for which the queue has to be open.
    MutexLock lock(mutex_);
    while (streams_ > 0) none_left_.Wait(mutex_);
  }
  queue_->Shutdown();
  thread_.join();
}

void StreamQueue::Count(int change) {
  MutexLock lock(mutex_);
  streams_ += change;
  if (streams_ == 0) none_left_.NotifyAll();
}

void StreamQueue::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<RpcStream::Event*>(tag)->happened(ok);
}

}  // namespace sightline
