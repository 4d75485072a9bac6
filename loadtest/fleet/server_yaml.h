// Configurations of servers of one fleet, as YAML, for those who start fleets.  What they
// do not name is the server's default.
#ifndef SIGHTLINE_LOADTEST_FLEET_SERVER_YAML_H_
#define SIGHTLINE_LOADTEST_FLEET_SERVER_YAML_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// The line of a configuration that says where a server listens: "127.0.0.1:0".
std::string ListenLine(absl::string_view listen);

// A YAML scalar that means `text`, which has no line breaks.
std::string QuotedYaml(absl::string_view text);

// A query encoder, a reranker or an index_search.  `more`: further lines.
std::string BackendYaml(absl::string_view listen, absl::string_view store,
                        const std::vector<std::string>& indexes, absl::string_view more);

// Whom a router asks.
struct RouterBackends {
  std::vector<std::string> encoders;
  std::vector<std::string> rerankers;
  std::vector<std::vector<std::string>> shards;  // of each shard its replicas, for every index
};
std::string RouterYaml(absl::string_view listen, const RouterBackends& backends,
                       const std::vector<std::string>& indexes, absl::string_view more);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_SERVER_YAML_H_
