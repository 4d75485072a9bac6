#include "tests/integration/fleet.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/clock.h"
#include "common/rpc/channel.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace sightline {
namespace {

constexpr char kAnyPort[] = "  listen: 127.0.0.1:0\n";

std::string BackendYaml(const TinyStore& store, const std::string& more) {
  return absl::StrCat("server:\n", kAnyPort,
                      "  metrics_listen: 127.0.0.1:0\n"
                      "store: ",
                      store.path,
                      "\n"
                      "indexes: [",
                      kTinyImages, ", ", kTinyCaptions,
                      "]\n"
                      "compute: {threads: 1}\n",
                      more);
}

CallContext Within(absl::Duration timeout) {
  return CallContext(Clock::Real(), Clock::Real()->Now() + timeout);
}

}  // namespace

std::string Slot::address() const {
  return absl::StrCat("127.0.0.1:", member->port());
}

Fleet::Fleet(const TinyStore& store, const Launch& launch, const FleetOptions& options)
    : store_(store), launch_(launch) {
  encoder_ = {"query_encoder", BackendYaml(store, ""), nullptr};
  Start(&encoder_);
  std::vector<std::string> rerankers = options.reranker_addresses;
  if (rerankers.empty()) {
    reranker_ = {"reranker", BackendYaml(store, ""), nullptr};
    Start(&reranker_);
    rerankers.push_back(reranker_.address());
  }
  std::string shard_lists;
  for (int shard = 0; shard < store.shard_count; ++shard) {
    std::vector<std::string> addresses;
    shards_.emplace_back(options.shard_replicas);
    for (Slot& slot : shards_.back()) {
      slot = {"index_search", BackendYaml(store, absl::StrCat("shards: [", shard, "]\n")), nullptr};
      Start(&slot);
      addresses.push_back(slot.address());
    }
    absl::StrAppend(&shard_lists, "      - addresses: [\"", absl::StrJoin(addresses, "\", \""),
                    "\"]\n");
  }
  router_ = {"router",
             absl::StrCat("server:\n", kAnyPort,
                          "  metrics_listen: 127.0.0.1:0\n"
                          "encoders: [\"",
                          encoder_.address(),
                          "\"]\n"
                          "rerankers: [\"",
                          absl::StrJoin(rerankers, "\", \""),
                          "\"]\n"
                          "indexes:\n"
                          "  ",
                          kTinyImages, ":\n    shards:\n", shard_lists, "  ", kTinyCaptions,
                          ":\n    shards:\n", shard_lists, "polling: {interval: 50ms}\n",
                          options.router_yaml),
             nullptr};
  Start(&router_);
  AwaitServing(router_.address());
  search_ = MakeGrpcSearchClient(router_.address());
}

void Fleet::Start(Slot* slot) {
  slot->member = launch_(slot->service, slot->yaml);
  slot->yaml = absl::StrReplaceAll(slot->yaml,
                                   {{kAnyPort, absl::StrCat("  listen: ", slot->address(), "\n")}});
}

void Fleet::Restart(Slot* slot) {
  slot->member.reset();
  Start(slot);
  AwaitServing(slot->address());
}

std::vector<Slot*> Fleet::all() {
  std::vector<Slot*> slots = {&encoder_, &router_};
  if (reranker_.member != nullptr) slots.push_back(&reranker_);
  for (std::vector<Slot>& replicas : shards_) {
    for (Slot& slot : replicas) slots.push_back(&slot);
  }
  return slots;
}

absl::StatusOr<SearchResult> Fleet::Search(const SearchRequest& request, absl::Duration timeout) {
  return search_->SearchItems(Within(timeout), request);
}

absl::StatusOr<SearchResult> Fleet::SearchText(const std::string& text) {
  SearchRequest request;
  request.query = TextQuery{text};
  return Search(request);
}

absl::Duration Fleet::AwaitWhole() {
  const absl::Time begin = Clock::Real()->Now();
  for (;;) {
    const absl::StatusOr<SearchResult> result = SearchText("a red fish");
    const absl::Duration took = Clock::Real()->Now() - begin;
    if (result.ok() && result->degraded.empty() && result->rerank == RerankOutcome::kComplete) {
      return took;
    }
    if (took > absl::Seconds(30)) throw std::runtime_error("the service did not become whole");
  }
}

void AwaitServing(const std::string& address) {
  auto stub = grpc::health::v1::Health::NewStub(MakeChannel(address));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  auto reader = stub->Watch(&context, grpc::health::v1::HealthCheckRequest());
  grpc::health::v1::HealthCheckResponse health;
  while (reader->Read(&health)) {
    if (health.status() == grpc::health::v1::HealthCheckResponse::SERVING) {
      context.TryCancel();
      reader->Finish();
      return;
    }
  }
  throw std::runtime_error("not SERVING: " + address);
}

}  // namespace sightline
