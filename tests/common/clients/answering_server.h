// A gRPC server in this process, on a port of its own, whose answers a test gives.
#ifndef SIGHTLINE_TESTS_COMMON_CLIENTS_ANSWERING_SERVER_H_
#define SIGHTLINE_TESTS_COMMON_CLIENTS_ANSWERING_SERVER_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/clients.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/outcome.h"
#include "common/rpc/channel.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "sightline/v1/index_search.grpc.pb.h"
#include "sightline/v1/query_encoder.grpc.pb.h"
#include "sightline/v1/reranker.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {

// Answers of all services are what the test says; unset ones are UNIMPLEMENTED.
template <typename Request, typename Response>
using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;

template <typename Request, typename Response>
grpc::Status Handle(const Handler<Request, Response>& handler, grpc::ServerContext* context,
                    const Request* request, Response* response) {
  if (!handler) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no handler");
  return handler(context, *request, response);
}

class AnsweringServer : public v1::QueryEncoder::Service,
                        public v1::IndexSearch::Service,
                        public v1::Reranker::Service,
                        public v1::Search::Service,
                        public v1::Admin::Service {
 public:
  AnsweringServer() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::QueryEncoder::Service*>(this));
    builder.RegisterService(static_cast<v1::IndexSearch::Service*>(this));
    builder.RegisterService(static_cast<v1::Reranker::Service*>(this));
    builder.RegisterService(static_cast<v1::Search::Service*>(this));
    builder.RegisterService(static_cast<v1::Admin::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~AnsweringServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::shared_ptr<grpc::Channel> channel() const { return MakeChannel(address()); }
  // What its health tells; it answers all the same.
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

  Handler<v1::EncodeQueriesRequest, v1::EncodeQueriesResponse> encode;
  Handler<v1::SearchIndexRequest, v1::SearchIndexResponse> search_index;
  Handler<v1::FetchItemsRequest, v1::FetchItemsResponse> fetch;
  Handler<v1::RerankCandidatesRequest, v1::RerankCandidatesResponse> rerank;
  Handler<v1::SearchItemsRequest, v1::SearchItemsResponse> search;
  Handler<v1::ScorePairsRequest, v1::ScorePairsResponse> score;
  Handler<v1::GetItemsRequest, v1::GetItemsResponse> get;
  Handler<v1::GetStatusRequest, v1::GetStatusResponse> status;

 private:
  grpc::Status EncodeQueries(grpc::ServerContext* c, const v1::EncodeQueriesRequest* q,
                             v1::EncodeQueriesResponse* a) override {
    return Handle(encode, c, q, a);
  }
  grpc::Status SearchIndex(grpc::ServerContext* c, const v1::SearchIndexRequest* q,
                           v1::SearchIndexResponse* a) override {
    return Handle(search_index, c, q, a);
  }
  grpc::Status FetchItems(grpc::ServerContext* c, const v1::FetchItemsRequest* q,
                          v1::FetchItemsResponse* a) override {
    return Handle(fetch, c, q, a);
  }
  grpc::Status RerankCandidates(grpc::ServerContext* c, const v1::RerankCandidatesRequest* q,
                                v1::RerankCandidatesResponse* a) override {
    return Handle(rerank, c, q, a);
  }
  grpc::Status SearchItems(grpc::ServerContext* c, const v1::SearchItemsRequest* q,
                           v1::SearchItemsResponse* a) override {
    return Handle(search, c, q, a);
  }
  grpc::Status ScorePairs(grpc::ServerContext* c, const v1::ScorePairsRequest* q,
                          v1::ScorePairsResponse* a) override {
    return Handle(score, c, q, a);
  }
  grpc::Status GetItems(grpc::ServerContext* c, const v1::GetItemsRequest* q,
                        v1::GetItemsResponse* a) override {
    return Handle(get, c, q, a);
  }
  grpc::Status GetStatus(grpc::ServerContext* c, const v1::GetStatusRequest* q,
                         v1::GetStatusResponse* a) override {
    return Handle(status, c, q, a);
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Long enough for any machine; a test that needs it has failed.
inline CallContext Patient() {
  return CallContext(Clock::Real(), Clock::Real()->Now() + absl::Minutes(1));
}

// Counts how often `done` runs, and keeps the first result.
template <typename T>
class Caught {
 public:
  Done<T> done() {
    return [state = state_](absl::StatusOr<T> result) {
      ++state->runs;
      state->outcome.Set(std::move(result));
    };
  }
  absl::StatusOr<T> Get() { return state_->outcome.Await(CallContext::Unbounded(), "result"); }
  int runs() const { return state_->runs; }

 private:
  struct State {
    Outcome<T> outcome;
    std::atomic<int> runs{0};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};
}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_CLIENTS_ANSWERING_SERVER_H_
