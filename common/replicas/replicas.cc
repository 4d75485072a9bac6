#include "common/replicas/replicas.h"

#include <utility>

#include "common/replicas/recent_latency.h"
#include "common/replicas/replica_set.h"
#include "common/replicas/replicated_call.h"

namespace sightline {
namespace {

template <typename Client>
class Replicated : public ReplicaClient<Client> {
 public:
  Replicated(MakeClient<Client> make, const ReplicaOptions& options)
      : set_(std::make_shared<ReplicaSet<Client>>(std::move(make), options)) {}

  void SetRoster(Roster roster) final { set_->SetRoster(std::move(roster)); }

 protected:
  Precision Chosen(const GenerationRef& target, const std::string& model, absl::Time now) const {
    return set_->ChoosePrecision(target, model, now);
  }

  // How long calls of one method take: a fetch is no measure of a search.
  using Latency = std::shared_ptr<RecentLatency>;

  template <typename Request, typename Response>
  void Call(void (Client::*method)(const CallContext&, Request, Done<Response>),
            const Latency& latency, const CallContext& call, Request request, size_t work,
            Done<Response> done, absl::Time wanted_by = absl::InfiniteFuture()) {
    std::make_shared<ReplicatedCall<Client, Request, Response>>(
        set_, method, latency, call, wanted_by, std::move(request), static_cast<int64_t>(work),
        std::move(done))
        ->Start();
  }

 private:
  const std::shared_ptr<ReplicaSet<Client>> set_;
};

class EncoderReplicas : public Replicated<QueryEncoderClient> {
 public:
  using Replicated::Replicated;

  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    const size_t work = request.queries.size();
    Call(&QueryEncoderClient::EncodeQueries, latency_, call, std::move(request), work,
         std::move(done));
  }

  Precision ChoosePrecision(const GenerationRef& target, const std::string& model,
                            absl::Time now) const override {
    return Chosen(target, model, now);
  }

 private:
  const Latency latency_ = std::make_shared<RecentLatency>();
};

class IndexSearchReplicas : public Replicated<IndexSearchClient> {
 public:
  using Replicated::Replicated;

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    const size_t work = static_cast<size_t>(request.queries.rows());
    const absl::Time wanted_by = request.wanted_by;
    Call(&IndexSearchClient::SearchShard, search_latency_, call, std::move(request), work,
         std::move(done), wanted_by);
  }

  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    Call(&IndexSearchClient::FetchItems, fetch_latency_, call, std::move(request), 1,
         std::move(done));
  }

 private:
  const Latency search_latency_ = std::make_shared<RecentLatency>();
  const Latency fetch_latency_ = std::make_shared<RecentLatency>();
};

class RerankerReplicas : public Replicated<RerankerClient> {
 public:
  using Replicated::Replicated;

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    const size_t work = request.candidates.size();
    Call(&RerankerClient::RerankCandidates, latency_, call, std::move(request), work,
         std::move(done));
  }

  Precision ChoosePrecision(const GenerationRef& target, const std::string& model,
                            absl::Time now) const override {
    return Chosen(target, model, now);
  }

 private:
  const Latency latency_ = std::make_shared<RecentLatency>();
};

}  // namespace

ReplicaMetrics AddReplicaMetrics(MetricsRegistry* registry, absl::string_view set) {
  const std::string name(set);
  const auto extra = [&](const char* cause) {
    return registry->AddCounter("replica_extra_attempts_total",
                                "Attempts of calls to replica sets beyond the first.",
                                {{"set", name}, {"cause", cause}});
  };
  ReplicaMetrics metrics;
  metrics.calls =
      registry->AddCounter("replica_calls_total", "Calls to replica sets.", {{"set", name}});
  metrics.after_failure = extra("failure");
  metrics.after_refusal = extra("refusal");
  metrics.after_silence = extra("silence");
  metrics.hedges = extra("hedge");
  metrics.unpaid =
      registry->AddCounter("replica_budget_refusals_total",
                           "Attempts that the retry budget did not allow.", {{"set", name}});
  return metrics;
}

std::shared_ptr<ReplicaClient<QueryEncoderClient>> ReplicatedEncoder(
    MakeClient<QueryEncoderClient> make, const ReplicaOptions& options) {
  return std::make_shared<EncoderReplicas>(std::move(make), options);
}

std::shared_ptr<ReplicaClient<IndexSearchClient>> ReplicatedIndexSearch(
    MakeClient<IndexSearchClient> make, const ReplicaOptions& options) {
  return std::make_shared<IndexSearchReplicas>(std::move(make), options);
}

std::shared_ptr<ReplicaClient<RerankerClient>> ReplicatedReranker(MakeClient<RerankerClient> make,
                                                                  const ReplicaOptions& options) {
  return std::make_shared<RerankerReplicas>(std::move(make), options);
}

}  // namespace sightline
