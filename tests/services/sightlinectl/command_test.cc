// The commands as they are typed, the ones that ask against a server in this process.
#include "services/sightlinectl/command.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_search.h"
#include "common/dataset/region_file.h"
#include "common/rpc/grpc_status.h"
#include "services/sightlinectl/query_command.h"
#include "services/sightlinectl/status_command.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Ran {
  int status;
  std::string out;
  std::string err;
};

Ran Run(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunCommand(args, {out, err});
  return {status, out.str(), err.str()};
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

TEST_CASE("the status of a server is three tables") {
  ServerStatus status;
  status.service = "index_search";
  GenerationStatus ready;
  ready.state = GenerationState::kReady;
  ready.sequence = 2;
  ready.info.ref = kTarget;
  ready.info.dimension = 256;
  ready.info.shard_count = 2;
  ready.info.item_count = 10273;
  ready.info.encoder_model = std::string(64, 'e');
  ready.held_shards = {0, 1};
  GenerationStatus refused;
  refused.state = GenerationState::kRefused;
  refused.reason = "too large";
  refused.info.ref = {"captions", "g7", ""};
  refused.info.content = IndexContent::kCaptions;
  status.generations = {ready, refused};
  status.models = {{std::string(64, 'e'), "oscar", std::string(64, '0'), "small"}};
  REQUIRE(FormatServer({"a:1", status}) ==
          "a:1  index_search\n"
          "generations\n"
          "  index     generation  state    sequence  items  kind      dimension  shards  held  "
          "encoder       reranker  reason\n"
          "  pictures  g1          READY           2  10273  images          256       2  0,1   "
          "eeeeeeeeeeee  -         -\n"
          "  captions  g7          REFUSED         0      0  captions          0       0  -     "
          "-             -         too large\n"
          "models\n"
          "  model         family  space         precision  agreement  description\n"
          "  eeeeeeeeeeee  oscar   000000000000  -                  -  small\n");
}

TEST_CASE("the status of a server on devices tells what it holds of each") {
  ServerStatus status;
  status.service = "index_search";
  status.devices = {
      {0,
       "Great GPU",
       141'000'000'000,
       15'500'000'000,
       {200, 150, absl::Milliseconds(300), absl::Milliseconds(50), 7'000'000, 3'000'000}},
      {1, "", 0, 0, {}}};
  CHECK(
      FormatServer({"a:1", status}) ==
      "a:1  index_search\n"
      "devices\n"
      "  device  name       MB held      of  passes  recorded  ms a pass  waiting  MB in  MB out\n"
      "       0  Great GPU    15500  141000     200       150      1.500    0.250      7       3\n"
      "       1  -                0       -       0         0          -        -      0       "
      "0\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["devices"][0]["heldBytes"] == "15500000000");
}

TEST_CASE("the status of a server that loads tells how far it is") {
  GenerationStatus loading;
  loading.state = GenerationState::kLoading;
  loading.info.ref = kTarget;
  loading.progress =
      LoadProgress{LoadStage::kLoading, 2'500'000'000, 10'000'000'000, absl::Seconds(5)};
  GenerationStatus verifying = loading;
  verifying.info.ref.generation = "g2";
  verifying.progress = LoadProgress{LoadStage::kVerifying, 0, 4000, absl::ZeroDuration()};
  GenerationStatus nothing_to_read = loading;
  nothing_to_read.progress = LoadProgress{LoadStage::kLoading, 0, 0, absl::Seconds(5)};
  const ServerStatus status{"reranker", {loading, verifying, nothing_to_read}, {}, {}, {}};
  const std::string text = FormatServer({"a:1", status});
  INFO(text);
  CHECK(absl::StrContains(text,
                          "loading\n"
                          "  pictures/g1  load     2500/10000 MB  25 %  "
                          "[######                    ]  500/s  0:15 left\n"
                          "  pictures/g2  verify   0/4 kB   0 %  "
                          "[                          ]\n"));
  CHECK(absl::EndsWith(text, "]\n"));  // and no third line
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  const auto& progress = json[0]["status"]["generations"][0]["progress"];
  CHECK(progress["stage"] == "LOADING");
  CHECK(progress["readBytes"] == "2500000000");
  CHECK(progress["totalBytes"] == "10000000000");
  CHECK(progress["elapsed"] == "5s");
}

TEST_CASE("a CURRENT that cannot be brought up to date is told, and what is followed meanwhile") {
  ServerStatus status;
  status.service = "reranker";
  status.indexes = {{"captions", "g4", 4, ""}, {"images", "g2", 3, "UNAVAILABLE: away"}};
  CHECK(FormatServer({"a:1", status}) ==
        "a:1  reranker\n"
        "CURRENT may be out of date\n"
        "  index   sequence  generation  error\n"
        "  images         3  g2          UNAVAILABLE: away\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["indexes"][0]["sequence"] == "4");
  CHECK(json[0]["status"]["indexes"][1]["error"] == "UNAVAILABLE: away");
}

TEST_CASE("what a router keeps is told, and that it keeps nothing") {
  ServerStatus status;
  status.service = "router";
  status.caches = {{"embeddings", 0, 0, 0, 0, 0, 12}, {"results", 3, 9000, 67108864, 40, 5, 12}};
  CHECK(FormatServer({"a:1", status}) ==
        "a:1  router\n"
        "caches\n"
        "  cache       entries  bytes        of  hits  shared  misses\n"
        "  embeddings        0      0       off     0       0      12\n"
        "  results           3   9000  67108864    40       5      12\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["caches"][1]["hits"] == "40");
}

TEST_CASE("the rerankers of a generation are told, by name if there are several") {
  GenerationStatus ready;
  ready.state = GenerationState::kReady;
  ready.info.ref = kTarget;
  ready.info.rerankers = {{"default", std::string(64, 'f'), {}}};
  const auto text = [&] {
    return FormatServer({"a:1", ServerStatus{"router", {ready}, {}, {}, {}}});
  };
  REQUIRE(absl::StrContains(text(), "  ffffffffffff  -\n"));
  ready.info.rerankers.push_back({"fine", std::string(64, '9'), {}});
  REQUIRE(absl::StrContains(text(), "  default=ffffffffffff fine=999999999999  -\n"));
}

TEST_CASE("a vocabulary is made of text files, and damage in them has a line") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  const Ran ran = Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const std::vector<std::string> tokens =
      absl::StrSplit(*ReadFile(dir.File("v.txt")), '\n', absl::SkipEmpty());
  REQUIRE(tokens[0] == "[PAD]");
  REQUIRE(std::count(tokens.begin(), tokens.end(), "fish") == 1);
  REQUIRE(absl::StrContains(ran.err, absl::StrCat("wrote ", tokens.size(), " tokens")));

  REQUIRE(WriteFileAtomically(dir.File("b.txt"), "fine\nbad \xFF\n").ok());
  for (const char* kind : {"clip_bpe", "sentencepiece", "word_list"}) {
    CAPTURE(kind);
    REQUIRE(Run({"make-vocabulary", "--kind", kind, "--min-count", "1", "--size", "600", "--text",
                 dir.File("a.txt"), "--out", dir.File(kind)})
                .status == 0);
    REQUIRE(FileExists(dir.File(kind)));
  }
  const Ran bad = Run({"make-vocabulary", "--text", dir.File("b.txt"), "--out", dir.File("w.txt")});
  REQUIRE(bad.status == 1);
  REQUIRE(absl::StrContains(bad.err, "b.txt:2: "));
  REQUIRE_FALSE(FileExists(dir.File("w.txt")));
}

TEST_CASE("a model is initialised, described by its id, and the same again for the same seed") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  REQUIRE(
      Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")}).status ==
      0);
  const auto init = [&](const char* seed) {
    return Run(
        {"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt"), "--seed", seed});
  };
  const Ran first = init("1");
  INFO(first.err);
  REQUIRE(first.status == 0);
  REQUIRE(first.out.size() == 65);
  REQUIRE(init("1").out == first.out);
  REQUIRE(init("2").out != first.out);
  const Ran described =
      Run({"describe", first.out.substr(0, 64), "--store", dir.path(), "--verify"});
  INFO(described.err);
  REQUIRE(described.status == 0);
  REQUIRE(absl::StrContains(described.out, "family          oscar"));
  REQUIRE(absl::StrContains(described.out, "verified"));
}

TEST_CASE("a model begins with another one's vocabulary and weights") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.txt"), "a red fish\na fish\n").ok());
  REQUIRE(
      Run({"make-vocabulary", "--text", dir.File("a.txt"), "--out", dir.File("v.txt")}).status ==
      0);
  const Ran first = Run({"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt")});
  REQUIRE(first.status == 0);
  const std::string id = first.out.substr(0, 64);
  // All weights are taken, so that the seed changes nothing.
  const Ran same = Run({"init-model", "--store", dir.path(), "--weights-of", id, "--seed", "2"});
  INFO(same.err);
  REQUIRE(same.out == first.out);
  REQUIRE(absl::StrContains(same.err, "drawn: none"));
  REQUIRE(Run({"init-model", "--store", dir.path(), "--weights-of", id, "--vocabulary",
               dir.File("v.txt")})
              .status == 2);
  REQUIRE(Run({"init-model", "--store", dir.path(), "--weights-of", dir.File("none")}).status == 1);
}

TEST_CASE("a configuration that is no manifest is refused by its path") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("c.json"), "{\"layers\": 3}").ok());
  REQUIRE(WriteFileAtomically(dir.File("v.txt"), "[PAD]\n").ok());
  const Ran ran = Run({"init-model", "--store", dir.path(), "--vocabulary", dir.File("v.txt"),
                       "--config", dir.File("c.json")});
  REQUIRE(ran.status == 1);
  REQUIRE(absl::StrContains(ran.err, "c.json is not the JSON of a ModelBundleManifest"));
}

TEST_CASE("publishing what is not there is exit status 1") {
  TempDir dir;
  const Ran ran = Run({"publish", "pictures", "g1", "--store", dir.path()});
  REQUIRE(ran.status == 1);
  REQUIRE(ran.out.empty());
}

}  // namespace
}  // namespace sightline
