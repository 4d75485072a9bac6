// Configuration of router; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_
#define SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/config.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "common/rpc/rpc_options.h"

namespace sightline {

using Addresses = std::vector<std::string>;  // replicas, "host:port"

struct RouterConfig {
  RpcServerOptions server;
  Addresses encoders;
  Addresses rerankers;
  // Index name -> replicas of each shard, in shard order.
  std::map<std::string, std::vector<Addresses>> indexes;
  RetrieverOptions retriever;
  BudgetShares budget;
  // How often each backend is asked for its status, and how long it may take to answer.
  absl::Duration poll_interval = absl::Milliseconds(500);
  absl::Duration poll_timeout = absl::Milliseconds(500);
  // How long the router waits for every index to be known before it serves those that
  // are.
  absl::Duration start_grace = absl::Seconds(10);
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<RouterConfig> ReadRouterConfig(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_
