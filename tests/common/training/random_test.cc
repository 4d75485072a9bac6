#include "common/training/random.h"

#include <set>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("seeds differ by run, stream and index") {
  std::set<uint64_t> seeds;
  for (uint64_t run = 0; run < 5; ++run) {
    for (const RandomStream stream : {RandomStream::kAugment, RandomStream::kDropout}) {
      for (uint64_t index = 0; index < 100; ++index) seeds.insert(SeedOf(run, stream, index));
    }
  }
  REQUIRE(seeds.size() == 1000);
}

}  // namespace
}  // namespace sightline
