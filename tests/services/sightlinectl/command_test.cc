// The commands as they are typed, the ones that ask against a server in this process.
#include "services/sightlinectl/command.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_search.h"
#include "common/rpc/grpc_status.h"
#include "services/sightlinectl/query_command.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

Ran Run(const std::vector<std::string>& args) {
  return RanBy(&RunCommand, args);
}

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

// A router that repeats what it was asked.
class EchoRouter : public v1::Search::Service, public v1::Admin::Service {
 public:
  EchoRouter() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::Search::Service*>(this));
    builder.RegisterService(static_cast<v1::Admin::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~EchoRouter() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  absl::Status error;
  std::string next_page_token;
  std::string unasked_reranker;  // the name of one that by default does not rerank
  v1::SearchItemsRequest asked;
  std::vector<int> depths;  // of every search; -1: left to the router
  std::string scorer;       // the reranker that pairs were to be scored by

 private:
  grpc::Status SearchItems(grpc::ServerContext*, const v1::SearchItemsRequest* request,
                           v1::SearchItemsResponse* response) override {
    asked = *request;
    depths.push_back(request->has_rerank_depth() ? static_cast<int>(request->rerank_depth()) : -1);
    if (!error.ok()) return ToGrpcStatus(error);
    SearchResult result;
    result.target = kTarget;
    Hit hit;
    hit.item_id = "stamps/fish";
    hit.caption = request->query().text();
    result.hits = {hit};
    result.matched_item_count = 40;
    result.next_page_token = next_page_token;
    if (!unasked_reranker.empty() && !request->has_rerank_depth() && request->reranker().empty()) {
      result.rerank = RerankOutcome::kNotByDefault;
      result.reranker = unasked_reranker;
    }
    ToProto(std::move(result), true, response);
    return grpc::Status::OK;
  }

  grpc::Status ScorePairs(grpc::ServerContext*, const v1::ScorePairsRequest* request,
                          v1::ScorePairsResponse* response) override {
    scorer = request->reranker();
    ScorePairsResult result;
    result.target = kTarget;
    result.scores = {{0.25f, 0.5f, 0.5f}};
    ToProto(result, 1, response);
    return grpc::Status::OK;
  }

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    ServerStatus status;
    status.service = "router";
    status.backends = {{"reranker", "b:2", false, "connection refused", {}}};
    ToProto(status, response);
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE("without a command the help goes to stderr, and asked for to stdout") {
  const Ran nothing = Run({});
  REQUIRE(nothing.status == 2);
  REQUIRE(nothing.out.empty());
  const Ran help = Run({"help"});
  REQUIRE(help.status == 0);
  REQUIRE(help.out == nothing.err);
  for (const Command& command : Commands()) {
    REQUIRE(absl::StrContains(help.out, absl::StrCat("  ", command.name, " ")));
  }
}

TEST_CASE("an unknown command is refused with the one that was probably meant") {
  const Ran ran = Run({"qurey", "fish"});
  REQUIRE(ran.status == 2);
  REQUIRE(ran.err == "unknown command 'qurey'; did you mean query?\n");
}

TEST_CASE("every command tells its flags, also beside mistakes") {
  for (const Command& command : Commands()) {
    const Ran ran = Run({std::string(command.name), "--help", "--nonsense-of-all-kinds"});
    REQUIRE(ran.status == 0);
    REQUIRE(absl::StartsWith(ran.out, absl::StrCat("usage: sightlinectl ", command.name)));
    REQUIRE(absl::StrContains(ran.out, "--help"));
    REQUIRE(ran.err.empty());
  }
}

TEST_CASE("a wrong command line is exit status 2 and says what is wrong") {
  const auto refused = [](const std::vector<std::string>& args, const std::string& text) {
    const Ran ran = Run(args);
    INFO(ran.err);
    return ran.status == 2 && ran.out.empty() && absl::StrContains(ran.err, text) &&
           absl::StrContains(ran.err, "usage: sightlinectl");
  };
  REQUIRE(refused({"query"}, "give one of: a text, --image FILE, --regions PLACE, --item ID"));
  REQUIRE(refused({"query", "fish", "--item", "x"}, "give one of"));
  REQUIRE(refused({"query", "fish", "--item-index", "x"}, "there is none"));
  REQUIRE(refused({"query", "fish", "--top-k", "0"}, "--top-k: '0' is not"));
  REQUIRE(refused({"query", "fish", "--topk", "3"}, "did you mean --top-k?"));
  REQUIRE(refused({"query", "fish", "--combination", "add_lambda"}, "is not replace"));
  REQUIRE(refused({"query", "fish", "--compare", "--json"}, "give one"));
  REQUIRE(refused({"query", "fish", "--compare", "--depth", "0"}, "another depth or none"));
  REQUIRE(refused({"query", "fish", "--compare", "--page-token", "x"}, "give one"));
  REQUIRE(refused({"query", "fish", "--recall", "0"}, "--recall: '0' is not more than 0"));
  REQUIRE(refused({"query", "fish", "--recall", "nan"}, "--recall: 'nan'"));
  REQUIRE(refused({"query", "fish", "--recall", "0.5", "--effort", "9"}, "give one"));
  REQUIRE(refused({"query", "fish", "--effort", "0"}, "--effort: '0' is not"));
  REQUIRE(refused({"add-model", "a", "b", "--store", "s"}, "give one folder"));
  REQUIRE(refused({"add-model", "a"}, "--store DIR"));
  REQUIRE(refused({"score", "fish"}, "--image FILE"));
  REQUIRE(refused({"describe"}, "give one path or id"));
  REQUIRE(refused({"publish", "pictures"}, "--store DIR"));
  REQUIRE(refused({"init-model", "--store", "s"}, "--vocabulary FILE"));
  REQUIRE(refused({"make-vocabulary", "--out", "v"}, "something to read"));
  REQUIRE(refused({"make-vocabulary", "--out", "v", "--corpus", "songs"}, "songs"));
  REQUIRE(refused({"make-vocabulary", "--out", "v", "--text", "t", "--kind", "bpe"},
                  "there are: wordpiece, clip_bpe"));
}

TEST_CASE("combinations are read strictly") {
  REQUIRE(ParseCombination("replace")->kind == CombinationKind::kReplace);
  REQUIRE(ParseCombination("add_lambda:0.5")->lambda == 0.5f);
  REQUIRE(ParseCombination("norm_add_lambda:1")->kind == CombinationKind::kNormAddLambda);
  for (const char* bad : {"", "replace:0.5", "add_lambda", "add_lambda:", "add_lambda:1.5",
                          "add_lambda:nan", "add_lambda:x", "mean:0.5", ":0.5"}) {
    INFO(bad);
    REQUIRE_FALSE(ParseCombination(bad).ok());
  }
}

TEST_CASE("a query is asked as typed and its hits are printed") {
  EchoRouter router;
  const Ran ran =
      Run({"query", "a", "red fish", "--router", router.address(), "--index=pictures", "--top-k",
           "5", "--depth=0", "--combination", "add_lambda:0.25", "--reranker=fine"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(router.asked.query().text() == "a red fish");
  REQUIRE(router.asked.index() == "pictures");
  REQUIRE(router.asked.top_k() == 5);
  REQUIRE(router.asked.has_rerank_depth());
  REQUIRE(router.asked.rerank_depth() == 0);
  REQUIRE(router.asked.combination().lambda() == 0.25f);
  REQUIRE(router.asked.reranker() == "fine");
  REQUIRE(ran.out ==
          "rank   score  stage      id           caption     path\n"
          "   1  0.0000  retrieved  stamps/fish  a red fish\n");
  REQUIRE(absl::StartsWith(ran.err, "pictures/g1, shards 0 of 0, "));
}

TEST_CASE("a query asks for tags and for a recall or an effort as typed") {
  EchoRouter router;
  REQUIRE(Run({"query", "fish", "--any", "sea,river", "--any=lake", "--all", "red,", "--none",
               "drawing,sketch", "--recall", "0.9", "--router", router.address()})
              .status == 0);
  const auto tags = [](const auto& list) {
    return std::vector<std::string>(list.begin(), list.end());
  };
  REQUIRE(tags(router.asked.filter().any()) == std::vector<std::string>{"sea", "river", "lake"});
  REQUIRE(tags(router.asked.filter().all()) == std::vector<std::string>{"red"});
  REQUIRE(tags(router.asked.filter().none()) == std::vector<std::string>{"drawing", "sketch"});
  REQUIRE(router.asked.effort().recall() == 0.9f);
  const Ran ran = Run({"query", "fish", "--effort", "70", "--router", router.address()});
  REQUIRE(router.asked.effort().effort() == 70);
  REQUIRE_FALSE(router.asked.has_filter());
  REQUIRE(absl::StrContains(ran.err, "40 items exactly"));
  REQUIRE(Run({"query", "fish", "--router", router.address()}).status == 0);
  REQUIRE_FALSE(router.asked.has_effort());
  const Ran nothing = Run({"query", "fish", "--any", "", "--router", router.address()});
  REQUIRE(nothing.status == 2);
  REQUIRE(absl::StrContains(nothing.err, "--any '' names no tag"));
}

TEST_CASE("a query goes on with the token that its answer printed") {
  EchoRouter router;
  router.next_page_token = "AbC-_9";
  const Ran first = Run({"query", "fish", "--router", router.address()});
  REQUIRE(router.asked.page_token().empty());
  REQUIRE(absl::EndsWith(first.err, "\nmore: --page-token AbC-_9\n"));
  router.next_page_token = "";
  const Ran last = Run({"query", "fish", "--page-token", "AbC-_9", "--router", router.address()});
  REQUIRE(router.asked.page_token() == "AbC-_9");
  REQUIRE_FALSE(absl::StrContains(last.err, "more"));
}

TEST_CASE("queries by picture and by item are asked as typed") {
  EchoRouter router;
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.png"), "picture").ok());
  REQUIRE(Run({"query", "--image", dir.File("a.png"), "--router", router.address()}).status == 0);
  REQUIRE(router.asked.query().image() == "picture");
  REQUIRE_FALSE(router.asked.has_rerank_depth());
  REQUIRE(WriteRegionFile(dir.File("a.regions"), 2, Dtype::kFloat16, [](int64_t i) {
            return SomeRegionItems(2, 5)[i];
          }).ok());
  REQUIRE(
      Run({"query", "--regions", dir.File("a.regions#1"), "--router", router.address()}).status ==
      0);
  REQUIRE(router.asked.query().regions().features().dimension() == 5);
  REQUIRE(Run({"query", "--item", "x", "--item-index", "captions", "--router", router.address()})
              .status == 0);
  REQUIRE(router.asked.query().item().item_id() == "x");
  REQUIRE(router.asked.query().item().index() == "captions");
}

TEST_CASE("a comparison asks without and with reranking, all else equal") {
  EchoRouter router;
  const Ran ran = Run({"query", "fish", "--compare", "--top-k", "3", "--router", router.address()});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(router.depths == std::vector<int>{0, -1});
  REQUIRE(router.asked.top_k() == 3);
  REQUIRE(absl::StrContains(ran.out, "   1  stamps/fish: fish  stamps/fish: fish\n"));
  REQUIRE(std::count(ran.err.begin(), ran.err.end(), '\n') == 2);
  REQUIRE(Run({"query", "fish", "--compare", "--depth=7", "--router", router.address()}).status ==
          0);
  REQUIRE(router.depths == std::vector<int>{0, -1, 0, 7});
}

TEST_CASE("a comparison asks for reranking by name where by default there is none") {
  EchoRouter router;
  router.unasked_reranker = "fine";
  const Ran ran = Run({"query", "fish", "--compare", "--router", router.address()});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(router.depths == std::vector<int>{0, -1, -1});
  REQUIRE(router.asked.reranker() == "fine");
  REQUIRE_FALSE(absl::StrContains(ran.err, "by default none"));
}

TEST_CASE("JSON goes to stdout alone") {
  EchoRouter router;
  const Ran ran = Run({"query", "fish", "--json", "--router", router.address()});
  REQUIRE(ran.status == 0);
  REQUIRE(nlohmann::json::parse(ran.out)["hits"][0]["itemId"] == "stamps/fish");
  REQUIRE(ran.err.empty());
}

TEST_CASE("an error of the server is exit status 1 with code, message and details") {
  EchoRouter router;
  router.error = WithField(
      MakeError(reasons::kUnknownIndex, "there is no index 'x'", {{"index", "x"}}), "index");
  const Ran ran = Run({"query", "fish", "--router", router.address()});
  REQUIRE(ran.status == 1);
  REQUIRE(ran.out.empty());
  REQUIRE(ran.err == absl::StrCat("error: NOT_FOUND: router ", router.address(),
                                  ": there is no index 'x'\n"
                                  "  reason: UNKNOWN_INDEX index=x\n"
                                  "  fields: index\n"));
}

TEST_CASE("a router that is busy is exit status 75, one that will never take the request is 1") {
  EchoRouter router;
  router.error = MakeError(reasons::kServerBusy, "64 calls are in progress");
  REQUIRE(Run({"query", "fish", "--router", router.address()}).status == 75);
  router.error = MakeError(reasons::kIndexNotReady, "nothing is served yet");
  REQUIRE(Run({"query", "fish", "--router", router.address()}).status == 75);
  router.error =
      WithRetryDelay(MakeError(reasons::kRequestTooLarge, "too large"), absl::InfiniteDuration());
  REQUIRE(Run({"query", "fish", "--router", router.address()}).status == 1);
}

TEST_CASE("a picture that cannot be read is exit status 1 and asks nobody") {
  const Ran ran = Run({"query", "--image", "/no/such/file.png", "--router", "127.0.0.1:1"});
  REQUIRE(ran.status == 1);
  REQUIRE(absl::StrContains(ran.err, "NOT_FOUND"));
  REQUIRE(absl::StrContains(ran.err, "/no/such/file.png"));
}

TEST_CASE("a score is printed first, so that a script can cut it off") {
  EchoRouter router;
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.png"), "picture").ok());
  const Ran ran = Run({"score", "fish", "--image", dir.File("a.png"), "--router", router.address(),
                       "--reranker", "fine"});
  REQUIRE(router.scorer == "fine");
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StartsWith(ran.out, "0.500000\n"));
}

TEST_CASE("one server that does not answer makes the exit status 75, and the rest is told") {
  EchoRouter router;
  std::string dead;
  { dead = EchoRouter().address(); }
  const Ran ran = Run({"status", dead, router.address()});
  REQUIRE(ran.status == 75);
  REQUIRE(ran.out == absl::StrCat(router.address(),
                                  "  router\n"
                                  "backends\n"
                                  "  service   address  reachable  shards  error\n"
                                  "  reranker  b:2      NO         -       connection refused\n"));
  REQUIRE(absl::StartsWith(ran.err, absl::StrCat(dead, "  does not answer\nerror: UNAVAILABLE: ")));

  const Ran json = Run({"status", "--json", dead, router.address()});
  REQUIRE(json.status == 75);
  const auto parsed = nlohmann::json::parse(json.out);
  REQUIRE(parsed[0]["error"]["code"] == "UNAVAILABLE");
  REQUIRE(parsed[1]["status"]["backends"][0]["error"] == "connection refused");
}

TEST_CASE("publishing what is not there is exit status 1") {
  TempDir dir;
  const Ran ran = Run({"publish", "pictures", "g1", "--store", dir.path()});
  REQUIRE(ran.status == 1);
  REQUIRE(ran.out.empty());
}

}  // namespace
}  // namespace sightline
