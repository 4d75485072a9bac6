// Who serves what: addresses, and the names that stand for addresses.
//
// An entry is "host:port", one replica, or "dns:///name:port", a replica at each address
// that the name has at the moment.  A name has IPv4 addresses only if it has any: a server
// with one address of either kind would otherwise count as two replicas.
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

// Whether `entry` is a name to be looked up.
bool IsName(absl::string_view entry);

// InvalidArgument unless a name has the form "dns:///name:port".  Other entries are left
// to whoever connects to them.
absl::Status CheckEntry(absl::string_view entry);

// The names among the entries, each once.
std::vector<std::string> NamesOf(const Membership& members);

// Every name replaced by its addresses, none by none; within a list each address once.
Membership Expand(const Membership& members, const std::map<std::string, Addresses>& addresses);

// All addresses, each once.
Addresses AllAddresses(const Membership& members);

// Looks a name up: "host:port" of each of its addresses, sorted, so that all routers see
// them in one order.  Blocks for as long as the system's resolver does.  Unavailable if
// there is none.
absl::StatusOr<Addresses> LookUp(const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_MEMBERSHIP_H_
