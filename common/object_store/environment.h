// What is outside the process and of interest to clients of AWS; injected, for tests.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_ENVIRONMENT_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_ENVIRONMENT_H_

#include <cstdlib>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// The value of an environment variable; none if it is not set or empty.  Thread-safe.
using Environment = std::function<absl::optional<std::string>(const char* name)>;

inline Environment ProcessEnvironment() {
  return [](const char* name) -> absl::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return absl::nullopt;
    return std::string(value);
  };
}

// What a clock on the wall shows.  Unlike Clock::Now it follows corrections: signatures and expiry
// are judged by the clocks of others.  Thread-safe.
using WallTime = std::function<absl::Time()>;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_ENVIRONMENT_H_
