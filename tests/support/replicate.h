// Replica sets of clients that are there already.
//
//   auto encoder = Replicate<QueryEncoderClient>(ReplicatedEncoder, {first, second});
#ifndef SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_
#define SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/retrieval/replicas.h"

namespace sightline {

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
  replicated->SetMembers(addresses);
  return replicated;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_REPLICATE_H_
