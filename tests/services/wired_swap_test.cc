// Swaps under questions with everything of ours but the wire: followers, hosts, engines, the
// router's board and its retriever, for the thread sanitizer to look at.
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/api/query.h"
#include "common/api/search.h"
#include "common/api/server_status.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/clients/manifest_status.h"
#include "common/generations/generation_follower.h"
#include "common/replicas/replicas.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "services/index_search/search_host.h"
#include "services/router/replica_sets.h"
#include "services/router/status_board.h"
#include "tests/services/wired_clients.h"
#include "tests/services/word_store.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kIndex[] = "images";
constexpr int kShards = 2;
constexpr int kReplicas = 2;
constexpr int kGenerations = 4;
constexpr int kSwaps = 200;
constexpr absl::Duration kPatience = absl::Minutes(2);

std::string Name(int generation) {
  return absl::StrCat("s", generation % kGenerations);
}

// Every other generation has a second reranker.
constexpr char kFine[] = "fine";
bool HasFine(int generation) {
  return generation % 2 == 1;
}
bool HasFine(absl::string_view generation) {
  for (int i = 0; i < kGenerations; ++i) {
    if (Name(i) == generation) return HasFine(i);
  }
  return false;
}

// What a server that needs no files of a generation makes of it.
class ModelHost : public GenerationHost {
 public:
  using Make = std::function<std::shared_ptr<const void>(const Manifest&)>;
  explicit ModelHost(Make make) : make_(std::move(make)) {}

  std::vector<std::string> Files(const Manifest&) const override { return {}; }
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override {
    return static_cast<int64_t>(generations.size());
  }
  absl::Status Check(const Manifest&) override { return absl::OkStatus(); }
  absl::Status Verify(const Manifest&, const CallContext&) override { return absl::OkStatus(); }
  void Distrust(const Manifest&) override {}
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool, const CallContext&) override {
    return Loaded{make_(manifest), nullptr};
  }

 private:
  const Make make_;
};

// A server without its wire: table, follower and what the router sees of it.
template <typename T>
class WiredServer {
 public:
  // `host` outlives the server.
  WiredServer(const std::string& service, const std::string& store, GenerationHost* host,
              Janitor* janitor)
      : service_(service) {
    GenerationOptions options;
    options.store = store;
    options.indexes = {kIndex};
    options.poll_interval = absl::Milliseconds(5);
    options.release_after = absl::Milliseconds(500);
    follower_ = std::make_unique<GenerationFollower>(options, host, generations_.table(), janitor,
                                                     &metrics_, Clock::Real(), [](bool) {});
    follower_->Start();
  }

  GenerationRegistry<T>* generations() { return &generations_; }

  ServerStatus Status(const StatusRequest& request) {
    follower_->NoteUses(request.router, UsesOf(request));
    ServerStatus status;
    status.service = service_;
    for (const HeldGeneration& entry : generations_.table()->All()) {
      std::vector<int> shards;
      for (int i = 0; i < kShards && service_ == "index_search"; ++i) shards.push_back(i);
      status.generations.push_back(
          DescribeGeneration(entry, std::move(shards), {}, Clock::Real()->Now()));
    }
    return status;
  }

 private:
  const std::string service_;
  MetricsRegistry metrics_;
  GenerationRegistry<T> generations_{Clock::Real()};
  std::unique_ptr<GenerationFollower> follower_;
};

EncodeEngineOptions EncodeOptions() {
  EncodeEngineOptions options;
  options.text = options.image = options.decode = SmallBatches();
  options.decode.max_batch_size = 1;
  return options;
}

SearchEngineOptions SearchOptionsOfServer() {
  SearchEngineOptions options;
  options.batching = SmallBatches();
  options.max_queries = 64;
  return options;
}

RerankEngineOptions RerankOptions() {
  RerankEngineOptions options;
  options.batching = SmallBatches();
  return options;
}

// One of each, as a machine would run them.
struct Machine {
  Machine(const std::string& store, const std::shared_ptr<FakeServingModel>& model,
          const std::shared_ptr<FakeServingModel>& fine, const std::vector<WordIndex>* written)
      : encoder_host([model](const GenerationHost::Manifest& manifest) {
          auto held = std::make_shared<EncoderGeneration>();
          held->encoder = model;
          for (const NamedReranker& reranker : RerankersOf(manifest)) {
            held->rerankers.push_back({reranker.name, model});
          }
          return std::shared_ptr<const void>(std::move(held));
        }),
        rerank_host([model, fine, written](const GenerationHost::Manifest& manifest) {
          for (const WordIndex& index : *written) {
            if (index.manifest.generation() != manifest.generation()) continue;
            return std::shared_ptr<const void>(
                OpenForRerank(index, {model, fine}, AllShards(index)));
          }
          return std::shared_ptr<const void>();
        }),
        search_host({store, "", {}, true}, &pool, &janitor, &devices),
        encoder("query_encoder", store, &encoder_host, &janitor),
        reranker("reranker", store, &rerank_host, &janitor),
        search("index_search", store, &search_host, &janitor),
        encode_engine(EncodeOptions(), encoder.generations(), Clock::Real()),
        search_engine(SearchOptionsOfServer(), search.generations(), Clock::Real()),
        rerank_engine(RerankOptions(), reranker.generations(), Clock::Real()) {}

  ComputePool pool{2};
  Janitor janitor;
  SearchDevices devices{{}, nullptr};
  ModelHost encoder_host, rerank_host;
  SearchHost search_host;
  WiredServer<EncoderGeneration> encoder;
  WiredServer<RerankGeneration> reranker;
  WiredServer<SearchGeneration> search;
  EncodeEngine encode_engine;
  SearchEngine search_engine;
  RerankEngine rerank_engine;
};

Membership Members() {
  Membership members;
  for (int i = 0; i < kReplicas; ++i) {
    members.encoders.push_back(absl::StrCat("encoder:", i));
    members.rerankers.push_back(absl::StrCat("reranker:", i));
  }
  for (int shard = 0; shard < kShards; ++shard) {
    Addresses addresses;
    for (int i = 0; i < kReplicas; ++i) addresses.push_back(absl::StrCat("search:", i));
    members.indexes[kIndex].push_back(addresses);
  }
  return members;
}

// The same lists of names that nobody has looked up.
Membership Names() {
  Membership names;
  names.encoders = names.rerankers = {"dns:///nobody:1"};
  names.indexes[kIndex].assign(kShards, {"dns:///nobody:1"});
  return names;
}

class Fleet {
 public:
  explicit Fleet(const std::string& store) {
    for (int i = 0; i < kGenerations; ++i) {
      written_.push_back(
          WriteWordIndex(store, kIndex, false, kShards, MakeWordItems(Name(i), 30), {}, Name(i),
                         HasFine(i) ? std::vector<NamedReranker>{{kFine, fine_->id()}}
                                    : std::vector<NamedReranker>{}));
      const absl::Status complete = WriteGenerationManifest(store, written_.back().manifest);
      INFO(complete);
      REQUIRE(complete.ok());
    }
    REQUIRE(PublishGeneration(store, kIndex, Name(0)).ok());
    for (int i = 0; i < kReplicas; ++i) {
      machines_.push_back(std::make_unique<Machine>(store, model_, fine_, &written_));
    }
    board_.SetMembers(Members());  // makes clients of the machines
    poller_ = std::thread([this] { Poll(); });
  }

  ~Fleet() {
    stop_ = true;
    poller_.join();
  }

  const Retriever& retriever() const { return retriever_; }
  std::string pinned() const {
    const auto info = board_.Pin(kIndex);
    return info.ok() ? (*info)->ref.generation : "";
  }
  // Generations that any search server holds ready.
  size_t held() {
    size_t most = 0;
    for (const auto& machine : machines_) {
      most = std::max(most, machine->search.Status({}).generations.size());
    }
    return most;
  }

 private:
  ClientFactories Factories() {
    const auto machine = [this](const std::string& address) {
      return machines_[address.back() - '0'].get();
    };
    return {[=](const std::string& address) {
              return std::make_shared<WiredEncoder>(&machine(address)->encode_engine, &handlers_);
            },
            [=](const std::string& address) {
              return std::make_shared<WiredIndexSearch>(&machine(address)->search_engine,
                                                        &handlers_);
            },
            [=](const std::string& address) {
              return std::make_shared<WiredReranker>(&machine(address)->rerank_engine, &handlers_);
            }};
  }

  static ReplicaOptions Timed() {
    ReplicaOptions options;
    options.timer = std::make_shared<TimerThread>(Clock::Real());
    return options;
  }

  // What a router does twice a second.
  void Poll() {
    while (!stop_) {
      for (int i = 0; i < kReplicas; ++i) {
        Machine& machine = *machines_[i];
        const auto ask = [&](const std::string& name, auto& server) {
          const std::string address = absl::StrCat(name, ":", i);
          board_.Report(address, server.Status(board_.RequestFor(address)));
        };
        ask("encoder", machine.encoder);
        ask("reranker", machine.reranker);
        ask("search", machine.search);
      }
      board_.Refresh();
      std::this_thread::yield();
    }
  }

  static std::shared_ptr<FakeServingModel> Fine() {
    FakeServingModelOptions options;
    options.id = std::string(64, 'b');
    return std::make_shared<FakeServingModel>(options);
  }

  const std::shared_ptr<FakeServingModel> model_ = std::make_shared<FakeServingModel>();
  const std::shared_ptr<FakeServingModel> fine_ = Fine();
  std::vector<WordIndex> written_;
  std::vector<std::unique_ptr<Machine>> machines_;
  MetricsRegistry metrics_;
  Handlers handlers_{8};  // ends before the engines
  ReplicaSets sets_{Members(), Factories(), Timed(), &metrics_};
  StatusBoard board_{
      Expand(Names(), {}),
      {"router", 0.5, absl::Seconds(10)},
      Clock::Real(),
      &metrics_,
      [this](const ReplicaSetId& set, Roster roster) { sets_.SetRoster(set, std::move(roster)); }};
  const FixedShareBudget budget_{BudgetShares{}};
  const Retriever retriever_{&sets_.backends(), &board_, &budget_, RetrieverOptions{}};
  std::atomic<bool> stop_{false};
  std::thread poller_;
};

std::string Complaint(const absl::StatusOr<SearchResult>& result) {
  if (!result.ok()) return result.status().ToString();
  if (!result->degraded.empty()) {
    return absl::StrCat("degraded: ",
                        result->failures.empty() ? "" : result->failures.front().ToString());
  }
  if (result->hits.size() != 10) return absl::StrCat(result->hits.size(), " hits");
  for (const Hit& hit : result->hits) {
    if (absl::StartsWith(hit.item_id, result->target.generation + "/")) continue;
    return absl::StrCat(hit.item_id, " in an answer of ", result->target.generation);
  }
  return "";
}

// Of a request that names kFine: an answer by that, or a refusal by a generation without it.
std::string ComplaintAboutFine(const absl::StatusOr<SearchResult>& result, int64_t* refused) {
  if (absl::IsInvalidArgument(result.status())) {
    if (!HasReason(result.status(), reasons::kUnknownReranker)) return result.status().ToString();
    ++*refused;
    return "";
  }
  const std::string complaint = Complaint(result);
  if (!complaint.empty()) return complaint;
  if (!HasFine(result->target.generation)) return "answered by a generation without it";
  return result->reranker == kFine ? "" : absl::StrCat("reranked by ", result->reranker);
}

void AwaitPinned(Fleet& fleet, const std::string& generation, absl::Time patience) {
  while (fleet.pinned() != generation) {
    if (Clock::Real()->Now() > patience) FAIL("the router did not move to " << generation);
    std::this_thread::yield();
  }
}

TEST_CASE("through swaps a named reranker is used by generations that have it, or refused") {
  TempDir store;
  Fleet fleet(store.path());
  const absl::Time patience = Clock::Real()->Now() + kPatience;
  AwaitPinned(fleet, Name(0), patience);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> answers{0};
  std::string complaint;
  int64_t refused = 0, asked = 0;
  std::thread client([&] {
    for (; !stop; ++asked) {
      SearchRequest request;
      request.depth = 12;
      request.reranker = kFine;
      request.query = TextQuery{absl::StrCat("red bird number", asked % 40)};
      const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
      const std::string now = ComplaintAboutFine(fleet.retriever().Search(request, call), &refused);
      if (complaint.empty()) complaint = now;
      ++answers;
    }
  });
  for (int swap = 1; swap <= 20; ++swap) {
    REQUIRE(PublishGeneration(store.path(), kIndex, Name(swap)).ok());
    AwaitPinned(fleet, Name(swap), patience);
    const int64_t until = answers + 3;
    while (answers < until) std::this_thread::yield();
  }
  stop = true;
  client.join();
  CHECK(complaint == "");
  CHECK(refused > 0);
  CHECK(refused < asked);
}

TEST_CASE("200 swaps between replicas under questions: none fails and none mixes") {
  TempDir store;
  Fleet fleet(store.path());
  const absl::Time patience = Clock::Real()->Now() + kPatience;
  AwaitPinned(fleet, Name(0), patience);

  std::atomic<bool> stop{false};
  std::atomic<int64_t> answers{0};
  struct {
    Mutex mutex;
    std::set<std::string> texts GUARDED_BY(mutex);
  } complaints;
  std::vector<std::thread> clients;
  for (int client = 0; client < 3; ++client) {
    clients.emplace_back([&, client] {
      for (int i = client; !stop; ++i) {
        SearchRequest request;
        request.top_k = 10;
        request.depth = i % 2 == 0 ? 12 : 0;
        request.query = TextQuery{absl::StrCat("red bird number", i % 40)};
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
        const std::string complaint = Complaint(fleet.retriever().Search(request, call));
        ++answers;
        if (complaint.empty()) continue;
        MutexLock lock(complaints.mutex);
        if (complaints.texts.size() < 10) complaints.texts.insert(complaint);
      }
    });
  }
  for (int swap = 1; swap <= kSwaps; ++swap) {
    REQUIRE(PublishGeneration(store.path(), kIndex, Name(swap)).ok());
    AwaitPinned(fleet, Name(swap), patience);
    const int64_t until = answers + 3;
    while (answers < until) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  {
    MutexLock lock(complaints.mutex);
    CHECK(complaints.texts == std::set<std::string>());
  }
  // What nobody uses any more goes.
  while (fleet.held() > 1 && Clock::Real()->Now() < patience) std::this_thread::yield();
  CHECK(fleet.held() == 1);
}

}  // namespace
}  // namespace sightline
