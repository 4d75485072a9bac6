#include "common/retrieval/lru_cache.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Cache = LruCache<int>;

void Put(Cache& cache, const std::string& key, int value, int64_t bytes) {
  cache.Put(key, std::make_shared<const int>(value), bytes - Cache::kEntryBytes);
}

// -1 if it is not there.
int Find(Cache& cache, const std::string& key) {
  const auto found = cache.Find(key);
  return found == nullptr ? -1 : *found;
}

TEST_CASE("what was asked for last stays, and the bound holds") {
  Cache cache(3000, {});
  for (int i = 0; i < 3; ++i) Put(cache, std::to_string(i), i, 1000);
  CHECK(cache.bytes() == 3000);
  CHECK(Find(cache, "0") == 0);
  Put(cache, "3", 3, 1000);
  CHECK(Find(cache, "1") == -1);
  CHECK(Find(cache, "0") == 0);
  CHECK(Find(cache, "2") == 2);
  CHECK(Find(cache, "3") == 3);
  CHECK(cache.bytes() == 3000);
  CHECK(cache.entries() == 3);
}

TEST_CASE("one that needs room takes that of several") {
  Cache cache(3000, {});
  for (int i = 0; i < 6; ++i) Put(cache, std::to_string(i), i, 500);
  Put(cache, "large", 9, 1400);
  CHECK(cache.entries() == 4);
  CHECK(cache.bytes() == 2900);
  CHECK(Find(cache, "2") == -1);
  CHECK(Find(cache, "3") == 3);
}

TEST_CASE("a key that comes again takes the place of what it had") {
  Cache cache(3000, {});
  Put(cache, "a", 1, 1000);
  Put(cache, "b", 2, 1000);
  Put(cache, "a", 3, 2000);
  CHECK(Find(cache, "a") == 3);
  CHECK(Find(cache, "b") == 2);
  CHECK(cache.bytes() == 3000);
}

TEST_CASE("what is larger than all there is is not kept, and costs the others nothing") {
  Cache cache(3000, {});
  Put(cache, "a", 1, 1000);
  Put(cache, "b", 2, 3001);
  CHECK(Find(cache, "a") == 1);
  CHECK(Find(cache, "b") == -1);
  CHECK(cache.bytes() == 1000);
}

TEST_CASE("a cache of no bytes keeps nothing") {
  Cache cache(0, {});
  cache.Put("a", std::make_shared<const int>(1), 0);
  CHECK(Find(cache, "a") == -1);
}

TEST_CASE("who has got a value keeps it") {
  Cache cache(1000, {});
  Put(cache, "a", 1, 1000);
  const std::shared_ptr<const int> kept = cache.Find("a");
  Put(cache, "b", 2, 1000);
  CHECK(Find(cache, "a") == -1);
  CHECK(*kept == 1);
  CHECK(kept.use_count() == 1);
}

TEST_CASE("it tells what it holds and what had to go") {
  MetricsRegistry metrics;
  const LruCacheMetrics told = {metrics.AddGauge("b", ""), metrics.AddGauge("e", ""),
                                metrics.AddCounter("x_total", "")};
  Cache cache(2000, told);
  for (int i = 0; i < 5; ++i) Put(cache, std::to_string(i), i, 900);
  CHECK(told.bytes.value() == 1800);
  CHECK(told.entries.value() == 2);
  CHECK(told.evictions.value() == 3);
}

}  // namespace
}  // namespace sightline
