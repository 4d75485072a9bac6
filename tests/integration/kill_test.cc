// kill -9 of any server under load: the others go on, every call ends with an answer or
// an honest code, and soon after its return the service is whole again.
#include <atomic>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "catch2/catch.hpp"
#include "tests/integration/fleet.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Clients that ask one question after another until they are told to stop.
class Load {
 public:
  Load(const std::string& router, int clients) {
    for (int i = 0; i < clients; ++i) threads_.emplace_back([this, router] { Run(router); });
  }
  ~Load() { Stop(); }

  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Blocks until `count` more calls have ended.
  void AwaitCalls(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t until = calls_ + count;
    ended_.wait(lock, [&] { return calls_ >= until; });
  }

  // Blocks until `count` more calls were answered.  A client whose connection broke may
  // need up to a second before it tries again.
  void AwaitAnswers(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int64_t until = answered_ + count;
    ended_.wait(lock, [&] { return answered_ >= until; });
  }

  std::set<absl::StatusCode> codes() {
    std::lock_guard<std::mutex> lock(mutex_);
    return codes_;
  }

 private:
  void Run(const std::string& router) {
    const std::unique_ptr<SearchClient> client = MakeGrpcSearchClient(router);
    while (!stop_) {
      SearchRequest request;
      request.query = TextQuery{"a red fish"};
      const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(5));
      const auto result = client->SearchItems(call, request);
      std::lock_guard<std::mutex> lock(mutex_);
      ++calls_;
      if (result.ok()) ++answered_;
      codes_.insert(result.status().code());
      ended_.notify_all();
    }
  }

  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  int64_t calls_ = 0;
  int64_t answered_ = 0;
  std::set<absl::StatusCode> codes_;
  std::vector<std::thread> threads_;
};

void KillAndRecover(Fleet* fleet, Slot* victim) {
  INFO(victim->service);
  Load load(fleet->router().address(), /*clients=*/3);
  load.AwaitCalls(10);
  victim->member->Kill();
  load.AwaitCalls(20);
  for (Slot* slot : fleet->all()) {
    INFO(slot->service << " at " << slot->address());
    REQUIRE(slot->member->alive() == (slot != victim));
  }
  fleet->Restart(victim);
  const absl::Duration whole = fleet->AwaitWhole();
  std::cerr << victim->service << ": whole " << absl::ToInt64Milliseconds(whole)
            << " ms after SERVING\n";
  load.AwaitAnswers(10);
  load.Stop();
  for (const absl::StatusCode code : load.codes()) {
    INFO("code " << static_cast<int>(code));
    REQUIRE((code == absl::StatusCode::kOk || code == absl::StatusCode::kUnavailable));
  }
}

}  // namespace

TEST_CASE("kill -9 of any server under load takes nobody along") {
  TempDir directory;
  const TinyStore store = MakeTinyStore(directory.path(), 20);
  Fleet fleet(store, LaunchProcess);
  for (Slot* victim : fleet.all()) KillAndRecover(&fleet, victim);
}

}  // namespace sightline
