#include "services/index_search/index_search_server.h"

#include "absl/strings/str_cat.h"
#include "common/rpc/shutdown_signals.h"

namespace sightline {
namespace {

SearchEngineOptions WithParts(SearchEngineOptions options, const SearchDeviceOptions& devices,
                              MetricsRegistry* metrics, ComputePool* pool) {
  options.batching.metrics = BatchMetrics::Make(metrics, "search");
  for (const int number : devices.numbers) {
    options.devices[number] = BatchMetrics::Make(metrics, absl::StrCat("search_device_", number));
  }
  options.metrics = SearchMetrics::Make(metrics);
  options.pool = pool;
  return options;
}

}  // namespace

SearchDomain::SearchDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
                           Janitor* janitor)
    : generations(Clock::Real()),
      devices(config.devices, metrics, RequestEnd),
      host({config.store.store, config.generations.state_dir, config.shards, config.store.verify,
            config.rows},
           pool, janitor, &devices),
      engine(WithParts(config.engine, config.devices, metrics, pool), &generations, Clock::Real()) {
}

void SearchDomain::PrepareLibraries() {
  ComputePool::SingleThreadedLibraries();
}

std::vector<int> SearchDomain::ShardsOf(const HeldGeneration& entry) {
  std::vector<int> shards;
  if (const auto* held = static_cast<const SearchGeneration*>(entry.held.get())) {
    for (const auto& [shard, opened] : held->shards) shards.push_back(shard);
  }
  return shards;
}

}  // namespace sightline
