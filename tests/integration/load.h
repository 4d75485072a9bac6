// Clients that keep a fleet busy.
#ifndef SIGHTLINE_TESTS_INTEGRATION_LOAD_H_
#define SIGHTLINE_TESTS_INTEGRATION_LOAD_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/clients/search_client.h"
#include "common/rpc/channel.h"

namespace sightline {

// Clients that ask one question after another until they are told to stop.
class Load {
 public:
  // Looks at an answer, on any thread; returns what is wrong with it, or nothing.
  using Check = std::function<std::string(const SearchResult&)>;

  Load(const std::string& router, int clients, Check check = nullptr) : check_(std::move(check)) {
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

  // What `check` found wrong with answers: the first few, each once.
  std::set<std::string> complaints() {
    std::lock_guard<std::mutex> lock(mutex_);
    return complaints_;
  }

 private:
  void Run(const std::string& router) {
    // Without the retries of the public API: what fails, fails.
    const std::unique_ptr<SearchClient> client = MakeGrpcSearchClient(MakeChannel(router), router);
    while (!stop_) {
      SearchRequest request;
      request.query = TextQuery{"a red fish"};
      const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(5));
      const auto result = client->SearchItems(call, request);
      std::lock_guard<std::mutex> lock(mutex_);
      if (result.ok() && check_ != nullptr && complaints_.size() < 10) {
        const std::string complaint = check_(*result);
        if (!complaint.empty()) complaints_.insert(complaint);
      }
      if (!result.ok() && complaints_.size() < 10) {
        complaints_.insert(result.status().ToString());
      }
      ++calls_;
      if (result.ok()) ++answered_;
      codes_.insert(result.status().code());
      ended_.notify_all();
    }
  }

  const Check check_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  int64_t calls_ = 0;
  int64_t answered_ = 0;
  std::set<absl::StatusCode> codes_;
  std::set<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_LOAD_H_
