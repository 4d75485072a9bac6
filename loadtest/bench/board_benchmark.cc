// What the router does for itself: a request beside its calls to backends, and keeping its
// view of the backends.  Of "replicas" there are that many of each of 8 shards (two indexes of
// four), of the encoder and of the reranker: ten times as many backends.
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/api/query.h"
#include "common/api/search.h"
#include "common/api/server_status.h"
#include "common/base/mutex.h"
#include "common/base/outcome.h"
#include "common/base/timer_thread.h"
#include "common/clients/admin_client.h"
#include "common/clients/convert_admin.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/search_caches.h"
#include "common/rpc/channel.h"
#include "loadtest/bench/bench_main.h"
#include "services/router/replica_sets.h"
#include "services/router/status_board.h"
#include "sightline/v1/admin.grpc.pb.h"

namespace sightline {
namespace {

constexpr int kShards = 4;
constexpr int kDimension = 8;
constexpr int kTopK = 10;

const char* const kIndexes[] = {"images", "captions"};

// As the router is configured by default.
constexpr int kPollsPerSecond = 2;
constexpr int kRefreshesPerSecond = 20;

// By the processor time of this thread, or another clock of the system.
double Seconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// --- backends that answer inside the call ---

class InstantEncoder : public QueryEncoderClient {
 public:
  void EncodeQueries(const CallContext&, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    EncodeResponse response;
    response.embeddings = EmbeddingMatrix(static_cast<int>(request.queries.size()), kDimension);
    if (request.want_features) response.features.resize(request.queries.size());
    done(std::move(response));
  }
};

class InstantShard : public IndexSearchClient {
 public:
  void SearchShard(const CallContext&, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    SearchShardResponse response;
    response.candidates.resize(request.queries.rows());
    for (std::vector<Candidate>& list : response.candidates) {
      for (int i = 0; i < request.top_k; ++i) {
        list.push_back({ItemAt(request.shard, i), request.shard, i, 1.0f - 0.01f * i});
      }
    }
    done(std::move(response));
  }
  void FetchItems(const CallContext&, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    FetchItemsResponse response;
    for (const int64_t row : request.rows) {
      StoredItem item;
      item.item_id = ItemAt(request.shard, row);
      item.shard = request.shard;
      item.row = row;
      response.items.emplace_back(std::move(item));
    }
    done(std::move(response));
  }

 private:
  static std::string ItemAt(int shard, int64_t row) { return absl::StrCat(shard, "/", row); }
};

class InstantReranker : public RerankerClient {
 public:
  void RerankCandidates(const CallContext&, RerankRequest request,
                        Done<RerankResponse> done) override {
    RerankResponse response;
    response.scores.assign(request.candidates.size(), 0.5f);
    response.reranker = "default";
    done(std::move(response));
  }
};

// --- a fleet ---

// What a backend holds: of each index one generation, whose name and sequence follow from
// `version`.
ServerStatus StatusOf(const std::string& service, int shard, int64_t version) {
  ServerStatus status;
  status.service = service;
  for (int i = 0; i < 2; ++i) {
    GenerationStatus generation;
    generation.state = GenerationState::kReady;
    generation.sequence = version;
    GenerationInfo& info = generation.info;
    info.ref = {kIndexes[i], absl::StrCat("2026-11-21-", version % 2), std::string(64, 'a')};
    info.content = i == 0 ? IndexContent::kImages : IndexContent::kCaptions;
    info.dimension = kDimension;
    info.shard_count = kShards;
    info.item_count = 1'000'000;
    info.encoder_model = std::string(64, 'b');
    info.rerankers = {{"default", std::string(64, 'c'), {}}};
    if (shard >= 0) generation.held_shards = {shard};
    status.generations.push_back(std::move(generation));
  }
  return status;
}

struct Member {
  std::string address;
  std::string service;
  int shard;
};

Membership MembersOf(int replicas, std::vector<Member>* all) {
  Membership members;
  int set = 0;
  const auto some = [&](const char* service, int shard) {
    Addresses addresses;
    for (int i = 0; i < replicas; ++i) {
      addresses.push_back(absl::StrCat("10.", set, ".", i / 256, ".", i % 256, ":7402"));
      all->push_back({addresses.back(), service, shard});
    }
    ++set;
    return addresses;
  };
  members.encoders = some("query_encoder", -1);
  members.rerankers = some("reranker", -1);
  for (const char* index : kIndexes) {
    for (int shard = 0; shard < kShards; ++shard) {
      members.indexes[index].push_back(some("index_search", shard));
    }
  }
  return members;
}

ReplicaOptions RequestOptions() {
  ReplicaOptions options;
  options.timer = std::make_shared<TimerThread>(Clock::Real());
  return options;
}

// All of a router between its two edges.
class Fleet {
 public:
  // Without memory for caches every request is computed.
  explicit Fleet(int replicas, const SearchCacheOptions& caches = {})
      : members_(MembersOf(replicas, &all_)),
        sets_(members_,
              {[](const std::string&) { return std::make_shared<InstantEncoder>(); },
               [](const std::string&) { return std::make_shared<InstantShard>(); },
               [](const std::string&) { return std::make_shared<InstantReranker>(); }},
              RequestOptions(), &metrics_),
        board_(members_, {"router"}, Clock::Real(), &metrics_,
               [this](const ReplicaSetId& set, Roster roster) {
                 sets_.SetRoster(set, std::move(roster));
               }),
        caches_(caches, &metrics_),
        retriever_(&sets_.backends(), &board_, &budget_, RetrieverOptions(), &caches_) {
    for (size_t i = 0; i < all_.size(); ++i) Poll(i, AnswerOf(i, 1));
    board_.Refresh();
  }

  size_t size() const { return all_.size(); }
  StatusBoard& board() { return board_; }

  absl::StatusOr<ServerStatus> AnswerOf(size_t i, int64_t version) const {
    return StatusOf(all_[i].service, all_[i].shard, version);
  }
  void Poll(size_t i, absl::StatusOr<ServerStatus> answer) {
    benchmark::DoNotOptimize(board_.RequestFor(all_[i].address));
    board_.Report(all_[i].address, std::move(answer));
  }

  // A text query, reranked, with the records of its hits.
  bool Search() {
    SearchRequest request;
    request.query = TextQuery{"a red fish"};
    request.index = kIndexes[0];
    request.top_k = kTopK;
    const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(10));
    const absl::StatusOr<SearchResult> result = retriever_.Search(request, call);
    return result.ok() && result->hits.size() == kTopK && result->degraded.empty();
  }

 private:
  std::vector<Member> all_;
  const Membership members_;
  MetricsRegistry metrics_;
  ReplicaSets sets_;
  StatusBoard board_;
  const FixedShareBudget budget_{BudgetShares{}};
  SearchCaches caches_;
  const Retriever retriever_;
};

// Polls a fleet as a router would, on a thread of its own, but without the wire.
class Polling {
 public:
  explicit Polling(Fleet* fleet) : fleet_(fleet), thread_([this] { Loop(); }) {}
  ~Polling() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
    }
    wake_.NotifyAll();
    thread_.join();
  }

 private:
  void Loop() {
    const absl::Duration tick = absl::Seconds(1) / kRefreshesPerSecond;
    absl::Time next = Clock::Real()->Now() + tick;
    size_t at = 0;
    ReleasableMutexLock lock(mutex_);
    while (!stop_) {
      if (Clock::Real()->Now() < next) {
        Clock::Real()->WaitUntil(wake_, mutex_, next);
        continue;
      }
      next += tick;
      lock.Unlock();
      for (size_t i = 0; i < fleet_->size() * kPollsPerSecond / kRefreshesPerSecond; ++i) {
        fleet_->Poll(at, fleet_->AnswerOf(at, 1));
        at = (at + 1) % fleet_->size();
      }
      fleet_->board().Refresh();
      lock.Lock();
    }
  }

  Fleet* const fleet_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// --- the benchmarks ---

struct RequestTimes {
  double cpu = 0;     // microseconds of this thread for a request, of the polls' side nothing
  double median = 0;  // microseconds from its beginning to its end
  double wall = 0;    // microseconds of the whole run for a request, its interruptions included
};

// Of a run of requests, one after the other; nothing if one failed.
absl::optional<RequestTimes> TimeRequests(Fleet* fleet) {
  constexpr int kRequests = 500;
  const Polling polling(fleet);
  std::vector<double> each;
  const double cpu = Seconds();
  const double start = Seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < kRequests; ++i) {
    const double began = Seconds(CLOCK_MONOTONIC);
    if (!fleet->Search()) return absl::nullopt;
    each.push_back(1e6 * (Seconds(CLOCK_MONOTONIC) - began));
  }
  const double wall = Seconds(CLOCK_MONOTONIC) - start;
  return RequestTimes{1e6 * (Seconds() - cpu) / kRequests, Median(std::move(each)),
                      1e6 * wall / kRequests};
}

// One round is a run of requests in a fleet of ten replicas and one in a fleet of a thousand,
// while either is polled: so what else the machine does is shared alike.
void Request(benchmark::State& state) {
  Fleet few(10), many(1000);
  std::vector<double> median_few, median_many, median_ratios, cpu_ratios, wall_ratios;
  for (auto _ : state) {
    const auto at_few = TimeRequests(&few);
    const auto at_many = TimeRequests(&many);
    if (!at_few.has_value() || !at_many.has_value()) return state.SkipWithError("no answer");
    median_few.push_back(at_few->median);
    median_many.push_back(at_many->median);
    median_ratios.push_back(at_many->median / at_few->median);
    cpu_ratios.push_back(at_many->cpu / at_few->cpu);
    wall_ratios.push_back(at_many->wall / at_few->wall);
  }
  state.counters["us_at_10"] = Median(median_few);
  state.counters["us_at_1000"] = Median(median_many);
  state.counters["ratio"] = Median(median_ratios);
  state.counters["cpu_ratio"] = Median(cpu_ratios);
  state.counters["wall_ratio"] = Median(wall_ratios);
}
BENCHMARK(Request)->Iterations(100)->UseRealTime()->Unit(benchmark::kMillisecond);

// One round is a question that has been asked before, answered from what was kept of it.
void RepeatedRequest(benchmark::State& state) {
  constexpr int64_t kCacheBytes = int64_t{64} << 20;
  Fleet fleet(10, {kCacheBytes, kCacheBytes, kCacheBytes});
  if (!fleet.Search()) return state.SkipWithError("no answer");
  std::vector<double> each;
  for (auto _ : state) {
    const double began = Seconds(CLOCK_MONOTONIC);
    if (!fleet.Search()) return state.SkipWithError("no answer");
    each.push_back(1e6 * (Seconds(CLOCK_MONOTONIC) - began));
  }
  std::sort(each.begin(), each.end());
  state.counters["us_median"] = each[each.size() / 2];
  state.counters["us_p99"] = each[each.size() * 99 / 100];
}
BENCHMARK(RepeatedRequest)->UseRealTime()->Unit(benchmark::kMicrosecond);

// One round is a second of polls, as far as they are the board's: what each backend is to be
// told, what it has answered, and what follows.  "news" is how many of 100 backends have
// another generation to tell of in that second than in the one before.  The time is processor
// time, so it is the share of a core.
void Board(benchmark::State& state) {
  Fleet fleet(static_cast<int>(state.range(0)));
  const size_t with_news = fleet.size() * static_cast<size_t>(state.range(1)) / 100;
  const size_t polls = fleet.size() * kPollsPerSecond;
  std::vector<absl::StatusOr<ServerStatus>> answers;
  std::vector<double> seconds;
  int64_t version = 1;
  for (auto _ : state) {
    ++version;
    answers.clear();
    for (size_t poll = 0; poll < polls; ++poll) {
      const size_t i = poll % fleet.size();
      answers.push_back(fleet.AnswerOf(i, i < with_news ? version : 1));
    }
    const double start = Seconds();
    for (int tick = 0; tick < kRefreshesPerSecond; ++tick) {
      const size_t end = polls * (tick + 1) / kRefreshesPerSecond;
      for (size_t poll = polls * tick / kRefreshesPerSecond; poll < end; ++poll) {
        fleet.Poll(poll % fleet.size(), std::move(answers[poll]));
      }
      fleet.board().Refresh();
    }
    seconds.push_back(Seconds() - start);
    state.SetIterationTime(seconds.back());
  }
  state.counters["backends"] = static_cast<double>(fleet.size());
  state.counters["share_of_core"] = Median(seconds);
}
BENCHMARK(Board)
    ->ArgNames({"replicas", "news"})
    ->Args({10, 0})
    ->Args({100, 0})
    ->Args({1000, 0})
    ->Args({100, 100})
    ->Args({1000, 1})
    ->Args({1000, 100})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

class StatusServer final : public v1::Admin::CallbackService {
 public:
  explicit StatusServer(const ServerStatus& status) {
    ToProto(status, &answer_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* /*request*/,
                                      v1::GetStatusResponse* response) override {
    *response = answer_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  v1::GetStatusResponse answer_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// One round is one poll of each of 100 connections over loopback: the wire's part, both of
// its ends in this process.
void PollOverGrpc(benchmark::State& state) {
  constexpr int kConnections = 100;
  const StatusServer server(StatusOf("index_search", 0, 1));
  std::vector<std::unique_ptr<AdminClient>> clients;
  for (int i = 0; i < kConnections; ++i) {
    clients.push_back(MakeGrpcAdminClient(server.address()));
  }
  StatusRequest request;
  request.router = "router";
  for (const GenerationStatus& held : StatusOf("index_search", 0, 1).generations) {
    request.uses.push_back({held.info.ref, false});
  }
  const auto poll_all = [&] {
    auto left = std::make_shared<std::atomic<int>>(kConnections);
    auto all = std::make_shared<Outcome<bool>>();
    for (const auto& client : clients) {
      const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(10));
      client->GetStatus(call, request, [left, all](absl::StatusOr<ServerStatus> status) {
        benchmark::DoNotOptimize(status);
        if (--*left == 0) all->Set(status.ok());
      });
    }
    return all->Await(CallContext::Unbounded(), "polls");
  };
  if (!poll_all().value_or(false)) return state.SkipWithError("no answer");  // connects
  const double start = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (auto _ : state) benchmark::DoNotOptimize(poll_all());
  const double each = (Seconds(CLOCK_PROCESS_CPUTIME_ID) - start) /
                      static_cast<double>(state.iterations()) / kConnections;
  state.counters["cpu_us_per_poll"] = 1e6 * each;
  state.counters["cores_for_1000_backends"] = 1000 * kPollsPerSecond * each;
}
BENCHMARK(PollOverGrpc)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sightline
