// Clients that call the engines of servers in this process, on threads of their own.
#ifndef SIGHTLINE_TESTS_SERVICES_WIRED_CLIENTS_H_
#define SIGHTLINE_TESTS_SERVICES_WIRED_CLIENTS_H_

#include <utility>

#include "common/api/clients.h"
#include "services/index_search/search_engine.h"
#include "services/query_encoder/encode_engine.h"
#include "services/reranker/rerank_engine.h"
#include "tests/support/handlers.h"

namespace sightline {

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
