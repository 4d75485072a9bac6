// What gRPC itself takes of the way of a question: a program that takes searches and asks another
// for each, and that other one, which answer what never changes and do nothing else, by gRPC's
// synchronous server and calls.  Messages are the fleet's, of the size that a search of ten hits
// has.  Beside it stands what a router and an index server take, who do without the synchronous
// server (loadtest/README.md, What the fleet adds).
//
//   bare_hop [--rate N] [--seconds N]
#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/cpu_name.h"
#include "common/config/command.h"
#include "sightline/v1/index_search.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {
namespace {

constexpr int kHits = 10;
constexpr int kDimension = 256;
constexpr auto kDeadline = std::chrono::seconds(2);
constexpr auto kWarmUp = std::chrono::seconds(2);

constexpr Command kBareHop = {
    "bare_hop", "bare_hop [--rate N] [--seconds N]",
    "Tells the processor time of gRPC alone on the way from a caller over one server to another.",
    nullptr};

v1::GenerationKey Generation() {
  v1::GenerationKey key;
  key.set_index("images");
  key.set_generation("20260101T000000Z-bare");
  key.set_space(std::string(64, '0'));
  return key;
}

v1::Item ItemNumber(int i) {
  v1::Item item;
  item.set_item_id(absl::StrCat("collection/item/", i));
  item.set_caption("what the picture shows, in a few words");
  item.set_uri(absl::StrCat("file:///pictures/of/some/collection/", i, ".png"));
  item.set_row(i);
  return item;
}

float ScoreOf(int i) {
  return 1.0f - 0.05f * static_cast<float>(i);
}

class Shard final : public v1::IndexSearch::Service {
 public:
  Shard() {
    *answer_.mutable_generation() = Generation();
    answer_.set_matched_count(1);
    v1::NeighborList* const list = answer_.add_results();
    for (int i = 0; i < kHits; ++i) {
      v1::Neighbor* const neighbor = list->add_neighbors();
      neighbor->set_item_id(ItemNumber(i).item_id());
      neighbor->set_row(i);
      neighbor->set_score(ScoreOf(i));
      *list->add_items() = ItemNumber(i);
    }
  }
  grpc::Status SearchIndex(grpc::ServerContext* /*context*/,
                           const v1::SearchIndexRequest* /*request*/,
                           v1::SearchIndexResponse* response) override {
    *response = answer_;
    return grpc::Status::OK;
  }

 private:
  v1::SearchIndexResponse answer_;
};

class Router final : public v1::Search::Service {
 public:
  explicit Router(int shard_port)
      : shard_(v1::IndexSearch::NewStub(grpc::CreateChannel(absl::StrCat("127.0.0.1:", shard_port),
                                                            grpc::InsecureChannelCredentials()))) {
    *request_.mutable_generation() = Generation();
    v1::PackedVectors* const query = request_.mutable_queries();
    query->set_row_count(1);
    query->set_dimension(kDimension);
    query->set_data(std::string(kDimension * sizeof(float), 'q'));
    request_.set_top_k(kHits);
    request_.set_include_items(true);
    *answer_.mutable_generation() = Generation();
    for (int i = 0; i < kHits; ++i) {
      v1::Hit* const hit = answer_.add_hits();
      hit->set_item_id(ItemNumber(i).item_id());
      *hit->mutable_item() = ItemNumber(i);
      hit->set_score(ScoreOf(i));
      hit->set_retrieval_score(ScoreOf(i));
    }
  }
  grpc::Status SearchItems(grpc::ServerContext* context, const v1::SearchItemsRequest* /*request*/,
                           v1::SearchItemsResponse* response) override {
    grpc::ClientContext call;
    call.set_deadline(context->deadline());
    v1::SearchIndexResponse found;
    *response = answer_;
    return shard_->SearchIndex(&call, request_, &found);
  }

 private:
  const std::unique_ptr<v1::IndexSearch::Stub> shard_;
  v1::SearchIndexRequest request_;
  v1::SearchItemsResponse answer_;
};

// A process of its own, for its processor time, which serves what `make` makes until it is killed.
// Before this one has any thread.
struct Served {
  pid_t pid = 0;
  int port = 0;  // 0: it could not
};

Served Serve(const std::function<std::unique_ptr<grpc::Service>()>& make) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::unique_ptr<grpc::Service> service = make();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service.get());
    // Beyond two, gRPC would begin a thread for each call.
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 8);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (write(ends[1], &port, sizeof(port)) != sizeof(port)) _exit(1);
    if (server != nullptr) server->Wait();
    _exit(1);
  }
  Served served{pid, 0};
  close(ends[1]);
  if (pid > 0 && read(ends[0], &served.port, sizeof(served.port)) != sizeof(served.port)) {
    served.port = 0;
  }
  close(ends[0]);
  return served;
}

void Kill(const Served& served) {
  if (served.pid <= 0) return;
  kill(served.pid, SIGKILL);
  waitpid(served.pid, nullptr, 0);
}

// Seconds of all its threads, also of those that have ended.
double ProcessorTime(const Served& served) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(served.pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

using SteadyClock = std::chrono::steady_clock;

// Asks at random moments, without waiting for answers.
class Asker {
 public:
  Asker(int port, int rate)
      : search_(v1::Search::NewStub(grpc::CreateChannel(absl::StrCat("127.0.0.1:", port),
                                                        grpc::InsecureChannelCredentials()))),
        pauses_(rate),
        ends_([this] { TakeAnswers(); }) {
    request_.set_index("images");
    request_.mutable_query()->set_text("what is looked for, in a few words");
  }
  // Waits for all answers.
  ~Asker() { Stop(); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // How many were asked.
  int64_t AskFor(SteadyClock::duration length) {
    SteadyClock::time_point next = SteadyClock::now();
    const SteadyClock::time_point end = next + length;
    int64_t asked = 0;
    for (; next < end; ++asked) {
      std::this_thread::sleep_until(next);
      auto* const call = new Call;
      call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
      call->reader = search_->AsyncSearchItems(&call->context, request_, &queue_);
      call->reader->Finish(&call->answer, &call->status, call);
      next += std::chrono::duration_cast<SteadyClock::duration>(
          std::chrono::duration<double>(pauses_(generator_)));
    }
    return asked;
  }

  // How many have failed; asks no more.
  int64_t Stop() {
    queue_.Shutdown();
    if (ends_.joinable()) ends_.join();
    return failed_;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::SearchItemsResponse answer;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SearchItemsResponse>> reader;
  };

  void TakeAnswers() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      if (!ok || !call->status.ok() || call->answer.hits_size() != kHits) ++failed_;
    }
  }

  const std::unique_ptr<v1::Search::Stub> search_;
  grpc::CompletionQueue queue_;
  v1::SearchItemsRequest request_;
  std::mt19937 generator_{1};
  std::exponential_distribution<double> pauses_;
  int64_t failed_ = 0;  // of `ends_`, until that has ended
  std::thread ends_;
};

int Measure(const Served& shard, const Served& router, int rate, int seconds,
            const Console& console) {
  Asker asker(router.port, rate);
  asker.AskFor(kWarmUp);
  const double router_before = ProcessorTime(router), shard_before = ProcessorTime(shard);
  const int64_t asked = asker.AskFor(std::chrono::seconds(seconds));
  const double of_router = (ProcessorTime(router) - router_before) * 1e3 / asked;
  const double of_shard = (ProcessorTime(shard) - shard_before) * 1e3 / asked;
  if (const int64_t failed = asker.Stop(); failed > 0) {
    console.err << "bare_hop: " << failed << " calls failed; is " << rate
                << " a second too many?\n";
    return kFailure;
  }
  console.out << absl::StrFormat(
      "%d a second for %d s: %.3f ms of the one that asks, %.3f of the one that answers, %.3f in "
      "all; %s\n",
      rate, seconds, of_router, of_shard, of_router + of_shard, CpuName());
  return kSuccess;
}

int RunBareHop(const std::vector<std::string>& args, const Console& console) {
  int rate = 1000, seconds = 20;
  Flags flags;
  flags.Int("rate", "searches a second, at random moments; default 1000", 1, 100000, &rate);
  flags.Int("seconds", "how long; default 20", 1, 3600, &seconds);
  std::vector<std::string> words;
  int status = 0;
  if (!ParseArguments(kBareHop, &flags, args, console, &words, &status)) return status;
  if (!words.empty()) {
    console.err << "bare_hop: it takes flags alone, not '" << words[0] << "'\n";
    return kUsageError;
  }
  const Served shard = Serve([] { return std::make_unique<Shard>(); });
  const Served router =
      shard.port == 0 ? Served() : Serve([&] { return std::make_unique<Router>(shard.port); });
  if (router.port == 0) {
    console.err << "bare_hop: no process that listens could be started\n";
    status = kFailure;
  } else {
    status = Measure(shard, router, rate, seconds, console);
  }
  Kill(router);
  Kill(shard);
  return status;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  return sightline::RunBareHop({argv + 1, argv + argc}, {std::cout, std::cerr});
}
