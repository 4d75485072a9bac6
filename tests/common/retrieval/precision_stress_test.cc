// Servers of two precisions that fail, hang and are hedged while rosters change: every score of an
// answer is of the precision that it names.  Under the thread sanitizer.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "tests/common/retrieval/two_precisions.h"
#include "tests/support/catch.h"
#include "tests/support/handlers.h"

namespace sightline {
namespace {

// Answers from other threads; some calls fail, some are answered when they are cancelled only.
class Restless : public RerankerClient {
 public:
  Restless(std::shared_ptr<FakeReranker> inner, Handlers* workers)
      : inner_(std::move(inner)), workers_(workers) {}

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    const int number = calls_.fetch_add(1);
    inner_->RerankCandidates(
        call, std::move(request),
        [this, number, call, done = std::move(done)](absl::StatusOr<RerankResponse> answer) {
          if (number % 13 == 5) answer = absl::UnavailableError("restarting");
          auto moved = std::make_shared<absl::StatusOr<RerankResponse>>(std::move(answer));
          auto send = [done, moved] { done(std::move(*moved)); };
          if (number % 11 == 3) {
            const auto own = std::make_shared<Cancellation::Registration>();  // holds itself
            *own = call.cancellation()->OnCancel(
                [own, workers = workers_, send] { workers->Run(send); });
          } else {
            workers_->Run(send);
          }
        });
  }

 private:
  const std::shared_ptr<FakeReranker> inner_;
  Handlers* const workers_;
  std::atomic<int> calls_{0};
};

TEST_CASE("no answer mixes precisions, whatever the servers do") {
  constexpr int kThreads = 6;
  constexpr int kSearches = 30;
  Handlers workers(4);
  ReplicaOptions replicas;
  replicas.timer = std::make_shared<TimerThread>(Clock::Real());
  replicas.hedge = true;
  WorldOptions options;
  options.retriever.rerank_slice = 4;
  options.caches.max_score_bytes = 1 << 20;
  options.caches.max_embedding_bytes = 1 << 20;
  TwoPrecisions two(options, replicas, [&](std::shared_ptr<FakeReranker> fake) {
    return std::make_shared<Restless>(std::move(fake), &workers);
  });

  std::atomic<int> mixed{0}, scored{0};
  std::atomic<bool> done{false};
  std::thread rosters([&] {
    const std::vector<std::vector<int>> fits = {{0, 1, 2, 3}, {0, 2}, {1, 2, 3}, {0, 1}, {2, 3}};
    for (size_t i = 0; !done; ++i) {
      two.Hold(fits[i % fits.size()]);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSearches; ++i) {
        const std::string text = absl::StrCat("fish ", (t + i) % 7);
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Milliseconds(60));
        SearchRequest request = TextSearch(text);
        request.top_k = 20;
        const auto result = two.world.retriever.Search(request, call);
        if (!result.ok()) continue;
        scored += result->achieved_depth;
        if (!two.IsOfOne(*result, text)) ++mixed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  rosters.join();
  CHECK(mixed == 0);
  CHECK(scored > 0);
}

}  // namespace
}  // namespace sightline
