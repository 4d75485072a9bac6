// The clients against a real gRPC server in this process, on a port of its own.
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

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
#include "common/base/outcome.h"
#include "common/clients/admin_client.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_backends.h"
#include "common/clients/convert_search.h"
#include "common/clients/grpc_backend_clients.h"
#include "common/clients/search_client.h"
#include "common/clients/service_config.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "sightline/v1/index_search.grpc.pb.h"
#include "sightline/v1/query_encoder.grpc.pb.h"
#include "sightline/v1/reranker.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

// Answers of all services are what the test says; unset ones are UNIMPLEMENTED.
template <typename Request, typename Response>
using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;

template <typename Request, typename Response>
grpc::Status Handle(const Handler<Request, Response>& handler, grpc::ServerContext* context,
                    const Request* request, Response* response) {
  if (!handler) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no handler");
  return handler(context, *request, response);
}

class TestServer : public v1::QueryEncoder::Service,
                   public v1::IndexSearch::Service,
                   public v1::Reranker::Service,
                   public v1::Search::Service,
                   public v1::Admin::Service {
 public:
  TestServer() {
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
  ~TestServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

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
CallContext Patient() {
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  TestServer server;
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
  { address = TestServer().address(); }
  Caught<EncodeResponse> caught;
  MakeGrpcQueryEncoderClient(MakeChannel(address), "a:1")
      ->EncodeQueries(Patient(), OneText(), caught.done());
  REQUIRE(caught.Get().status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a server that does not know the call is told to be another one") {
  TestServer server;
  const absl::Status status =
      MakeGrpcAdminClient(server.channel(), "a:1")->GetStatus(Patient()).status();
  REQUIRE(absl::IsUnimplemented(status));
  REQUIRE(status.message() ==
          "server a:1: the server at this address does not know the call (no handler): it is "
          "another kind of server, or of another release");
  REQUIRE(HasReason(status, reasons::kWrongServer));
}

TEST_CASE("one replica with several addresses is called at whichever answers") {
  TestServer server;
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
  TestServer server;
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

TEST_CASE("the public calls go there and back, blocking") {
  TestServer server;
  server.search = [](grpc::ServerContext*, const v1::SearchItemsRequest& request,
                     v1::SearchItemsResponse* response) {
    SearchResult result;
    result.target = kTarget;
    Hit hit;
    hit.item_id = request.query().text();
    result.hits = {hit};
    ToProto(std::move(result), true, response);
    return grpc::Status::OK;
  };
  server.score = [](grpc::ServerContext*, const v1::ScorePairsRequest&,
                    v1::ScorePairsResponse* response) {
    ScorePairsResult result;
    result.target = kTarget;
    result.scores = {{0.1f, 0.9f, 2.f}};
    ToProto(result, 1, response);
    return grpc::Status::OK;
  };
  server.get = [](grpc::ServerContext*, const v1::GetItemsRequest&,
                  v1::GetItemsResponse* response) {
    GetItemsResult result;
    result.target = kTarget;
    result.items = {StoredItem{"b"}};
    ToProto(std::move(result), response);
    return grpc::Status::OK;
  };
  server.status = [](grpc::ServerContext*, const v1::GetStatusRequest&,
                     v1::GetStatusResponse* response) {
    response->set_service("router");
    return grpc::Status::OK;
  };
  const auto client = MakeGrpcSearchClient(server.address());
  SearchRequest search;
  search.query = TextQuery{"fish"};
  REQUIRE(client->SearchItems(Patient(), search)->hits[0].item_id == "fish");
  ScorePairsRequest score;
  score.texts = {TextQuery{"fish"}};
  score.images = {ImageQuery{"png"}};
  REQUIRE(client->ScorePairs(Patient(), score)->scores[0].raw_score == 2.f);
  const auto items = client->GetItems(Patient(), GetItemsRequest{"pictures", {"a", "b"}, false});
  REQUIRE_FALSE(items->items[0].has_value());
  REQUIRE(items->items[1]->item_id == "b");
  REQUIRE(MakeGrpcAdminClient(server.address())->GetStatus(Patient())->service == "router");
}

TEST_CASE("text that is not UTF-8 is refused before it is sent") {
  TestServer server;
  const auto client = MakeGrpcSearchClient(server.address());
  SearchRequest search;
  search.query = TextQuery{"caf\xE9"};
  const absl::Status status = client->SearchItems(Patient(), search).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(GetFields(status) == std::vector<std::string>{"query.text"});
  ScorePairsRequest pairs;
  pairs.texts = {TextQuery{"ok"}};
  pairs.images = {ItemQuery{"", "\xFF"}};
  REQUIRE(GetFields(client->ScorePairs(Patient(), pairs).status()) ==
          std::vector<std::string>{"images[0].item.item_id"});
  REQUIRE(GetFields(client->GetItems(Patient(), GetItemsRequest{"i", {"a", "\xC0"}}).status()) ==
          std::vector<std::string>{"item_ids[1]"});
}

TEST_CASE("no string that protobuf would refuse is sent") {
  TestServer server;
  const auto client = MakeGrpcSearchClient(server.address());
  const auto search = [&](SearchRequest request) {
    return GetFields(client->SearchItems(Patient(), std::move(request)).status());
  };
  const auto pairs = [&](ScorePairsRequest request) {
    return GetFields(client->ScorePairs(Patient(), std::move(request)).status());
  };
  using Fields = std::vector<std::string>;
  const std::string bad = "\xFF";
  ImageInput words;
  words.regions = {1, 1, {1}, {}};
  words.tags = {"fish", bad};
  ImageInput tokens = words;
  tokens.ocr_tokens = {bad};
  SearchRequest request;
  request.query = TextQuery{"fish"};
  request.reranker = bad;
  CHECK(search(request) == Fields{"reranker"});
  request.reranker.clear();
  request.query = EmbeddingQuery{{1}, bad};
  CHECK(search(request) == Fields{"query.embedding.space"});
  request.query = RegionsQuery{words};
  CHECK(search(request) == Fields{"query.regions.tags[1]"});
  request.query = RegionsQuery{tokens};
  CHECK(search(request) == Fields{"query.regions.ocr_tokens[0]"});
  ScorePairsRequest pair;
  pair.texts = {TextQuery{"fish"}};
  pair.images = {ImageQuery{bad}, RegionsQuery{words}};
  CHECK(pairs(pair) == Fields{"images[1].regions.tags[1]"});
  pair.images = {ImageQuery{bad}};
  pair.reranker = bad;
  CHECK(pairs(pair) == Fields{"reranker"});
}

TEST_CASE("the public client retries a router that was unavailable once") {
  TestServer server;
  std::atomic<int> calls{0};
  server.search = [&](grpc::ServerContext*, const v1::SearchItemsRequest&,
                      v1::SearchItemsResponse* response) {
    if (++calls == 1) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
    SearchResult result;
    result.target = kTarget;
    ToProto(std::move(result), true, response);
    return grpc::Status::OK;
  };
  SearchRequest search;
  search.query = TextQuery{"fish"};
  REQUIRE(MakeGrpcSearchClient(server.address())->SearchItems(Patient(), search).ok());
  REQUIRE(calls == 2);
}

// Answers with nothing found.
void CountSearches(TestServer* server, std::atomic<int>* calls) {
  server->search = [calls](grpc::ServerContext*, const v1::SearchItemsRequest&,
                           v1::SearchItemsResponse* response) {
    ++*calls;
    SearchResult result;
    result.target = kTarget;
    ToProto(std::move(result), true, response);
    return grpc::Status::OK;
  };
}

// Two servers behind one name, which count what they are asked.
struct TwoServers {
  TwoServers() {
    for (int i = 0; i < 2; ++i) CountSearches(&servers[i], &calls[i]);
    client = MakeGrpcSearchClient(
        absl::StrCat("ipv4:", servers[0].address(), ",", servers[1].address()));
    request.query = TextQuery{"fish"};
  }

  void Ask() { REQUIRE(client->SearchItems(call, request).ok()); }
  // The second connection may come after the first calls.
  void AskUntilBothHaveBeen() {
    while (calls[0] == 0 || calls[1] == 0) Ask();
  }

  std::atomic<int> calls[2] = {0, 0};
  TestServer servers[2];
  std::unique_ptr<SearchClient> client;
  SearchRequest request;
  const CallContext call{Clock::Real(), Clock::Real()->Now() + absl::Seconds(20)};
};

TEST_CASE("calls go round all addresses that a name has") {
  TwoServers both;
  both.AskUntilBothHaveBeen();
}

// So that nobody asks a server that is drained when it closes at last.
TEST_CASE("an address that says it serves no more is left, while it still answers") {
  TwoServers both;
  both.AskUntilBothHaveBeen();
  both.servers[0].SetServing(false);
  // Going round, each address has at most one call in two.
  for (int in_a_row = 0, before = both.calls[0]; in_a_row < 8; ++in_a_row) {
    both.Ask();
    if (both.calls[0] != before) in_a_row = 0;
    before = both.calls[0];
  }
  both.servers[0].SetServing(true);
  both.servers[1].SetServing(false);
  for (const int before = both.calls[0]; both.calls[0] == before;) both.Ask();
}

TEST_CASE("of a server that does not serve yet the error says that") {
  std::atomic<int> calls = 0;
  TestServer server;
  CountSearches(&server, &calls);
  server.SetServing(false);
  SearchRequest search;
  search.query = TextQuery{"fish"};
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(20));
  const auto found = MakeGrpcSearchClient(server.address())->SearchItems(call, search);
  REQUIRE(absl::IsUnavailable(found.status()));
  REQUIRE(absl::StrContains(found.status().message(), "says that it does not serve"));
  REQUIRE(calls == 0);
}

TEST_CASE("the service config keeps its retries and loses its timeouts") {
  const std::string retries = PublicServiceConfigWithoutTimeouts();
  REQUIRE(absl::StrContains(retries, "sightline.v1.Search"));
  REQUIRE(absl::StrContains(retries, "\"maxAttempts\":2"));
  REQUIRE_FALSE(absl::StrContains(retries, "\"timeout\""));
}

}  // namespace
}  // namespace sightline
