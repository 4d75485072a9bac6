// The clients against a real gRPC server in this process, on a port of its own.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/clients/admin_client.h"
#include "common/clients/convert_backends.h"
#include "common/clients/grpc_backend_clients.h"
#include "common/rpc/grpc_status.h"
#include "tests/common/clients/answering_server.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

EncodeRequest OneText() {
  EncodeRequest request;
  request.target = kTarget;
  request.queries.push_back(TextQuery{"a red fish"});
  return request;
}

SearchShardRequest OneSearch() {
  SearchShardRequest request;
  request.target = kTarget;
  request.queries = EmbeddingMatrix(1, 4);
  request.top_k = 3;
  return request;
}

TEST_CASE("every backend call goes there and back") {
  AnsweringServer server;
  server.encode = [](grpc::ServerContext*, const v1::EncodeQueriesRequest& request,
                     v1::EncodeQueriesResponse* response) {
    const auto read = FromProto(request);
    EncodeResponse answer;
    answer.embeddings = EmbeddingMatrix(read->queries.size(), 4);
    answer.embeddings.mutable_row(0)[1] = 0.5f;
    ToProto(std::move(answer), read->target, response);
    return grpc::Status::OK;
  };
  server.search_index = [](grpc::ServerContext*, const v1::SearchIndexRequest& request,
                           v1::SearchIndexResponse* response) {
    const auto read = FromProto(request);
    ToProto(SearchShardResponse{{{{"a", 0, 1, 0.5f}}}}, read->target, response);
    return grpc::Status::OK;
  };
  server.fetch = [](grpc::ServerContext*, const v1::FetchItemsRequest& request,
                    v1::FetchItemsResponse* response) {
    const auto read = FromProto(request);
    FetchItemsResponse answer;
    answer.items = {absl::nullopt, StoredItem{read->item_ids[1], "a fish"}};
    ToProto(std::move(answer), read->target, response);
    return grpc::Status::OK;
  };
  server.rerank = [](grpc::ServerContext*, const v1::RerankCandidatesRequest& request,
                     v1::RerankCandidatesResponse* response) {
    const auto read = FromProto(request);
    ToProto(RerankResponse{{0.75f}, ScoreKind::kSigmoid}, read->target, response);
    return grpc::Status::OK;
  };

  Caught<EncodeResponse> encoded;
  MakeGrpcQueryEncoderClient(server.channel(), "e")
      ->EncodeQueries(Patient(), OneText(), encoded.done());
  REQUIRE(encoded.Get()->embeddings.row(0)[1] == 0.5f);

  const auto index = MakeGrpcIndexSearchClient(server.channel(), "i");
  Caught<SearchShardResponse> found;
  index->SearchShard(Patient(), OneSearch(), found.done());
  REQUIRE(found.Get()->candidates[0][0].item_id == "a");

  FetchItemsRequest fetch;
  fetch.target = kTarget;
  fetch.item_ids = {"x", "y"};
  Caught<FetchItemsResponse> fetched;
  index->FetchItems(Patient(), fetch, fetched.done());
  REQUIRE(fetched.Get()->items[1]->caption == "a fish");

  RerankRequest rerank;
  rerank.target = kTarget;
  rerank.query = TextQuery{"a red fish"};
  rerank.candidates.push_back(StoredRef{kTarget, 0, 1});
  Caught<RerankResponse> scored;
  MakeGrpcRerankerClient(server.channel(), "r")->RerankCandidates(Patient(), rerank, scored.done());
  REQUIRE(scored.Get()->scores == std::vector<float>{0.75f});
  REQUIRE(scored.runs() == 1);
}

TEST_CASE("an error keeps its code and details and says who made it") {
  AnsweringServer server;
  server.encode = [](grpc::ServerContext*, const v1::EncodeQueriesRequest&,
                     v1::EncodeQueriesResponse*) {
    return ToGrpcStatus(WithRetryDelay(
        WithField(MakeError(reasons::kQueueFull, "the queue is full", {{"queue", "text"}}),
                  "queries[0]"),
        absl::Milliseconds(250)));
  };
  Caught<EncodeResponse> caught;
  MakeGrpcQueryEncoderClient(server.channel(), "a:1")
      ->EncodeQueries(Patient(), OneText(), caught.done());
  const absl::Status status = caught.Get().status();
  REQUIRE(status.code() == absl::StatusCode::kResourceExhausted);
  REQUIRE(status.message() == "query_encoder a:1: the queue is full");
  REQUIRE(HasReason(status, reasons::kQueueFull));
  REQUIRE(GetReason(status)->metadata.at("queue") == "text");
  REQUIRE(GetFields(status) == std::vector<std::string>{"queries[0]"});
  REQUIRE(GetRetryDelay(status) == absl::Milliseconds(250));
}

TEST_CASE("an answer from another generation never becomes a result") {
  AnsweringServer server;
  server.search_index = [](grpc::ServerContext*, const v1::SearchIndexRequest&,
                           v1::SearchIndexResponse* response) {
    GenerationRef other = kTarget;
    other.generation = "g2";
    ToProto(SearchShardResponse{{{{"a", 0, 1, 0.5f}}}}, other, response);
    return grpc::Status::OK;
  };
  Caught<SearchShardResponse> caught;
  MakeGrpcIndexSearchClient(server.channel(), "a:1")
      ->SearchShard(Patient(), OneSearch(), caught.done());
  const absl::Status status = caught.Get().status();
  INFO(status);
  REQUIRE(status.code() == absl::StatusCode::kInternal);
  REQUIRE(absl::StartsWith(std::string(status.message()), "index_search a:1: "));
  REQUIRE(absl::StrContains(std::string(status.message()), "pictures/g2"));
}

TEST_CASE("an answer with a wrong number of results never becomes a result") {
  AnsweringServer server;
  server.search_index = [](grpc::ServerContext*, const v1::SearchIndexRequest&,
                           v1::SearchIndexResponse* response) {
    ToProto(SearchShardResponse{{{}, {}}}, kTarget, response);
    return grpc::Status::OK;
  };
  Caught<SearchShardResponse> caught;
  MakeGrpcIndexSearchClient(server.channel(), "a:1")
      ->SearchShard(Patient(), OneSearch(), caught.done());
  REQUIRE(caught.Get().status().code() == absl::StatusCode::kInternal);
  REQUIRE(caught.runs() == 1);
}

// Holds a handler until its caller has gone; gRPC says so only when asked.
grpc::Status HoldUntilCancelled(grpc::ServerContext* context, Gate* gone) {
  while (!context->IsCancelled()) std::this_thread::yield();
  gone->Open();
  return grpc::Status::CANCELLED;
}

TEST_CASE("a call ends at its deadline although the server does not answer") {
  AnsweringServer server;
  Gate gone;
  server.encode = [&](grpc::ServerContext* context, const v1::EncodeQueriesRequest&,
                      v1::EncodeQueriesResponse*) { return HoldUntilCancelled(context, &gone); };
  Caught<EncodeResponse> caught;
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Milliseconds(100));
  MakeGrpcQueryEncoderClient(server.channel(), "a:1")
      ->EncodeQueries(call, OneText(), caught.done());
  REQUIRE(caught.Get().status().code() == absl::StatusCode::kDeadlineExceeded);
  gone.Wait();
  REQUIRE(caught.runs() == 1);
}

TEST_CASE("cancelling the context ends the call and reaches the server") {
  AnsweringServer server;
  Gate entered, gone;
  server.encode = [&](grpc::ServerContext* context, const v1::EncodeQueriesRequest&,
                      v1::EncodeQueriesResponse*) {
    entered.Open();
    return HoldUntilCancelled(context, &gone);
  };
  auto cancellation = std::make_shared<Cancellation>();
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Minutes(1), cancellation);
  Caught<EncodeResponse> caught;
  auto client = MakeGrpcQueryEncoderClient(server.channel(), "a:1");
  client->EncodeQueries(call, OneText(), caught.done());
  client.reset();  // a client may go while its calls are under way
  entered.Wait();
  cancellation->Cancel();
  REQUIRE(caught.Get().status().code() == absl::StatusCode::kCancelled);
  gone.Wait();
  REQUIRE(caught.runs() == 1);
}

TEST_CASE("whoever hears of a call's end finds nothing of it left to cancel") {
  AnsweringServer server;
  server.search_index = [](grpc::ServerContext*, const v1::SearchIndexRequest&,
                           v1::SearchIndexResponse* response) {
    ToProto(SearchShardResponse{{{{"a", 0, 1, 0.5f}}}}, kTarget, response);
    return grpc::Status::OK;
  };
  const CallContext call = Patient();
  int left = -1;
  Gate ended;
  MakeGrpcIndexSearchClient(server.channel(), "i")
      ->SearchShard(call, OneSearch(), [&](absl::StatusOr<SearchShardResponse> answer) {
        left = answer.ok() ? call.cancellation()->callbacks() : -1;
        call.cancellation()->Cancel();
        ended.Open();
      });
  ended.Wait();
  REQUIRE(left == 0);
}

TEST_CASE("an answer that protobuf cannot read is an error, not what was read of it") {
  AnsweringServer server;
  server.search_index = [](grpc::ServerContext*, const v1::SearchIndexRequest&,
                           v1::SearchIndexResponse* response) {
    ToProto(SearchShardResponse{{{{"\xff", 0, 1, 0.5f}}}}, kTarget, response);
    return grpc::Status::OK;
  };
  Caught<SearchShardResponse> caught;
  MakeGrpcIndexSearchClient(server.channel(), "i")
      ->SearchShard(Patient(), OneSearch(), caught.done());
  const absl::Status status = caught.Get().status();
  INFO(status);
  REQUIRE(absl::IsInternal(status));
  REQUIRE(absl::StrContains(status.message(), "not a readable message"));
}

// The last channel of a process used to be taken down by the thread that it waits for.
TEST_CASE("a client may be dropped while its call is under way, also by its own callback") {
  AnsweringServer server;
  server.status = [](grpc::ServerContext*, const v1::GetStatusRequest&, v1::GetStatusResponse*) {
    return grpc::Status::OK;
  };
  for (int i = 0; i < 100; ++i) {
    Caught<ServerStatus> dropped_at_once, dropped_by_callback;
    MakeGrpcAdminClient(server.channel(), "a:1")->GetStatus(Patient(), {}, dropped_at_once.done());
    REQUIRE(dropped_at_once.Get().ok());
    std::shared_ptr<AdminClient> client = MakeGrpcAdminClient(server.channel(), "a:1");
    AdminClient* const raw = client.get();
    raw->GetStatus(Patient(), {},
                   [done = dropped_by_callback.done(), client = std::move(client)](
                       absl::StatusOr<ServerStatus> status) { done(std::move(status)); });
    REQUIRE(dropped_by_callback.Get().ok());
  }
}

TEST_CASE("a call that is over before it begins never reaches the server") {
  AnsweringServer server;
  std::atomic<int> calls{0};
  server.encode = [&](grpc::ServerContext*, const v1::EncodeQueriesRequest&,
                      v1::EncodeQueriesResponse*) {
    ++calls;
    return grpc::Status::OK;
  };
  const auto client = MakeGrpcQueryEncoderClient(server.channel(), "a:1");
  Caught<EncodeResponse> late, cancelled;
  client->EncodeQueries(CallContext(Clock::Real(), Clock::Real()->Now() - absl::Seconds(1)),
                        OneText(), late.done());
  REQUIRE(late.runs() == 1);
  REQUIRE(late.Get().status().code() == absl::StatusCode::kDeadlineExceeded);
  const CallContext call = Patient();
  call.cancellation()->Cancel();
  client->EncodeQueries(call, OneText(), cancelled.done());
  REQUIRE(cancelled.runs() == 1);
  REQUIRE(cancelled.Get().status().code() == absl::StatusCode::kCancelled);
  REQUIRE(calls == 0);
}

TEST_CASE("a server that is not there is unavailable") {
  std::string address;
  { address = AnsweringServer().address(); }
  Caught<EncodeResponse> caught;
  MakeGrpcQueryEncoderClient(MakeChannel(address), "a:1")
      ->EncodeQueries(Patient(), OneText(), caught.done());
  REQUIRE(caught.Get().status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a server that does not know the call is told to be another one") {
  AnsweringServer server;
  const absl::Status status =
      MakeGrpcAdminClient(server.channel(), "a:1")->GetStatus(Patient()).status();
  REQUIRE(absl::IsUnimplemented(status));
  REQUIRE(status.message() ==
          "server a:1: the server at this address does not know the call (no handler): it is "
          "another kind of server, or of another release");
  REQUIRE(HasReason(status, reasons::kWrongServer));
}

TEST_CASE("one replica with several addresses is called at whichever answers") {
  AnsweringServer server;
  server.status = [](grpc::ServerContext*, const v1::GetStatusRequest&,
                     v1::GetStatusResponse* response) {
    response->set_service("router");
    return grpc::Status::OK;
  };
  // Nobody listens on the discard port of another loopback address.
  const auto channel = MakeChannel("ipv4:127.0.0.9:9," + server.address());
  REQUIRE(MakeGrpcAdminClient(channel, "a:1")->GetStatus(Patient())->service == "router");
}

TEST_CASE("the request id of the call travels with it") {
  AnsweringServer server;
  std::string seen;
  server.status = [&](grpc::ServerContext* context, const v1::GetStatusRequest&,
                      v1::GetStatusResponse*) {
    const auto found = context->client_metadata().find("x-request-id");
    if (found != context->client_metadata().end()) {
      seen = std::string(found->second.data(), found->second.size());
    }
    return grpc::Status::OK;
  };
  REQUIRE(MakeGrpcAdminClient(server.channel(), "s")
              ->GetStatus(Patient().WithRequestId("abc-123"))
              .ok());
  REQUIRE(seen == "abc-123");
}

}  // namespace
}  // namespace sightline
