#include "common/clients/admin_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clients/convert_admin.h"
#include "common/clients/unary_call.h"
#include "sightline/v1/admin.grpc.pb.h"

namespace sightline {
namespace {

class GrpcAdminClient : public AdminClient {
 public:
  GrpcAdminClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : channel_(std::move(channel)),
        stub_(v1::Admin::NewStub(channel_)),
        who_(absl::StrCat("server ", name)) {}

  void GetStatus(const CallContext& call, StatusRequest request, Done<ServerStatus> done) override {
    v1::GetStatusRequest message;
    ToProto(request, &message);
    StartUnaryCall<v1::GetStatusResponse, ServerStatus>(
        channel_, call, who_, std::move(message),
        [this](auto* context, const auto& asked, auto* queue) {
          return stub_->PrepareAsyncGetStatus(context, asked, queue);
        },
        [](const v1::GetStatusRequest&, const v1::GetStatusResponse& answer) {
          return FromProto(answer);
        },
        std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Admin::Stub> stub_;
  const std::string who_;
};

}  // namespace

absl::StatusOr<ServerStatus> AdminClient::GetStatus(const CallContext& call,
                                                    StatusRequest request) {
  return WaitForAnswer<ServerStatus>(
      [&](Done<ServerStatus> done) { GetStatus(call, std::move(request), std::move(done)); });
}

std::unique_ptr<AdminClient> MakeGrpcAdminClient(const ServerAddress& address) {
  return MakeGrpcAdminClient(MakeChannel(address), address.target);
}

std::unique_ptr<AdminClient> MakeGrpcAdminClient(std::shared_ptr<grpc::Channel> channel,
                                                 const std::string& name) {
  return std::make_unique<GrpcAdminClient>(std::move(channel), name);
}

}  // namespace sightline
