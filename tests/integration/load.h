// Clients that keep a fleet busy.
#ifndef SIGHTLINE_TESTS_INTEGRATION_LOAD_H_
#define SIGHTLINE_TESTS_INTEGRATION_LOAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
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
    MutexLock lock(mutex_);
    const int64_t until = calls_ + count;
    while (calls_ < until) ended_.Wait(mutex_);
  }

  // Blocks until `count` more calls were answered.  A client whose connection broke may
  // need up to a second before it tries again.
  void AwaitAnswers(int count) {
    MutexLock lock(mutex_);
    const int64_t until = answered_ + count;
    while (answered_ < until) ended_.Wait(mutex_);
  }

  std::set<absl::StatusCode> codes() {
    MutexLock lock(mutex_);
    return codes_;
  }

  // What `check` found wrong with answers: the first few, each once.
  std::set<std::string> complaints() {
    MutexLock lock(mutex_);
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
      MutexLock lock(mutex_);
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
      ended_.NotifyAll();
    }
  }

  const Check check_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  CondVar ended_;
  int64_t calls_ GUARDED_BY(mutex_) = 0;
  int64_t answered_ GUARDED_BY(mutex_) = 0;
  std::set<absl::StatusCode> codes_ GUARDED_BY(mutex_);
  std::set<std::string> complaints_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_LOAD_H_
