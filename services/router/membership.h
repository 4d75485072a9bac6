// Who serves what: addresses, and the names that stand for addresses.
//
// An entry is "host:port", "[IPv6 address]:port" or "unix:/path", one replica, or
// "dns:///name:port", a replica at each address that the name has at the moment.  Of either a name
// is looked up here, never by a channel: a server that has moved is another address, so it is
// another replica, with nothing known of it.  A name has IPv4 addresses only if it has any: a
// server with one address of either kind would otherwise count as two replicas.
#ifndef SIGHTLINE_SERVICES_ROUTER_MEMBERSHIP_H_
#define SIGHTLINE_SERVICES_ROUTER_MEMBERSHIP_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

using Addresses = std::vector<std::string>;

struct Membership {
  Addresses encoders;
  Addresses rerankers;
  // Index name -> replicas of each shard, in shard order.
  std::map<std::string, std::vector<Addresses>> indexes;
};

bool operator==(const Membership& a, const Membership& b);

// Names one list of a Membership: a replica set.
struct ReplicaSetId {
  enum class Kind { kEncoder, kReranker, kShard };
  Kind kind = Kind::kEncoder;
  std::string index;  // of a shard, both
  int shard = 0;
};

// Whether `entry` has to be looked up: it is no "10.0.0.7:7402" and no "[::1]:7402".
bool IsName(absl::string_view entry);

// InvalidArgument unless `entry` is one: a host of letters, digits, '-', '_' and '.', or an
// IPv6 address in brackets, each with a port from 1 to 65535, or the absolute path of a socket.
absl::Status CheckEntry(absl::string_view entry);

// The entries that are names, each once.
std::vector<std::string> NamesOf(const Membership& members);

// Every name replaced by its addresses, none by none; within a list each address once.  The
// one replica of a "host:port" with several addresses is "a:port,b:port,...": whichever of
// them can be reached.
Membership Expand(const Membership& members, const std::map<std::string, Addresses>& addresses);

// All addresses, each once.
Addresses AllAddresses(const Membership& members);

// What gRPC connects to for an address of an expanded list.  It looks up nothing for that.
std::string ChannelTarget(const std::string& address);

// Looks an entry up that is a name: "address:port" of each of its addresses, sorted, so that all
// routers see them in one order.  Blocks for as long as the system's resolver does.  Unavailable if
// there is none.
absl::StatusOr<Addresses> LookUp(const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_MEMBERSHIP_H_
