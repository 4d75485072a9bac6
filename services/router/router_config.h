// Configuration of router; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_
#define SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_

#include "absl/time/time.h"
#include "common/base/server_address.h"
#include "common/config/config.h"
#include "common/replicas/replicas.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/search_caches.h"
#include "common/rpc/rpc_options.h"
#include "services/router/membership.h"

namespace sightline {

struct RouterConfig {
  RpcServerOptions server;
  Membership backends;  // as written, names and all
  // Of the connections to them.  No key sets it while there is one kind.
  Credentials backend_credentials;
  // How often the names among them are looked up.
  absl::Duration resolve_interval = absl::Seconds(2);
  RetrieverOptions retriever;
  BudgetShares budget;
  SearchCacheOptions cache = {int64_t{64} << 20, int64_t{16} << 20, int64_t{64} << 20};
  ReplicaOptions replicas;  // the part of them that can be configured
  // How often each backend is asked for its status, and how long it may take to answer.
  absl::Duration poll_interval = absl::Milliseconds(500);
  absl::Duration poll_timeout = absl::Milliseconds(500);
  // How long after its last answer a backend counts as being there.
  absl::Duration dead_after = absl::Seconds(10);
  // How long the router waits for every index to be known before it serves those that
  // are.
  absl::Duration start_grace = absl::Seconds(10);
  // The part of the live replicas of each set, and at least one, that must hold a new
  // generation before requests move to it.
  double ready_share = 0.5;
  // How long later pages can be had of a generation that requests do not go to any more.
  absl::Duration page_token_lifetime = absl::Minutes(10);
  // How long all servers must have reported a lower sequence of a generation before that
  // counts: the store was restored.
  absl::Duration restored_after = absl::Minutes(2);
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<RouterConfig> ReadRouterConfig(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_ROUTER_CONFIG_H_
