// What the processes of a fleet are called.
#ifndef SIGHTLINE_LOADTEST_FLEET_PROCESS_NAMES_H_
#define SIGHTLINE_LOADTEST_FLEET_PROCESS_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// "query_encoder/<number>", "reranker/<number>", "index_search/<shard>/<replica>" and, last,
// "router"; numbers begin at 0.
std::vector<std::string> ProcessNames(int query_encoders, int rerankers, int shards,
                                      int replicas_per_shard);

// The one of `names` that `target` means: numbers that are left out are 0, so "reranker" is
// "reranker/0", and "index_search/1" the first replica of shard 1.  InvalidArgument, with
// all names, if it is none.
absl::StatusOr<std::string> ResolveProcess(const std::vector<std::string>& names,
                                           absl::string_view target);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_PROCESS_NAMES_H_
