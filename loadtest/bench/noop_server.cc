// A router that answers every search with the same ten hits and does nothing else: what is
// left of a run against it is the generator's cost, and gRPC's.  generator.sh starts it.
//
//   noop_server [PORT]     # prints "port N" once it listens; ends with SIGTERM
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/api/search.h"
#include "common/clients/convert_search.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {
namespace {

constexpr int kHits = 10;

// One that answer_checks.h finds nothing wrong with.
v1::SearchItemsResponse TheAnswer() {
  SearchResult result;
  result.target = {"images", "noop", std::string(64, '0')};
  result.shard_count = result.answered_shard_count = 1;
  for (int i = 0; i < kHits; ++i) {
    Hit hit;
    hit.item_id = absl::StrCat("item/", i);
    hit.row = i;
    hit.score = hit.retrieval_score = 1.0f - 0.05f * static_cast<float>(i);
    hit.caption = "what the picture shows, in a few words";
    hit.uri = absl::StrCat("file:///pictures/of/some/collection/", i, ".png");
    result.hits.push_back(std::move(hit));
  }
  v1::SearchItemsResponse answer;
  ToProto(std::move(result), /*with_items=*/true, &answer);
  return answer;
}

// By callbacks, whose threads sleep when a second brings none (common/clients/unary_call.h): for
// loads of some calls a second and more, of which none waits.
class NoopSearch final : public v1::Search::CallbackService {
 public:
  grpc::ServerUnaryReactor* SearchItems(grpc::CallbackServerContext* context,
                                        const v1::SearchItemsRequest* /*request*/,
                                        v1::SearchItemsResponse* response) override {
    *response = answer_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const v1::SearchItemsResponse answer_ = TheAnswer();
};

int Run(int port) {
  // Before any thread is: they all inherit that SIGTERM waits for sigwait.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  NoopSearch service;
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                           &bound);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) {
    std::fprintf(stderr, "noop_server: port %d cannot be listened on\n", port);
    return 1;
  }
  std::printf("port %d\n", bound);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  server->Shutdown();
  return 0;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  int port = 0;
  if (argc > 2 || (argc == 2 && !absl::SimpleAtoi(argv[1], &port))) {
    std::fputs("usage: noop_server [PORT]\n", stderr);
    return 2;
  }
  return sightline::Run(port);
}
