// The service config that ships beside the protos, as callers of ours use it.
#ifndef SIGHTLINE_COMMON_CLIENTS_SERVICE_CONFIG_H_
#define SIGHTLINE_COMMON_CLIENTS_SERVICE_CONFIG_H_

#include <string>

namespace sightline {

// The retries, the balancing and the watch of health of sightline_grpc_service_config.json.  A
// CallContext always says until when it may wait, and gRPC would take the earlier of that and the
// config's timeout: a caller who asks for ten seconds would silently get two.
std::string PublicServiceConfigWithoutTimeouts();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_SERVICE_CONFIG_H_
