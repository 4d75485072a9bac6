#include "common/rpc/request_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr size_t kMaxBytes = 128;

std::mt19937_64 SeededGenerator() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

}  // namespace

std::string NewRequestId() {
  // Ids must be different, not unpredictable, so a generator per thread is enough.
  thread_local std::mt19937_64 generator = SeededGenerator();
  const uint64_t high = generator();
  const uint64_t low = generator();
  return absl::StrCat(absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
}

std::string RequestIdOr(absl::string_view offered) {
  const bool usable =
      !offered.empty() && offered.size() <= kMaxBytes &&
      std::all_of(offered.begin(), offered.end(), [](char c) { return c > ' ' && c < 0x7F; });
  return usable ? std::string(offered) : NewRequestId();
}

}  // namespace sightline
