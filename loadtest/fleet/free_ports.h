// Ports of 127.0.0.1 for servers that must come back on the port they had.
#ifndef SIGHTLINE_LOADTEST_FLEET_FREE_PORTS_H_
#define SIGHTLINE_LOADTEST_FLEET_FREE_PORTS_H_

#include <vector>

#include "absl/status/statusor.h"

namespace sightline {

// `count` different ports that nobody listens on now.  They lie outside of the range from
// which the kernel takes ports of connections (ip_local_port_range): otherwise, while a
// server is down, a connection could get its port, and even one to that very port, which
// then connects to itself.  Taken at random, so that two fleets rarely want the same.
//
// Between the choice and the server's listening anybody may take a port; the server then
// fails to start, IsPortFree tells why, and the caller chooses again.
//
// ResourceExhausted if there are not so many.
absl::StatusOr<std::vector<int>> ChooseFreePorts(int count);

// Whether a server could listen there now.
bool IsPortFree(int port);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_FREE_PORTS_H_
