#include "services/router/router_server.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/clients/admin_client.h"
#include "common/clients/grpc_backend_clients.h"
#include "common/retrieval/replicas.h"
#include "common/rpc/channel.h"

namespace sightline {

RouterServer::RouterServer(const RouterConfig& config)
    : config_(config),
      backends_(MakeBackends()),
      board_(config_),
      budget_(config_.budget),
      retriever_(&backends_, &board_, &budget_, config_.retriever),
      rpc_(config_.server, &metrics_),
      service_(&retriever_, rpc_.calls(), &metrics_, Clock::Real()),
      admin_([this](const StatusRequest&) { return board_.Describe(); }, rpc_.calls()) {}

RouterServer::~RouterServer() {
  poller_.reset();
  rpc_.Drain();
}

std::shared_ptr<grpc::Channel> RouterServer::ChannelTo(const std::string& address) {
  std::shared_ptr<grpc::Channel>& channel = channels_[address];
  if (channel == nullptr) channel = MakeChannel(address);
  return channel;
}

Backends RouterServer::MakeBackends() {
  Backends backends;
  std::vector<std::shared_ptr<QueryEncoderClient>> encoders;
  for (const std::string& address : config_.encoders) {
    encoders.push_back(MakeGrpcQueryEncoderClient(ChannelTo(address), address));
  }
  backends.encoder = ReplicatedEncoder(std::move(encoders));
  std::vector<std::shared_ptr<RerankerClient>> rerankers;
  for (const std::string& address : config_.rerankers) {
    rerankers.push_back(MakeGrpcRerankerClient(ChannelTo(address), address));
  }
  backends.reranker = ReplicatedReranker(std::move(rerankers));
  for (const auto& [index, shards] : config_.indexes) {
    for (const Addresses& addresses : shards) {
      std::vector<std::shared_ptr<IndexSearchClient>> replicas;
      for (const std::string& address : addresses) {
        replicas.push_back(MakeGrpcIndexSearchClient(ChannelTo(address), address));
      }
      backends.shards[index].push_back(ReplicatedIndexSearch(std::move(replicas)));
    }
  }
  return backends;
}

absl::Status RouterServer::Start() {
  rpc_.AddService(v1::Search::service_full_name(), &service_);
  rpc_.AddService(v1::Admin::service_full_name(), &admin_);
  RETURN_IF_ERROR(rpc_.Start());
  started_ = Clock::Real()->Now();
  std::map<std::string, std::shared_ptr<AdminClient>> clients;
  for (const auto& [address, channel] : channels_) {
    clients[address] = MakeGrpcAdminClient(channel, address);
  }
  poller_ = std::make_unique<BackendPoller>(
      std::move(clients), config_.poll_interval, config_.poll_timeout, Clock::Real(),
      [this](const std::string& address, const absl::StatusOr<ServerStatus>& status) {
        OnReport(address, status);
      });
  return absl::OkStatus();
}

// Once serving, the router stays so: what is missing then shows in the answers.
void RouterServer::OnReport(const std::string& address,
                            const absl::StatusOr<ServerStatus>& status) {
  board_.Report(address, status);
  if (rpc_.serving()) return;
  const bool waited = Clock::Real()->Now() - started_ >= config_.start_grace;
  if (board_.all_known() || (waited && board_.any_known())) rpc_.SetServing(true);
}

}  // namespace sightline
