#include "common/clients/grpc_backend_clients.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clients/convert_backends.h"
#include "common/clients/unary_call.h"
#include "sightline/v1/index_search.grpc.pb.h"
#include "sightline/v1/query_encoder.grpc.pb.h"
#include "sightline/v1/reranker.grpc.pb.h"

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

class GrpcQueryEncoderClient : public QueryEncoderClient {
 public:
  GrpcQueryEncoderClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : channel_(GuardedChannel(std::move(channel))),
        stub_(v1::QueryEncoder::NewStub(channel_)),
        who_(absl::StrCat("query_encoder ", name)) {}

  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    StartUnaryCall<v1::EncodeQueriesResponse, EncodeResponse>(
        channel_, call, who_, MessageOf<v1::EncodeQueriesRequest>(std::move(request)),
        [this](auto* context, auto* message, auto* answer, auto finish) {
          stub_->async()->EncodeQueries(context, message, answer, std::move(finish));
        },
        ReadAnswer(), std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::QueryEncoder::Stub> stub_;
  const std::string who_;
};

class GrpcIndexSearchClient : public IndexSearchClient {
 public:
  GrpcIndexSearchClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : channel_(GuardedChannel(std::move(channel))),
        stub_(v1::IndexSearch::NewStub(channel_)),
        who_(absl::StrCat("index_search ", name)) {}

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    StartUnaryCall<v1::SearchIndexResponse, SearchShardResponse>(
        channel_, call, who_, MessageOf<v1::SearchIndexRequest>(std::move(request)),
        [this](auto* context, auto* message, auto* answer, auto finish) {
          stub_->async()->SearchIndex(context, message, answer, std::move(finish));
        },
        ReadAnswer(), std::move(done));
  }

  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    StartUnaryCall<v1::FetchItemsResponse, FetchItemsResponse>(
        channel_, call, who_, MessageOf<v1::FetchItemsRequest>(std::move(request)),
        [this](auto* context, auto* message, auto* answer, auto finish) {
          stub_->async()->FetchItems(context, message, answer, std::move(finish));
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
      : channel_(GuardedChannel(std::move(channel))),
        stub_(v1::Reranker::NewStub(channel_)),
        who_(absl::StrCat("reranker ", name)) {}

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    StartUnaryCall<v1::RerankCandidatesResponse, RerankResponse>(
        channel_, call, who_, MessageOf<v1::RerankCandidatesRequest>(std::move(request)),
        [this](auto* context, auto* message, auto* answer, auto finish) {
          stub_->async()->RerankCandidates(context, message, answer, std::move(finish));
        },
        ReadAnswer(), std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Reranker::Stub> stub_;
  const std::string who_;
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
