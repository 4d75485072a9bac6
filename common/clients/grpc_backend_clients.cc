#include "common/clients/grpc_backend_clients.h"

#include <grpcpp/generic/generic_stub.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clients/convert_backends.h"
#include "common/clients/unary_call.h"
#include "common/clients/upload_wire.h"
#include "sightline/v1/index_search.grpc.pb.h"

namespace sightline {
namespace {

// Reads an answer in the light of its request.
struct ReadAnswer {
  template <typename Request, typename Answer>
  auto operator()(const Request& request, const Answer& answer) const {
    return FromProto(request, answer);
  }
};

template <typename Message, typename Request>
Message MessageOf(Request request) {
  Message message;
  ToProto(std::move(request), &message);
  return message;
}

// A call whose request is on the wire already.
template <typename Message, typename Answer, typename Response>
class UploadCall {
 public:
  UploadCall(std::shared_ptr<grpc::Channel> channel, std::string path, std::string who)
      : channel_(std::move(channel)),
        stub_(channel_),
        path_(std::move(path)),
        who_(std::move(who)) {}

  void Start(const CallContext& call, OnWire<Message> request, Done<Response> done) {
    StartUnaryCall<Answer, Response>(
        channel_, call, who_, std::move(request),
        [this](auto* context, const auto& wire, auto* queue) {
          return stub_.PrepareUnaryCall(context, path_, wire.bytes, queue);
        },
        [](const OnWire<Message>& wire, const Answer& answer) {
          return FromProto(wire.head, answer);
        },
        std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<grpc::ByteBuffer, Answer> stub_;
  const std::string path_;
  const std::string who_;
};

class GrpcQueryEncoderClient : public QueryEncoderClient {
 public:
  GrpcQueryEncoderClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : encode_(std::move(channel), "/sightline.v1.QueryEncoder/EncodeQueries",
                absl::StrCat("query_encoder ", name)) {}

  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    encode_.Start(call, ToWire(request), std::move(done));
  }

 private:
  UploadCall<v1::EncodeQueriesRequest, v1::EncodeQueriesResponse, EncodeResponse> encode_;
};

class GrpcIndexSearchClient : public IndexSearchClient {
 public:
  GrpcIndexSearchClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : channel_(std::move(channel)),
        stub_(v1::IndexSearch::NewStub(channel_)),
        who_(absl::StrCat("index_search ", name)) {}

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    StartUnaryCall<v1::SearchIndexResponse, SearchShardResponse>(
        channel_, call, who_, MessageOf<v1::SearchIndexRequest>(std::move(request)),
        [this](auto* context, const auto& message, auto* queue) {
          return stub_->PrepareAsyncSearchIndex(context, message, queue);
        },
        ReadAnswer(), std::move(done));
  }

  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    StartUnaryCall<v1::FetchItemsResponse, FetchItemsResponse>(
        channel_, call, who_, MessageOf<v1::FetchItemsRequest>(std::move(request)),
        [this](auto* context, const auto& message, auto* queue) {
          return stub_->PrepareAsyncFetchItems(context, message, queue);
        },
        ReadAnswer(), std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::IndexSearch::Stub> stub_;
  const std::string who_;
};

class GrpcRerankerClient : public RerankerClient {
 public:
  GrpcRerankerClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : rerank_(std::move(channel), "/sightline.v1.Reranker/RerankCandidates",
                absl::StrCat("reranker ", name)) {}

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    rerank_.Start(call, ToWire(request), std::move(done));
  }

 private:
  UploadCall<v1::RerankCandidatesRequest, v1::RerankCandidatesResponse, RerankResponse> rerank_;
};

}  // namespace

std::unique_ptr<QueryEncoderClient> MakeGrpcQueryEncoderClient(
    std::shared_ptr<grpc::Channel> channel, std::string name) {
  return std::make_unique<GrpcQueryEncoderClient>(std::move(channel), name);
}

std::unique_ptr<IndexSearchClient> MakeGrpcIndexSearchClient(std::shared_ptr<grpc::Channel> channel,
                                                             std::string name) {
  return std::make_unique<GrpcIndexSearchClient>(std::move(channel), name);
}

std::unique_ptr<RerankerClient> MakeGrpcRerankerClient(std::shared_ptr<grpc::Channel> channel,
                                                       std::string name) {
  return std::make_unique<GrpcRerankerClient>(std::move(channel), name);
}

}  // namespace sightline
