// The public client against a real gRPC server in this process, on a port of its own.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/clients/admin_client.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_search.h"
#include "common/clients/search_client.h"
#include "common/clients/service_config.h"
#include "tests/common/clients/answering_server.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

TEST_CASE("the public calls go there and back, blocking") {
  AnsweringServer server;
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
  AnsweringServer server;
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
  AnsweringServer server;
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
  AnsweringServer server;
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
void CountSearches(AnsweringServer* server, std::atomic<int>* calls) {
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
  AnsweringServer servers[2];
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
  AnsweringServer server;
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
