// Clients that call the engines of servers in this process, on threads of their own.
#ifndef SIGHTLINE_TESTS_SERVICES_WIRED_CLIENTS_H_
#define SIGHTLINE_TESTS_SERVICES_WIRED_CLIENTS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/retrieval/clients.h"
#include "services/index_search/search_engine.h"
#include "services/query_encoder/encode_engine.h"
#include "services/reranker/rerank_engine.h"

namespace sightline {

// The handler threads of all servers.  Runs everything before it ends.
class Handlers {
 public:
  explicit Handlers(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Handlers() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Run(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::vector<std::thread> threads_;
};

class WiredEncoder : public QueryEncoderClient {
 public:
  WiredEncoder(EncodeEngine* engine, Handlers* handlers) : engine_(engine), handlers_(handlers) {}
  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    handlers_->Run([engine = engine_, call, request = std::move(request), done = std::move(done)] {
      done(engine->EncodeQueries(request, call));
    });
  }

 private:
  EncodeEngine* const engine_;
  Handlers* const handlers_;
};

class WiredIndexSearch : public IndexSearchClient {
 public:
  WiredIndexSearch(SearchEngine* engine, Handlers* handlers)
      : engine_(engine), handlers_(handlers) {}
  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    handlers_->Run([engine = engine_, call, request = std::move(request), done = std::move(done)] {
      done(engine->SearchShard(request, call));
    });
  }
  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    handlers_->Run([engine = engine_, call, request = std::move(request), done = std::move(done)] {
      done(engine->FetchItems(request, call));
    });
  }

 private:
  SearchEngine* const engine_;
  Handlers* const handlers_;
};

class WiredReranker : public RerankerClient {
 public:
  WiredReranker(RerankEngine* engine, Handlers* handlers) : engine_(engine), handlers_(handlers) {}
  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    handlers_->Run([engine = engine_, call, request = std::move(request), done = std::move(done)] {
      done(engine->RerankCandidates(request, call));
    });
  }

 private:
  RerankEngine* const engine_;
  Handlers* const handlers_;
};

inline BatchSchedulerOptions SmallBatches() {
  BatchSchedulerOptions options;
  options.max_batch_cost = 64;  // small, so that many are cut
  options.max_batch_size = 8;
  options.workers = 2;
  return options;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_WIRED_CLIENTS_H_
