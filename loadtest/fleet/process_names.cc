#include "loadtest/fleet/process_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {

std::vector<std::string> ProcessNames(int query_encoders, int rerankers, int shards,
                                      int replicas_per_shard) {
  std::vector<std::string> names;
  for (int i = 0; i < query_encoders; ++i) names.push_back(absl::StrCat("query_encoder/", i));
  for (int i = 0; i < rerankers; ++i) names.push_back(absl::StrCat("reranker/", i));
  for (int shard = 0; shard < shards; ++shard) {
    for (int replica = 0; replica < replicas_per_shard; ++replica) {
      names.push_back(absl::StrCat("index_search/", shard, "/", replica));
    }
  }
  names.push_back("router");
  return names;
}

absl::StatusOr<std::string> ResolveProcess(const std::vector<std::string>& names,
                                           absl::string_view target) {
  for (const char* rest : {"", "/0", "/0/0"}) {
    const std::string name = absl::StrCat(target, rest);
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the fleet has no process '", target, "'; it has ", absl::StrJoin(names, ", ")));
}

}  // namespace sightline
