#include "common/retrieval/replicas.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"

namespace sightline {
namespace {

constexpr int kNone = -1;

// The core of the three clients.  Held by shared_ptr, because an answer may come after
// the client has been let go.
template <typename Client>
class ReplicaSet : public std::enable_shared_from_this<ReplicaSet<Client>> {
 public:
  ReplicaSet(std::vector<std::shared_ptr<Client>> replicas, const ReplicaOptions& options)
      : options_(options), next_(options.start), health_(replicas.size()) {
    for (auto& client : replicas) clients_.push_back(std::move(client));
  }

  template <typename Request, typename Response>
  using Method = void (Client::*)(const CallContext&, Request, Done<Response>);

  // Calls `method` on one replica, and on another if that one is UNAVAILABLE.
  template <typename Request, typename Response>
  void Call(Method<Request, Response> method, const CallContext& call, Request request,
            Done<Response> done) {
    const int first = Pick(call.clock()->Now(), kNone);
    Request again = request;  // the call takes its request with it
    auto on_first = [self = this->shared_from_this(), method, call, first, again = std::move(again),
                     done = std::move(done)](absl::StatusOr<Response> answer) mutable {
      self->Note(first, answer.status(), call.clock()->Now());
      if (!absl::IsUnavailable(answer.status()) || !call.Check("").ok()) {
        done(std::move(answer));
        return;
      }
      self->CallOther(method, call, first, std::move(again), std::move(done));
    };
    ((*clients_[first]).*method)(call, std::move(request), std::move(on_first));
  }

 private:
  template <typename Request, typename Response>
  void CallOther(Method<Request, Response> method, const CallContext& call, int failed,
                 Request request, Done<Response> done) {
    const int second = Pick(call.clock()->Now(), failed);
    auto on_second = [self = this->shared_from_this(), call, second,
                      done = std::move(done)](absl::StatusOr<Response> answer) {
      self->Note(second, answer.status(), call.clock()->Now());
      done(std::move(answer));
    };
    ((*clients_[second]).*method)(call, std::move(request), std::move(on_second));
  }

  // The next replica in turn among those in good health, or among all if none is.
  // `except` is not chosen.
  int Pick(absl::Time now, int except) {
    absl::InlinedVector<int, 8> healthy;
    absl::InlinedVector<int, 8> others;
    for (int i = 0; i < static_cast<int>(clients_.size()); ++i) {
      if (i == except) continue;
      others.push_back(i);
      if (absl::ToUnixNanos(now) >= health_[i].avoided_until.load(std::memory_order_relaxed)) {
        healthy.push_back(i);
      }
    }
    const auto& choice = healthy.empty() ? others : healthy;
    return choice[next_.fetch_add(1, std::memory_order_relaxed) % choice.size()];
  }

  void Note(int replica, const absl::Status& status, absl::Time now) {
    std::atomic<int64_t>& avoided_until = health_[replica].avoided_until;
    if (absl::IsUnavailable(status)) {
      avoided_until.store(absl::ToUnixNanos(now + options_.avoid_for), std::memory_order_relaxed);
    } else if (status.ok()) {
      avoided_until.store(kHealthy, std::memory_order_relaxed);
    }
  }

  static constexpr int64_t kHealthy = std::numeric_limits<int64_t>::min();
  struct Health {
    std::atomic<int64_t> avoided_until{kHealthy};  // Unix nanoseconds
  };

  const ReplicaOptions options_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::atomic<unsigned> next_;
  std::vector<Health> health_;
};

class EncoderReplicas : public QueryEncoderClient {
 public:
  using Set = ReplicaSet<QueryEncoderClient>;
  explicit EncoderReplicas(std::shared_ptr<Set> set) : set_(std::move(set)) {}

  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    set_->Call(&QueryEncoderClient::EncodeQueries, call, std::move(request), std::move(done));
  }

 private:
  const std::shared_ptr<Set> set_;
};

class IndexSearchReplicas : public IndexSearchClient {
 public:
  using Set = ReplicaSet<IndexSearchClient>;
  explicit IndexSearchReplicas(std::shared_ptr<Set> set) : set_(std::move(set)) {}

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    set_->Call(&IndexSearchClient::SearchShard, call, std::move(request), std::move(done));
  }

  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    set_->Call(&IndexSearchClient::FetchItems, call, std::move(request), std::move(done));
  }

 private:
  const std::shared_ptr<Set> set_;
};

class RerankerReplicas : public RerankerClient {
 public:
  using Set = ReplicaSet<RerankerClient>;
  explicit RerankerReplicas(std::shared_ptr<Set> set) : set_(std::move(set)) {}

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    set_->Call(&RerankerClient::RerankCandidates, call, std::move(request), std::move(done));
  }

 private:
  const std::shared_ptr<Set> set_;
};

template <typename Replicas, typename Client>
std::shared_ptr<Client> Replicate(std::vector<std::shared_ptr<Client>> replicas,
                                  const ReplicaOptions& options) {
  if (replicas.empty()) return nullptr;
  if (replicas.size() == 1) return std::move(replicas.front());
  return std::make_shared<Replicas>(
      std::make_shared<ReplicaSet<Client>>(std::move(replicas), options));
}

}  // namespace

std::shared_ptr<QueryEncoderClient> ReplicatedEncoder(
    std::vector<std::shared_ptr<QueryEncoderClient>> replicas, const ReplicaOptions& options) {
  return Replicate<EncoderReplicas>(std::move(replicas), options);
}

std::shared_ptr<IndexSearchClient> ReplicatedIndexSearch(
    std::vector<std::shared_ptr<IndexSearchClient>> replicas, const ReplicaOptions& options) {
  return Replicate<IndexSearchReplicas>(std::move(replicas), options);
}

std::shared_ptr<RerankerClient> ReplicatedReranker(
    std::vector<std::shared_ptr<RerankerClient>> replicas, const ReplicaOptions& options) {
  return Replicate<RerankerReplicas>(std::move(replicas), options);
}

}  // namespace sightline
