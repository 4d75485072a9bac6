#include "tests/integration/fleet.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/clock.h"
#include "loadtest/fleet/await_serving.h"
#include "loadtest/fleet/server_yaml.h"

namespace sightline {
namespace {

constexpr char kAnyPort[] = "127.0.0.1:0";
constexpr char kNoCaches[] =
    "cache: {max_embedding_bytes: 0, max_score_bytes: 0, max_result_bytes: 0}\n";
constexpr absl::Duration kServingPatience = absl::Seconds(30);

std::vector<std::string> Indexes() {
  return {kTinyImages, kTinyCaptions};
}

std::string TinyBackendYaml(const TinyStore& store, const std::string& more_compute,
                            const std::string& more) {
  return BackendYaml(kAnyPort, store.path, Indexes(),
                     absl::StrCat("compute: {threads: 1", more_compute, "}\n", more));
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
  const auto computing = [&](const std::string& precision) {
    return TinyBackendYaml(store,
                           absl::StrCat(options.deterministic ? ", deterministic: true" : "",
                                        ", least_agreement: 0.01, precision: ", precision),
                           options.backend_yaml);
  };
  RouterBackends backends;
  backends.encoders = StartReplicas(
      &encoders_, "query_encoder",
      std::vector<std::string>(options.encoder_replicas, computing(options.precision)));
  backends.rerankers = options.reranker_addresses;
  if (backends.rerankers.empty()) {
    std::vector<std::string> yamls(options.reranker_replicas, computing(options.precision));
    for (size_t i = 0; i < options.reranker_precisions.size(); ++i) {
      yamls.at(i) = computing(options.reranker_precisions[i]);
    }
    backends.rerankers = StartReplicas(&rerankers_, "reranker", yamls);
  }
  for (int shard = 0; shard < store.shard_count; ++shard) {
    const std::string more =
        absl::StrCat(options.backend_yaml, "shards: [", shard, "]\n", options.shard_yaml);
    backends.shards.push_back(StartReplicas(
        &shards_.emplace_back(), "index_search",
        std::vector<std::string>(options.shard_replicas, TinyBackendYaml(store, "", more))));
  }
  router_ = {"router",
             RouterYaml(kAnyPort, backends, Indexes(),
                        absl::StrCat("polling: {interval: 50ms}\n", options.caches ? "" : kNoCaches,
                                     options.router_yaml)),
             nullptr};
  Start(&router_);
  AwaitServing(router_.address());
  search_ = MakeGrpcSearchClient(router_.address());
}

void Fleet::Start(Slot* slot) {
  slot->member = launch_(slot->service, slot->yaml);
  slot->yaml =
      absl::StrReplaceAll(slot->yaml, {{ListenLine(kAnyPort), ListenLine(slot->address())}});
}

std::vector<std::string> Fleet::StartReplicas(std::vector<Slot>* slots, const std::string& service,
                                              const std::vector<std::string>& yamls) {
  slots->resize(yamls.size());
  std::vector<std::string> addresses;
  for (size_t i = 0; i < yamls.size(); ++i) {
    Slot& slot = (*slots)[i];
    slot.service = service;
    slot.yaml = yamls[i];
    Start(&slot);
    addresses.push_back(slot.address());
  }
  return addresses;
}

void Fleet::Restart(Slot* slot) {
  slot->member.reset();
  Start(slot);
  AwaitServing(slot->address());
}

std::vector<Slot*> Fleet::all() {
  std::vector<Slot*> slots = {&router_};
  for (Slot& slot : encoders_) slots.push_back(&slot);
  for (Slot& slot : rerankers_) slots.push_back(&slot);
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
  const absl::Status serves = AwaitServing(address, Within(kServingPatience));
  if (!serves.ok()) throw std::runtime_error(serves.ToString());
}

}  // namespace sightline
