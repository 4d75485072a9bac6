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
  if (loop_ != nullptr) loop_->CountCallers(-1);
}

void RpcStream::AwaitCaller(EventLoop* loop, std::function<void()> when_opened) {
  loop_ = loop;
  loop_->CountCallers(1);
  when_opened_ = std::move(when_opened);
  context_.AsyncNotifyWhenDone(TagOf(&gone_));
}

void RpcStream::Read() {
  awaited_.fetch_add(1);
  call_.Read(&incoming_.bytes, TagOf(&read_));
}

void RpcStream::Write(const google::protobuf::MessageLite& message) {
  awaited_.fetch_add(1);
  const grpc::Slice slice(message.SerializeAsString());
  call_.Write(grpc::ByteBuffer(&slice, 1), TagOf(&written_));
}

void RpcStream::Finish(const absl::Status& status) {
  awaited_.fetch_add(1);
  call_.Finish(ToGrpcStatus(status), TagOf(&finished_));
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

}  // namespace sightline
