#include "services/router/router_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"

namespace sightline {
namespace {

constexpr int kMaxReplicas = 100;
constexpr int64_t kMaxCacheBytes = int64_t{1} << 40;

Addresses ReadAddresses(ConfigReader section, absl::string_view name, int min_count) {
  Addresses addresses = section.StringList(name, min_count, kMaxReplicas);
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (std::count(addresses.begin(), addresses.begin() + i, addresses[i]) > 0) {
      section.AddProblem(name, absl::StrCat("'", addresses[i], "' is named twice"));
    }
    if (const absl::Status usable = CheckEntry(addresses[i]); !usable.ok()) {
      section.AddProblem(name, usable.message());
    }
  }
  return addresses;
}

std::map<std::string, std::vector<Addresses>> ReadIndexes(ConfigReader root) {
  std::map<std::string, std::vector<Addresses>> indexes;
  for (auto& [name, section] :
       root.NamedSections("indexes", /*min_count=*/1, limits::kMaxIndexes)) {
    if (!IsValidName(name, limits::kMaxIndexNameLength)) {
      root.AddProblem("indexes", absl::StrCat("'", name, "' is no index name; use [a-z0-9_-]"));
    }
    std::vector<Addresses>& shards = indexes[name];
    for (const ConfigReader& shard :
         section.Sections("shards", /*min_count=*/1, limits::kMaxShards)) {
      shards.push_back(ReadAddresses(shard, "addresses", /*min_count=*/1));
    }
  }
  return indexes;
}

// One process serves one kind of service.
void CheckRoles(const Membership& members, ConfigReader root) {
  std::map<std::string, std::string> roles;
  const auto check = [&](const Addresses& addresses, const std::string& role) {
    for (const std::string& address : addresses) {
      const auto [known, first] = roles.emplace(address, role);
      if (first || known->second == role) continue;
      root.AddProblem(role, absl::StrCat("'", address, "' is among ", known->second, " too"));
    }
  };
  check(members.encoders, "encoders");
  check(members.rerankers, "rerankers");
  for (const auto& [index, shards] : members.indexes) {
    for (const Addresses& addresses : shards) check(addresses, "indexes");
  }
}

RetrieverOptions ReadRetriever(ConfigReader root) {
  RetrieverOptions options;
  ConfigReader rerank = root.Section("rerank");
  options.default_depth =
      static_cast<int>(rerank.Int("default_depth", options.default_depth, 0, limits::kMaxHits));
  options.max_depth =
      static_cast<int>(rerank.Int("max_depth", options.max_depth, 0, limits::kMaxHits));
  options.rerank_slice =
      static_cast<int>(rerank.Int("slice", options.rerank_slice, 1, limits::kMaxCandidates));
  options.rerank_parallelism =
      static_cast<int>(rerank.Int("parallelism", options.rerank_parallelism, 1, 100));
  options.fit_depth = rerank.Bool("fit_depth", options.fit_depth);
  if (options.default_depth > options.max_depth) {
    rerank.AddProblem("default_depth", "is above max_depth");
  }
  ConfigReader search = root.Section("search");
  options.lower_effort = search.Bool("lower_effort", options.lower_effort);
  ConfigReader section = root.Section("limits");
  options.max_text_bytes = static_cast<int>(
      section.Bytes("max_text_bytes", options.max_text_bytes, 1, options.max_text_bytes));
  options.max_image_bytes =
      section.Bytes("max_image_bytes", options.max_image_bytes, 1, options.max_image_bytes);
  options.max_pairs =
      static_cast<int>(section.Int("max_pairs", options.max_pairs, 1, limits::kMaxPairs));
  options.max_get_items = static_cast<int>(
      section.Int("max_get_items", options.max_get_items, 1, limits::kMaxGetItems));
  return options;
}

BudgetShares ReadBudget(ConfigReader root) {
  BudgetShares shares;
  ConfigReader section = root.Section("budget");
  shares.encode = section.Double("encode", shares.encode, 0.001, 1000);
  shares.search = section.Double("search", shares.search, 0.001, 1000);
  shares.rerank = section.Double("rerank", shares.rerank, 0.001, 1000);
  shares.reserve = section.Double("reserve", shares.reserve, 0.001, 0.89);
  shares.min_reserve = section.Duration("min_reserve", shares.min_reserve);
  shares.max_reserve = section.Duration("max_reserve", shares.max_reserve);
  if (shares.min_reserve > shares.max_reserve) {
    section.AddProblem("min_reserve", "is above max_reserve");
  }
  return shares;
}

SearchCacheOptions ReadCache(ConfigReader root, SearchCacheOptions options) {
  ConfigReader section = root.Section("cache");
  options.max_embedding_bytes =
      section.Bytes("max_embedding_bytes", options.max_embedding_bytes, 0, kMaxCacheBytes);
  options.max_score_bytes =
      section.Bytes("max_score_bytes", options.max_score_bytes, 0, kMaxCacheBytes);
  options.max_result_bytes =
      section.Bytes("max_result_bytes", options.max_result_bytes, 0, kMaxCacheBytes);
  return options;
}

ReplicaOptions ReadReplicas(ConfigReader root, int max_concurrent_calls) {
  ReplicaOptions options;
  ConfigReader section = root.Section("replicas");
  options.avoid_for =
      section.Duration("avoid_for", options.avoid_for, absl::Milliseconds(1), absl::Hours(1));
  options.max_attempts = static_cast<int>(section.Int("max_attempts", options.max_attempts, 1, 10));
  options.patience = section.Double("patience", options.patience, 0.01, 1);
  options.max_patience =
      section.Duration("max_patience", options.max_patience, absl::Milliseconds(1), absl::Hours(1));
  options.hedge = section.Bool("hedge", options.hedge);
  ConfigReader budget = section.Section("retry_budget");
  options.budget.share = budget.Double("share", options.budget.share, 0, 1);
  options.budget.per_second = budget.Double("per_second", options.budget.per_second, 0, 1e6);
  // All calls may be under way to the replica that dies.
  options.budget.burst = budget.Double("burst", std::max(10, max_concurrent_calls), 0, 1e6);
  options.budget.reserve = budget.Double("reserve", options.budget.reserve, 0, 1);
  const bool retries = options.max_attempts > 1 && options.budget.burst > 0;
  if (retries && options.budget.reserve * options.budget.burst + 1 > options.budget.burst) {
    budget.AddProblem("reserve", "leaves less than one attempt of burst to calls that are slow");
  }
  return options;
}

}  // namespace

absl::StatusOr<RouterConfig> ReadRouterConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  RouterConfig config;
  RpcServerOptions ports;
  ports.listen = "0.0.0.0:7400";
  ports.metrics_listen = "0.0.0.0:9400";
  ports.max_concurrent_calls = 256;
  ports.max_receive_bytes = limits::kUploadMessageBytes;
  config.server = ReadRpcServerOptions(root, ports);
  config.backends.encoders = ReadAddresses(root, "encoders", /*min_count=*/1);
  config.backends.rerankers = ReadAddresses(root, "rerankers", /*min_count=*/0);
  config.backends.indexes = ReadIndexes(root);
  CheckRoles(config.backends, root);
  config.resolve_interval = root.Duration("resolve_interval", config.resolve_interval,
                                          absl::Milliseconds(100), absl::Hours(1));
  config.retriever = ReadRetriever(root);
  config.budget = ReadBudget(root);
  config.cache = ReadCache(root, config.cache);
  ConfigReader polling = root.Section("polling");
  config.poll_interval =
      polling.Duration("interval", config.poll_interval, absl::Milliseconds(10), absl::Minutes(1));
  config.poll_timeout =
      polling.Duration("timeout", config.poll_timeout, absl::Milliseconds(10), absl::Minutes(1));
  config.dead_after =
      polling.Duration("dead_after", config.dead_after, absl::Milliseconds(10), absl::Hours(1));
  config.start_grace = polling.Duration("start_grace", config.start_grace);
  // One late poll or two are no death.
  const absl::Duration least = 3 * config.poll_interval + config.poll_timeout;
  if (config.dead_after < least) {
    polling.AddProblem("dead_after", absl::StrCat("is below three intervals and a timeout, ",
                                                  absl::FormatDuration(least)));
  }
  ConfigReader generations = root.Section("generations");
  config.ready_share = generations.Double("ready_share", config.ready_share, 0, 1);
  config.page_token_lifetime =
      generations.Duration("page_token_lifetime", config.page_token_lifetime);
  config.restored_after = generations.Duration("restored_after", config.restored_after,
                                               absl::Milliseconds(10), absl::Hours(24));
  config.replicas = ReadReplicas(root, config.server.max_concurrent_calls);
  RETURN_IF_ERROR(file->Finish());
  RETURN_IF_ERROR(Validate(config.retriever));
  RETURN_IF_ERROR(Validate(config.budget));
  return config;
}

}  // namespace sightline
