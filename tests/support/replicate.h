// Replica sets of clients that are there already.
//
//   auto encoder = Replicate<QueryEncoderClient>(ReplicatedEncoder, {first, second});
#ifndef SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_
#define SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/replicas/replicas.h"

namespace sightline {

// These members, of whom nothing is known; or `generation` is held by the members at the
// places of `fit` and, when last heard of, of `silent`.
inline Roster RosterOf(std::vector<std::string> addresses) {
  Roster roster;
  roster.addresses = std::make_shared<const std::vector<std::string>>(std::move(addresses));
  return roster;
}
inline Roster RosterOf(std::vector<std::string> addresses, const GenerationRef& generation,
                       std::vector<int> fit, std::vector<int> silent = {}) {
  Roster roster = RosterOf(std::move(addresses));
  roster.holders.push_back({generation, std::move(fit), std::move(silent)});
  return roster;
}

// `Set` is ReplicatedEncoder and the like.  The members' addresses are "0", "1", ...
template <typename Client, typename Set>
std::shared_ptr<ReplicaClient<Client>> Replicate(const Set& set,
                                                 std::vector<std::shared_ptr<Client>> clients,
                                                 const ReplicaOptions& options = {}) {
  std::vector<std::string> addresses;
  for (size_t i = 0; i < clients.size(); ++i) addresses.push_back(std::to_string(i));
  auto replicated = set([clients = std::move(clients)](
                            const std::string& address) { return clients.at(std::stoul(address)); },
                        options);
  replicated->SetRoster(RosterOf(std::move(addresses)));
  return replicated;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_
